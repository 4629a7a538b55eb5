package quotient

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/batches"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed   = (*Growing)(nil)
	_ bloomery.Inserter = (*Growing)(nil)
	_ bloomery.Deleter  = (*Growing)(nil)
	_ bloomery.Counter  = (*Growing)(nil)
)

// Growing is a quotient filter for sets of unknown size. It starts small and
// grows without its keys as often as needed: up to 2^40 times the keys that it
// started with, at no more than the false positive rate asked. Inserts, deletes,
// counts and lookups take the same time at every size. It lies in segments of
// at most 15,565 keys; an insert copies one of them at most.
//
// At 1% it takes 15 to 20 bits per key, where a Filter of the right size takes
// 9.2. A fingerprint that is a prefix of a key's hash is that key to it: delete
// only what was inserted, and no key is ever lost.
//
// It does not shrink: the memory of deleted keys is for keys to come. Of the oldest
// keys, whose fingerprints have no bits left, some copies stay after a delete and are
// found until the filter grows again. Grown from 1 key to a million at 1%, with all of
// them deleted, it takes the memory that it took and finds 0.08% of absent keys. Stats
// shows both, and Clear starts small again.
//
// Make one with NewGrowing or Config.NewGrowing; for a zero Growing see Filter.
//
// Safe for concurrent readers; a writer needs exclusion.
type Growing struct{ segments }

// NewGrowing returns a Growing that starts with capacity for n keys, at false
// positive rate p. It panics if n is less than 1 or p is not between 0 and 1:
// use Config.NewGrowing for values that are not constants.
func NewGrowing(n int, p float64) *Growing {
	g, err := Config{Capacity: n, ErrorRate: p}.NewGrowing()
	if err != nil {
		panic(err)
	}
	return g
}

// NewGrowing returns a Growing. Capacity is the number of keys that it starts
// with, and Expected a hint of how many there will be. Errors wrap ErrParameter
// or ErrTooLarge.
func (c Config) NewGrowing() (*Growing, error) {
	g, err := c.newGrowing()
	if err != nil {
		return nil, fmt.Errorf("quotient: new growing: %w", err)
	}
	return g, nil
}

func (c Config) newGrowing() (*Growing, error) {
	// Not Alloc: segments come and go.
	err := fields.Only(c, "NewGrowing", "Capacity", "ErrorRate", "Expected", "Hasher")
	switch {
	case err != nil:
		return nil, err
	case c.Capacity < 1:
		return nil, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	case c.Expected < 0:
		return nil, fmt.Errorf("%w: %d keys expected", bloomery.ErrParameter, c.Expected)
	}
	plan, err := sizing.GrowingSize(uint64(c.Capacity), c.ErrorRate, uint64(c.Expected))
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	g := &Growing{segments{plan: plan, hasher: c.Hasher, capacity: uint64(c.Capacity), rate: c.ErrorRate}}
	q, depth := g.firstShape()
	if err := memory.Fits(arrayBytes(q) << depth); err != nil {
		return nil, err
	}
	g.start()
	return g, nil
}

// nobody is the owner of the segments of an empty filter, which have one array: each is copied before its first change. A
// large filter is empty for long, and takes next to no time to make.
const nobody = math.MaxUint64

// firstShape returns the shape of the first segments and the length of their prefixes.
func (g *segments) firstShape() (q sizing.Quotient, depth int) {
	address, slots := g.plan.First(g.capacity)
	return g.plan.Segment(address, slots, 0), max(0, address-sizing.SegmentBits)
}

// start makes the segments of an empty filter.
func (g *Growing) start() {
	q, depth := g.firstShape()
	g.dir, g.sum, g.elders, g.reach = nil, sums{}, elders{}, reach{}
	g.first, _ = g.plan.First(g.capacity)
	g.setDirectory(depth)
	zeros := memory.Bytes(int(arrayBytes(q)))
	for i := range g.dir {
		s := newSegment(q, uint64(i)<<1<<(63-depth), depth, zeros)
		s.owner = nobody
		g.enter(s)
		g.sum.add(s)
	}
}

