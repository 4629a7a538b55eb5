// Memory that a server with little to do gives back.

package main

import (
	"runtime/metrics"
	"time"
)

// A server that does little still allocates a little: a node of a cluster has
// heartbeats. Its heap grows to twice its data before it is collected, which takes a
// minute, and so it would never give that memory back.
const (
	quietEvery = 20 * time.Second
	quietLeast = 1 << 20  // allocated meanwhile: less is not worth a collection
	quietMost  = 16 << 20 // more, and the server has something to do
	quietHeap  = 64 << 20 // of a larger heap it is a small part
)

// worthCollecting reports whether a server is quiet, and memory can be had from it.
func worthCollecting(heap, allocated uint64) bool {
	return heap <= quietHeap && allocated >= quietLeast && allocated <= quietMost
}

// giveBack returns memory to the system, at intervals at which that is worth it, until
// ended is closed.
func giveBack(ended <-chan struct{}, read func() (heap, allocated uint64), free func()) {
	tick := time.NewTicker(quietEvery)
	defer tick.Stop()
	for _, last := read(); ; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		heap, allocated := read()
		if worthCollecting(heap, allocated-last) {
			free()
		}
		last = allocated
	}
}

// heapFigures returns the bytes of the heap, and those that were ever allocated.
func heapFigures() (heap, allocated uint64) {
	figures := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(figures)
	return figures[0].Value.Uint64(), figures[1].Value.Uint64()
}
