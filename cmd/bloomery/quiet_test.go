// Tests of giving memory back while there is little to do.

package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorthCollecting(t *testing.T) {
	for _, tt := range []struct {
		heap, allocated uint64
		want            bool
	}{
		{20 << 20, 6 << 20, true},
		{20 << 20, 100 << 10, false}, // nothing to be had
		{20 << 20, 1 << 30, false},   // it is busy
		{1 << 30, 6 << 20, false},    // little of its memory
	} {
		if got := worthCollecting(tt.heap, tt.allocated); got != tt.want {
			t.Errorf("worthCollecting(%d, %d) = %v", tt.heap, tt.allocated, got)
		}
	}
}

// TestGiveBack asks that a server that allocates a little is collected at the end of
// each interval in which it does, and that the loop ends.
func TestGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		var allocated, freed atomic.Uint64
		allocated.Store(1 << 40)
		go giveBack(ended, func() (uint64, uint64) { return 1 << 20, allocated.Load() }, func() { freed.Add(1) })
		synctest.Wait()
		for i, more := range []uint64{2 << 20, 0, 1 << 30, 2 << 20} {
			allocated.Add(more)
			time.Sleep(quietEvery)
			synctest.Wait()
			if got, want := freed.Load(), []uint64{1, 1, 1, 2}[i]; got != want {
				t.Errorf("interval %d: %d collections, want %d", i+1, got, want)
			}
		}
		close(ended)
	})
	if heap, allocated := heapFigures(); heap == 0 || allocated < heap {
		t.Errorf("heapFigures() = %d, %d", heap, allocated)
	}
}