// Insert adds an occurrence of key. It fails only if the machine has not enough
// memory, if key is there MaxCount times, if the hash has no more bits to grow
// by, or if the keys' hashes are so much alike that growing does not help. The
// error then wraps ErrFull or ErrTooLarge, and the filter holds the same keys.
func (g *Growing) Insert(key []byte) error { return g.InsertHash(g.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (g *Growing) InsertString(key string) error { return g.InsertHash(g.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (g *Growing) InsertHash(h uint64) error {
	for {
		s := g.writable(h)
		if s.used < s.limit {
			quotient, value := s.locate(h)
			if s.insertHere(quotient, value) {
				g.inserted(s, value, 1, true)
				return nil
			}
			spot := s.find(quotient, value)
			if spot.found && spot.count == maxCount {
				return fmt.Errorf("quotient: insert: %w: the key is there %d times, which is as far as counters go", bloomery.ErrFull, spot.count)
			}
			run := s.runOf(spot)
			if run >= s.mostRun(s.counts) {
				return fmt.Errorf("quotient: insert: %w: %d slots hold keys whose hashes begin with the same %d bits", bloomery.ErrFull, run, s.address)
			}
			// All slots may be used: the limit is for the next insert.
			if slots, ok := s.insert(spot, value, s.shape.Limit()); ok {
				s.run = max(s.run, run+slots)
				g.reach = g.reach.most(s.reach)
				g.inserted(s, value, uint64(slots), !spot.found)
				return nil
			}
		}
		if err := g.grow(s); err != nil {
			return fmt.Errorf("quotient: insert: %w", err)
		}
	}
}

// writable returns the segment of a hash, a copy if a fork has it, too, or its array is that of an empty filter.
func (g *Growing) writable(h uint64) *segment {
	g.made()
	s := g.at(h)
	if s.owner != g.owner {
		if s.owner != nobody {
			g.copied += segmentBytes + uint64(len(s.data))
		}
		s = s.clone(g.owner)
		g.enter(s)
	}
	return s
}

// made panics for a zero Growing, which cannot be changed.
func (g *Growing) made() {
	if g.dir == nil {
		panic("quotient: a zero Growing: make it with NewGrowing or Config.NewGrowing")
	}
}

// inserted counts an insert that took so many slots.
func (g *Growing) inserted(s *segment, value, slots uint64, fresh bool) {
	s.used += slots
	g.sum.used += slots
	s.items++
	g.sum.items++
	if !fresh {
		s.counts = true
		return
	}
	s.distinct++
	share := s.share(value)
	s.mass += share
	g.sum.mass += share
}

// InsertHashes inserts all of hs, in order. It stops at the first error, that
// of InsertHash, and returns how many were inserted.
func (g *Growing) InsertHashes(hs []uint64) (n int, err error) {
	return batches.Insert(hs, func(h uint64) error { return g.InsertHash(h) })
}

// InsertKeys is InsertHashes for keys.
func (g *Growing) InsertKeys(keys [][]byte) (n int, err error) {
	return batches.Insert(keys, func(key []byte) error { return g.Insert(key) })
}

// InsertStrings is InsertHashes for strings.
func (g *Growing) InsertStrings(keys []string) (n int, err error) {
	return batches.Insert(keys, func(key string) error { return g.InsertString(key) })
}

// InsertSeq is InsertKeys for all keys of seq. It does not retain them.
func (g *Growing) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	for key := range seq {
		if err := g.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Delete removes one occurrence of a key that was inserted. It reports false,
// and changes nothing, if the key is certainly absent.
func (g *Growing) Delete(key []byte) bool { return g.DeleteHash(g.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (g *Growing) DeleteString(key string) bool { return g.DeleteHash(g.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h. It removes the longest
// fingerprint that is a prefix of h: if that is another key's, the shorter one that
// stays is a prefix of that key's hash, too.
func (g *Growing) DeleteHash(h uint64) bool {
	s := g.writable(h)
	spot := s.longest(s.locate(h))
	if !spot.found {
		return false
	}
	if spot.value == s.void() {
		if !g.elders.remove(h, g.owner) {
			return false // a void that the last growth has left behind
		}
		g.sum.items--
		if g.elders.covers(s.hashOf(uint64(spot.block)*64 + trailing(spot.bit))) {
			return true
		}
	} else {
		g.sum.items--
	}
	g.removed(s, spot)
	return true
}

// removed removes an occurrence of an entry from its segment.
func (g *Growing) removed(s *segment, spot spot) {
	slots := uint64(s.remove(spot))
	s.used -= slots
	g.sum.used -= slots
	s.items--
	if spot.count == 1 {
		s.distinct--
		share := s.share(spot.value)
		s.mass -= share
		g.sum.mass -= share
	}
	s.counts = s.items != s.distinct
}

// Clone returns a Growing of its own memory with the same keys.
func (g *Growing) Clone() *Growing { return &Growing{g.clone()} }

// owners are the owners of segments that there have been, besides 0.
var owners atomic.Uint64

// Fork returns a Growing with the same keys that shares its memory: either copies a segment before
// its next change. That takes far less time than Clone, and is a change of g that needs exclusion;
// after it both can be used, each by its own goroutines.
func (g *Growing) Fork() *Growing {
	g.made()
	c := &Growing{g.segments}
	c.dir, c.elders = slices.Clone(g.dir), g.elders.fork()
	g.owner, c.owner = owners.Add(1), owners.Add(1)
	return c
}

// Copied returns how many bytes of memory that forks have, too, the filter has copied before it changed them, since it was made.
// By so much as that grows after a Fork, and no more, the fork takes memory of its own.
func (g *Growing) Copied() uint64 { return g.copied + g.elders.copied }

// Clear removes all keys. The filter starts again as small as it was made.
func (g *Growing) Clear() {
	g.made()
	g.copied = g.Copied() + g.bytes() // a fork may have all of it
	g.start()
}
