package redisbloom

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// The heap is an array in which no slot has a count above those of its
// children, 2i+1 and 2i+2, as far as adds have seen to it: a count that falls
// is not moved up, as in RedisBloom.

// find returns the slot of an item, or -1. The last slot is asked first.
func (t *TopK) find(item []byte, fp uint32) int {
	for i := len(t.heap) - 1; i >= 0; i-- {
		if s := &t.heap[i]; s.fp == fp && len(s.item) == len(item) && bytes.Equal(s.item, item) {
			return i
		}
	}
	return -1
}

// siftDown moves slot i to where its count belongs. In the first step it also
// changes places with a child of the same count.
func (t *TopK) siftDown(i int) {
	heap := t.heap
	for first := true; 2*i+1 < len(heap); first = false {
		c := 2*i + 1
		if c+1 < len(heap) && heap[c].count > heap[c+1].count {
			c++
		}
		if heap[c].count > heap[i].count || !first && heap[c].count == heap[i].count {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// All returns an iterator over the items that the sketch keeps, with their
// counts, the most frequent first, as they were when All was called: it copies the
// slots. They are sorted when the iteration starts, and the sketch may have changed by
// then. Items alias the sketch: they must not be changed. An item without a
// name, which a dump of RedisBloom may hold, is nil.
//
// RedisBloom shows an item up to its first zero byte; here it is whole.
func (t *TopK) All() iter.Seq2[[]byte, uint32] {
	slots := slices.Clone(t.heap)
	return func(yield func([]byte, uint32) bool) {
		// Equal ones stay in their order.
		slices.SortStableFunc(slots, func(a, b slot) int { return cmp.Compare(b.count, a.count) })
		for _, s := range slots {
			if s.count == 0 || !yield(s.item, s.count) {
				return
			}
		}
	}
}
