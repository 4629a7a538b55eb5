//go:build unix

package memory

import (
	"errors"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery"
)

// TestUnmapRefuses gives back what Map did not return: another array, a part of
// one, the same one twice.
func TestUnmapRefuses(t *testing.T) {
	b, err := Map(2 * mapFrom)
	if err != nil {
		t.Fatal(err)
	}
	if err := Unmap(make([]byte, mapFrom)); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("an array of the heap: %v, want ErrParameter", err)
	}
	if err := Unmap(b[:mapFrom:mapFrom]); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("half an array: %v, want ErrParameter", err)
	}
	if err := Unmap(b); err != nil {
		t.Errorf("Unmap: %v", err)
	}
	if err := Unmap(b); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("the second time: %v, want ErrParameter", err)
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
