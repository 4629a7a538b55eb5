package redisbloom

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"sync/atomic"
)

// slots is an array in which no slot has a count above those of its
// children, 2i+1 and 2i+2, as far as adds have seen to it: a count that falls
// is not moved up, as in RedisBloom.
//
// It lies in chunks, so that forks cost little: one that a fork has is copied before it is changed.
type slots struct {
	chunks []chunk
	n      int
	forks  *atomic.Uint64 // how many there were; readers count. Nil if there are no slots, and in a fork
	used   int            // slots with a count
	held   uint64         // bytes of items
}

// chunk is some of the slots. A fork that is younger has it too.
type chunk struct {
	list []slot
	age  uint64 // how many forks there were when it was made
}

// slot is one of the k places for items. A nil item is one without a name: the
// slot is empty, or came from a dump that does not have it. Items never change.
type slot struct {
	item      []byte
	fp, count uint32
}

const (
	chunkSlots    = 128
	slotBytes     = 32 // of memory, for a slot without its item; a test holds it
	heapPartBytes = 32 // for a chunk without its slots; a test holds it
)

// slotsBytes returns the memory of so many slots without items.
func slotsBytes(n uint64) uint64 { return n*slotBytes + (n+chunkSlots-1)/chunkSlots*heapPartBytes }

func newSlots(n int) slots {
	h := slots{chunks: make([]chunk, (n+chunkSlots-1)/chunkSlots), n: n, forks: new(atomic.Uint64)}
	for i := range h.chunks {
		h.chunks[i].list = make([]slot, min(chunkSlots, n-i*chunkSlots))
	}
	return h
}

// fork returns the slots as they are now, to be read without exclusion. Readers of the sketch may call it.
func (h *slots) fork() slots {
	if h.forks != nil {
		h.forks.Add(1)
	}
	return slots{chunks: slices.Clone(h.chunks), n: h.n, used: h.used, held: h.held}
}

// at returns a slot to be read.
func (h *slots) at(i int) *slot { return &h.chunks[i/chunkSlots].list[i%chunkSlots] }

// set changes a slot.
func (h *slots) set(i int, s slot) {
	c := &h.chunks[i/chunkSlots]
	if forks := h.forks.Load(); c.age != forks {
		c.list, c.age = slices.Clone(c.list), forks
	}
	old := &c.list[i%chunkSlots]
	h.used += counted(&s) - counted(old)
	h.held += uint64(len(s.item)) - uint64(len(old.item))
	*old = s
}

// counted returns 1 for a slot with a count, 0 for others.
func counted(s *slot) int { return int(min(s.count, 1)) }

// all returns an iterator over the slots.
func (h *slots) all() iter.Seq[*slot] {
	return func(yield func(*slot) bool) {
		for _, c := range h.chunks {
			for i := range c.list {
				if !yield(&c.list[i]) {
					return
				}
			}
		}
	}
}

// find returns the slot of an item, or -1. The last slot is asked first.
func (h *slots) find(item []byte, fp uint32) int {
	for c, chunk := range slices.Backward(h.chunks) {
		list := chunk.list
		for i := len(list) - 1; i >= 0; i-- {
			if s := &list[i]; s.fp == fp && len(s.item) == len(item) && bytes.Equal(s.item, item) {
				return c*chunkSlots + i
			}
		}
	}
	return -1
}

// siftDown moves slot i to where its count belongs. In the first step it also
// changes places with a child of the same count.
func (h *slots) siftDown(i int) {
	s, first := *h.at(i), true
	for ; 2*i+1 < h.n; first = false {
		c := 2*i + 1
		if c+1 < h.n && h.at(c).count > h.at(c+1).count {
			c++
		}
		child := *h.at(c)
		if child.count > s.count || !first && child.count == s.count {
			break
		}
		h.set(i, child)
		i = c
	}
	if !first {
		h.set(i, s)
	}
}

// All returns an iterator over the items that the sketch keeps, with their
// counts, the most frequent first, as they were when All was called. They are copied and
// sorted when the iteration starts, and the sketch may have changed by then. Items alias the sketch: they must not be changed. An item without a
// name, which a dump of RedisBloom may hold, is nil.
//
// RedisBloom shows an item up to its first zero byte; here it is whole.
func (t *TopK) All() iter.Seq2[[]byte, uint32] {
	heap := t.heap.fork()
	return func(yield func([]byte, uint32) bool) {
		slots := make([]slot, 0, heap.n)
		for s := range heap.all() {
			slots = append(slots, *s)
		}
		// Equal ones stay in their order.
		slices.SortStableFunc(slots, func(a, b slot) int { return cmp.Compare(b.count, a.count) })
		for _, s := range slots {
			if s.count == 0 || !yield(s.item, s.count) {
				return
			}
		}
	}
}
