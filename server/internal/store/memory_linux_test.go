package store_test

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
)

// resident returns how many bytes of the process are in memory.
func resident(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestMemoryGoesBack removes a filter of 128 MiB: the process has given its
// memory back after a moment, without a collection.
func TestMemoryGoesBack(t *testing.T) {
	const size, slack = 128 << 20, 24 << 20
	s := store.New()
	debug.FreeOSMemory() // what earlier tests left is not to be counted
	base := resident(t)
	part := largeBloom(t, s, "k", size>>20)
	part.Lock()
	for iter := int64(1); iter != 0; { // every page
		var chunk []byte
		iter, chunk = part.Contents().ScanDump(iter)
		for i := 0; i < len(chunk); i += 4096 {
			chunk[i] |= 1
		}
	}
	part.Unlock()
	// A system that is short of memory takes pages back, so less than all may be
	// there; what counts is what is left in the end.
	if grown := resident(t) - base; grown < size/4 {
		t.Fatalf("a filter of %d bytes takes %d of memory", size, grown)
	}
	remove(t, s, "k")
	deadline := time.Now().Add(30 * time.Second)
	for resident(t)-base > slack {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes more than before are left after 30 s", resident(t)-base)
		}
		time.Sleep(time.Millisecond)
	}
}
