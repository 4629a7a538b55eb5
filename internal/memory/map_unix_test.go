//go:build unix

package memory

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery"
)

// TestUnmapRefuses gives back what Map did not return: another array, a part of
// one, the same one twice.
func TestUnmapRefuses(t *testing.T) {
	b, err := Map(2 * MapFrom)
	if err != nil {
		t.Fatal(err)
	}
	if err := Unmap(make([]byte, 1<<20)); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("an array of the heap: %v, want ErrParameter", err)
	}
	if err := Unmap(b[:MapFrom:MapFrom]); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("half an array: %v, want ErrParameter", err)
	}
	if err := Unmap(b); err != nil {
		t.Errorf("Unmap: %v", err)
	}
	if err := Unmap(b); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("the second time: %v, want ErrParameter", err)
	}
}

// TestReach rounds up to 2 MiB from there on, unless that is more than there is.
func TestReach(t *testing.T) {
	const step = 2 << 20
	for bytes, want := range map[int]int{
		1: 1, step - 1: step - 1, step: step, step + 1: 2 * step, 2*step - 1: 2 * step, 2 * step: 2 * step, 5*step + 1: 6 * step,
		math.MaxInt - step: math.MaxInt - step + 1, math.MaxInt - step + 1: math.MaxInt - step + 1, math.MaxInt: math.MaxInt,
	} {
		if got := reach(bytes); got != want {
			t.Errorf("reach(%d) = %d, want %d", bytes, got, want)
		}
	}
}

// TestMapIsNoWorkForTheCollector asks Go how much it has on its heap.
func TestMapIsNoWorkForTheCollector(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := Map(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.HeapSys - before.HeapSys; grown >= uint64(len(b)) {
		t.Errorf("the heap grew by %d bytes, want less than the array", grown)
	}
	if err := Unmap(b); err != nil {
		t.Errorf("Unmap: %v", err)
	}
}
