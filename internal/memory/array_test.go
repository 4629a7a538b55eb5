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

func TestFits(t *testing.T) {
	for bytes, want := range map[uint64]error{
		0: nil, 1 << 20: nil, Limit() + 1: bloomery.ErrTooLarge, math.MaxUint64: bloomery.ErrTooLarge,
	} {
		if err := Fits(bytes); !errors.Is(err, want) {
			t.Errorf("Fits(%d) = %v, want %v", bytes, err, want)
		}
	}
}
