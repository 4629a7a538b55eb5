package memory

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
)

func TestMap(t *testing.T) {
	for _, n := range []int{0, 1, 100, MapFrom - 1, MapFrom, MapFrom + 1, 5 << 20} {
		b, err := Map(n)
		if err != nil || len(b) != n {
			t.Fatalf("Map(%d): %d bytes, %v", n, len(b), err)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("Map(%d)[%d] = %d, want 0", n, i, b[i])
			}
			b[i] = 1
		}
		if err := Unmap(b); err != nil {
			t.Errorf("Unmap of %d bytes: %v", n, err)
		}
	}
}

func TestMapRefuses(t *testing.T) {
	for n, want := range map[int]error{-1: bloomery.ErrParameter, math.MinInt: bloomery.ErrParameter, math.MaxInt: bloomery.ErrTooLarge} {
		if b, err := Map(n); b != nil || !errors.Is(err, want) {
			t.Errorf("Map(%d): %d bytes, %v, want %v", n, len(b), err, want)
		}
	}
}

// TestMapIsAnAlloc places words in mapped memory.
func TestMapIsAnAlloc(t *testing.T) {
	w, err := Array(MapFrom, Map)
	if err != nil || len(w) != MapFrom || offset(w) != 0 {
		t.Fatalf("Array: %d words, %v", len(w), err)
	}
	if err := Unmap(bytesOf(w)); err != nil {
		t.Errorf("Unmap: %v", err)
	}
}
