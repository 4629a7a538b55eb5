package catalog

// A shard: a hash table of some of the names.

import "github.com/bloomery/bloomery/server/internal/order"

// minBuckets is the size of a shard's first table.
const minBuckets = 4

// shard is a part of the names: a chained hash table whose size is a power of
// two, doubled when it is full and halved when it is nearly empty.
type shard struct {
	// mu guards the table, and the entries that are in it.
	mu      order.Shard
	buckets []*Entry
	count   int
}

// lockBoth locks two shards, which may be the same, and returns what unlocks
// them. Only the one writer locks two, so the order does not matter.
func lockBoth(a, b *shard) (unlock func()) {
	a.mu.Lock()
	if a == b {
		return a.mu.Unlock
	}
	b.mu.Lock()
	return func() {
		b.mu.Unlock()
		a.mu.Unlock()
	}
}

func (s *shard) find(h uint32, name []byte) *Entry {
	if s.count == 0 {
		return nil
	}
	for e := s.buckets[h&uint32(len(s.buckets)-1)]; e != nil; e = e.next {
		if e.hash == h && e.name == string(name) {
			return e
		}
	}
	return nil
}

func (s *shard) add(e *Entry) {
	if s.count >= len(s.buckets) {
		s.resize(max(minBuckets, 2*len(s.buckets)))
	}
	s.count++
	s.push(e)
}

func (s *shard) push(e *Entry) {
	b := &s.buckets[e.hash&uint32(len(s.buckets)-1)]
	e.next = *b
	*b = e
}

func (s *shard) remove(e *Entry) {
	for b := &s.buckets[e.hash&uint32(len(s.buckets)-1)]; *b != nil; b = &(*b).next {
		if *b == e {
			*b, e.next = e.next, nil
			s.count--
			break
		}
	}
	if len(s.buckets) > minBuckets && s.count < len(s.buckets)/8 {
		s.resize(len(s.buckets) / 2)
	}
}

func (s *shard) resize(n int) {
	old := s.buckets
	s.buckets = make([]*Entry, n)
	for _, e := range old {
		for e != nil {
			next := e.next
			s.push(e)
			e = next
		}
	}
}
