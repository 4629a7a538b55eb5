package quotient_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery/quotient"
)

// TestGrowingIsLazy: a filter for many keys takes memory when they come. The first may get
// memory that another test has used, and that is cleared: later ones do not.
func TestGrowingIsLazy(t *testing.T) {
	var all []*quotient.Growing
	grown, size := 1, 0
	for range 4 {
		if grown <= size/2 {
			break
		}
		before := resident(t)
		all = append(all, quotient.NewGrowing(100_000_000, 0.01))
		grown, size = resident(t)-before, int(all[0].Stats().Bytes)
	}
	if grown > size/2 {
		t.Errorf("an empty filter of %d bytes takes %d bytes of memory at once", size, grown)
	}
	runtime.KeepAlive(all)
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
