package quotient_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery/quotient"
)

// TestGrowingIsLazy: a filter for many keys takes memory when they come.
func TestGrowingIsLazy(t *testing.T) {
	before := resident(t)
	g := quotient.NewGrowing(100_000_000, 0.01)
	grown := resident(t) - before
	if size := int(g.Stats().Bytes); grown > size/2 {
		t.Errorf("an empty filter of %d bytes takes %d bytes of memory at once", size, grown)
	}
	runtime.KeepAlive(g)
}

// resident returns the memory of the process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var all, pages int
	if _, err := fmt.Sscan(string(data), &all, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
