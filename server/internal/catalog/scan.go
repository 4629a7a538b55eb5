package catalog

// Scan and its cursors.

import (
	"math/bits"
	"math/rand/v2"
)

// A cursor of Scan holds the shard in its upper bits and a bucket in its lower
// 32.
const cursorBits = 32

// View is what Scan and its kin report of an entry.
type View struct {
	Name  string
	Entry *Entry
}

// Scan passes entries to visit, bucket by bucket from cursor on, until it has
// seen at least count of them (past their deadline or not), and returns the
// cursor to go on with, 0 at the end. Begin with 0.
//
// An entry that is there from the first call to the last is visited at least
// once, also while tables grow and shrink: a bucket's bits are counted from the
// highest down, so that the buckets it is split into, or merged into, are
// visited together. visit must not use the catalogue.
func (c *Catalog) Scan(cursor uint64, count int, now int64, visit func(View)) uint64 {
	at := int(cursor >> cursorBits)
	bucket := uint32(cursor)
	for seen := 0; at < len(c.shards); at, bucket = at+1, 0 {
		s := &c.shards[at]
		s.mu.RLock()
		for len(s.buckets) > 0 {
			mask := uint32(len(s.buckets) - 1)
			for e := s.buckets[bucket&mask]; e != nil; e = e.next {
				seen++
				if !e.expired(now) {
					visit(View{e.name, e})
				}
			}
			bucket = nextBucket(bucket, mask)
			if bucket == 0 || seen >= count {
				break
			}
		}
		s.mu.RUnlock()
		if bucket != 0 {
			return uint64(at)<<cursorBits | uint64(bucket)
		}
		if seen >= count && at+1 < len(c.shards) {
			return uint64(at+1) << cursorBits
		}
	}
	return 0
}

// nextBucket adds one to the bits of b under mask, the highest counting least.
func nextBucket(b, mask uint32) uint32 {
	b |= ^mask
	return bits.Reverse32(bits.Reverse32(b) + 1)
}

// Random returns some entry, nil if there is none. Entries in long chains come
// up less often than others, as in Redis.
func (c *Catalog) Random(now int64) (string, *Entry) {
	const tries = 256
	for range tries {
		if c.Len() == 0 {
			return "", nil
		}
		if name, e := c.shards[rand.IntN(len(c.shards))].random(now); e != nil {
			return name, e
		}
	}
	// Few names, or most of them past their deadline: take the first after a
	// random shard.
	first := rand.IntN(len(c.shards))
	for i := range c.shards {
		var found View
		at := (first + i) % len(c.shards)
		c.Scan(uint64(at)<<cursorBits, 1, now, func(v View) { found = v })
		if found.Entry != nil {
			return found.Name, found.Entry
		}
	}
	return "", nil
}

func (s *shard) random(now int64) (string, *Entry) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.count == 0 {
		return "", nil
	}
	n, seen := 0, (*Entry)(nil)
	for e := s.buckets[rand.IntN(len(s.buckets))]; e != nil; e = e.next {
		if n++; !e.expired(now) && rand.IntN(n) == 0 {
			seen = e
		}
	}
	if seen == nil {
		return "", nil
	}
	return seen.name, seen
}
