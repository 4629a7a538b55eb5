package memory

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
)

func TestArray(t *testing.T) {
	no := errors.New("no memory")
	for name, c := range map[string]struct {
		alloc        Alloc
		words, bytes error
	}{
		"heap":    {nil, nil, nil},
		"more":    {func(n int) ([]byte, error) { return Bytes(n + 8), nil }, nil, nil},
		"less":    {func(n int) ([]byte, error) { return Bytes(n - 1), nil }, bloomery.ErrParameter, bloomery.ErrParameter},
		"odd":     {func(n int) ([]byte, error) { return Bytes(n + 1)[1:], nil }, bloomery.ErrParameter, nil},
		"refused": {func(int) ([]byte, error) { return nil, no }, no, no},
	} {
		w, err := Array(10, c.alloc)
		if !errors.Is(err, c.words) || err == nil && len(w) != 10 {
			t.Errorf("%s: %d words, %v, want %v", name, len(w), err, c.words)
		}
		b, err := ByteArray(10, c.alloc)
		if !errors.Is(err, c.bytes) || err == nil && len(b) != 10 {
			t.Errorf("%s: %d bytes, %v, want %v", name, len(b), err, c.bytes)
		}
	}
}

// TestOf takes whole words that begin at one, and nothing else.
func TestOf(t *testing.T) {
	b := Bytes(24)
	b[8] = 7
	for name, c := range map[string]struct {
		bytes []byte
		words int
	}{
		"nil": {nil, 0}, "none": {b[:0], 0}, "a byte": {b[:1], 0}, "a word": {b[:8], 1}, "a part": {b[:12], 0},
		"two words": {b[8:], 2}, "between words": {b[4:20], 0},
	} {
		w, ok := Of(c.bytes)
		if len(w) != c.words || ok != (c.words > 0) {
			t.Errorf("%s: %d words, %v, want %d", name, len(w), ok, c.words)
		}
	}
	if w, _ := Of(b[8:]); w[0] != 7 {
		t.Errorf("the first word is %d, want 7, which lies there", w[0])
	}
}

func TestFits(t *testing.T) {
	for bytes, want := range map[uint64]error{
		0: nil, 1 << 20: nil, Limit(): nil, Limit() + 1: bloomery.ErrTooLarge, math.MaxUint64: bloomery.ErrTooLarge,
	} {
		if err := Fits(bytes); !errors.Is(err, want) {
			t.Errorf("Fits(%d) = %v, want %v", bytes, err, want)
		}
	}
}
