package server

// The limit on memory, and what the garbage collector makes of it.

import (
	"runtime"
	"runtime/metrics"
)

const (
	// Connections that wait for their clients may have one eighth of the
	// memory together, and 16 MiB in any case.
	unreadShare = 8
	minUnread   = 16 << 20
)

// waitsForReader counts the buffers of a connection that waits until its client
// takes replies. It reports false if such connections have too much together:
// then one that reads nothing must go.
func (s *Server) waitsForReader(c *conn, size int) bool {
	total := s.unread.Add(int64(size))
	s.engine.Hold(c.session, size)
	if total <= max(minUnread, s.maxMemory.Load()/unreadShare) {
		return true
	}
	s.readerWentOn(c, size)
	return false
}

func (s *Server) readerWentOn(c *conn, size int) {
	s.unread.Add(int64(-size))
	s.engine.Hold(c.session, -size)
}

// Room that the heap gets beyond the limit on memory: right at it, the collector
// would never rest. The smallest change worth a call is a part of the limit.
const (
	heapRoom      = 16 << 20
	clusterRoom   = 48 << 20 // for the streams of a cluster, and what is on its way in them
	heapRoomShare = 16
	heapStepShare = 64
)

// setMaxMemory puts another limit on memory in force.
func (s *Server) setMaxMemory(limit int64) {
	s.maxMemory.Store(limit)
	s.limitHeap()
}

// limitHeap passes on what Go's heap should keep to, when that has changed.
func (s *Server) limitHeap() {
	if s.config.OnHeapLimit == nil {
		return
	}
	s.heapMu.Lock()
	defer s.heapMu.Unlock()
	limit := s.maxMemory.Load()
	room := limit/heapRoomShare + heapRoom
	if s.shared != nil {
		room += clusterRoom
	}
	heap := max(limit-s.state.Mapped(), 0) + room
	if change := heap - s.heap; change >= limit/heapStepShare || -change >= limit/heapStepShare {
		s.heap = heap
		s.config.OnHeapLimit(heap)
	}
}

// largeAllocation is from where on an allocation is worth a look at the heap.
const largeAllocation = 4 << 20

// collect has the collector run before n bytes are allocated at once, if what
// nobody uses any more would make the process larger than the limit on memory. The
// collector by itself begins in time for small allocations, and too late for these.
func (s *Server) collect(n int) {
	if n < largeAllocation {
		return
	}
	s.collecting.Lock() // others find what this one has freed
	defer s.collecting.Unlock()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	now, live := int64(heap[0].Value.Uint64()), int64(heap[1].Value.Uint64())
	over := now + int64(n) - (s.maxMemory.Load() - s.state.Mapped())
	if over > 0 && now-live > over/2 { // else there is not enough to be had
		runtime.GC()
	}
}
