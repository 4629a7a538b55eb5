// A set of hashes that keeps 85 bits of each, in 9 bytes.

package dedupe

import (
	"math"
	"slices"
	"unsafe"
)

// A shortSet is cut into segments, whose number is the first bits of all hashes in
// it: these bits are not stored.
const (
	mostSegmentBits = 13
	leastSegment    = 64 // buckets of a set that is full: those of smaller ones differ too much in fill
	// shortFill is the fill at which a set grows, and above which it has no room.
	shortFill = 0.85
	// A set doubles while it is small. A large one grows in smaller steps, so that
	// less of its memory is empty: each step reads and writes all of it.
	smallSet  = 32 << 20 // bytes
	smallStep = 5        // a fifth
)

// bucketSlots is how many hashes are in a cache line.
const bucketSlots = 7

// bucket is one cache line: seven heads of 64 bits, and a word with their tails of 8
// bits and, in its highest byte, how many there are. A hash is in the bucket of its
// home, or in the first one behind it that had room.
type bucket [bucketSlots + 1]uint64

// len returns the number of hashes.
func (b *bucket) len() int { return int(b[bucketSlots] >> 56) }

// tail returns that of a hash.
func (b *bucket) tail(i int) uint64 { return b[bucketSlots] >> (8 * i) & math.MaxUint8 }

// add adds a hash; there is room for it.
func (b *bucket) add(head, tail uint64) {
	n := b.len()
	b[n%len(b)] = head
	b[bucketSlots] += tail<<(8*n) | 1<<56
}

// like reports whether a hash may be in the bucket: one of its tails is equal. All of
// them are compared at once. One that is equal leaves zeros, which get their top bit
// set; those above it may, too.
func (b *bucket) like(tail uint64) bool {
	const ones, tops = 0x01_01_01_01_01_01_01_01, 0x00_80_80_80_80_80_80_80
	x := b[bucketSlots] ^ tail*ones
	return (x-ones)&^x&tops != 0
}

// contains reports whether a hash is in the bucket.
func (b *bucket) contains(head, tail uint64) bool {
	for i := range min(b.len(), bucketSlots) {
		if b[i] == head && b.tail(i) == tail {
			return true
		}
	}
	return false
}

// shortSet is a set of hashes in an array of fixed size, of which it touches as much
// as it needs. It grows inside of the array:
//
//	buckets  [ segment 0 | segment 1 | ... | segment 8191 ][ not touched yet ]
//
// The home of a hash is the first bits of its head, times the buckets of a segment.
// Behind the last bucket of a segment comes its first one.
//
// Two hashes are the same if the bits for the number of a segment and the 72 bits
// behind them are: in a billion lines that happens with probability 1.3e-8.
type shortSet struct {
	buckets []bucket
	bits    uint // of a segment's number
	size    int  // buckets of a segment
	most    int  // buckets that a segment has room for
	n       int  // hashes
	grow    int  // n at which the set grows
	moved   []bucket
	seen    uint64 // keeps the compiler from dropping the loads of warm
}

// newShortSet returns an empty set that lies in words, which must be zero and begin
// at a cache line.
func newShortSet(words []uint64) *shortSet {
	s := &shortSet{buckets: unsafe.Slice((*bucket)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8/line)}
	for s.bits < mostSegmentBits && len(s.buckets)>>(s.bits+1) >= leastSegment {
		s.bits++
	}
	s.most = len(s.buckets) >> s.bits
	s.resize(1)
	return s
}

func (s *shortSet) resize(size int) {
	s.size = size
	s.grow = int(shortFill * float64(size*bucketSlots<<s.bits))
}

// clear removes all hashes and gives the set its first size again.
func (s *shortSet) clear() {
	clear(s.buckets[:s.size<<s.bits])
	s.n = 0
	s.resize(1)
}

// cut returns the number of a hash's segment and what is stored of the hash.
func (s *shortSet) cut(h hash) (segment int, head, tail uint64) {
	return int(h.Hi >> (64 - s.bits)), h.Hi<<s.bits | h.Lo>>(64-s.bits), h.Lo << s.bits >> 56
}

// home returns the bucket of a segment where a hash is, or behind which.
func (s *shortSet) home(head uint64) int { return int(head >> 32 * uint64(s.size) >> 32) }

// segment returns the buckets of a segment.
func (s *shortSet) segment(i int) []bucket { return s.buckets[i*s.size : (i+1)*s.size] }

// addAll adds hashes in order and notes in fresh which were new, until the set
// is full. It returns how many it added or found.
func (s *shortSet) addAll(fresh []bool, hs []hash) int {
	for i, h := range hs {
		if i%warmed == 0 {
			s.warm(hs[i:min(i+warmed, len(hs))])
		}
		isNew, ok := s.add(h)
		if !ok {
			return i
		}
		fresh[i] = isNew
	}
	return len(hs)
}

// containsAll notes in found which hashes are in the set.
func (s *shortSet) containsAll(found []bool, hs []hash) {
	for i, h := range hs {
		if i%warmed == 0 {
			s.warm(hs[i:min(i+warmed, len(hs))])
		}
		segment, head, tail := s.cut(h)
		_, found[i] = find(s.segment(segment), s.home(head), head, tail)
	}
}

// warm loads the homes of some hashes: the loads do not wait for each other,
// as those of a search would.
func (s *shortSet) warm(hs []hash) {
	var x uint64
	for _, h := range hs {
		segment, head, _ := s.cut(h)
		x ^= s.buckets[segment*s.size+s.home(head)][bucketSlots]
	}
	s.seen = x
}

// add adds a hash and reports whether it is new. It is not ok, and changes
// nothing, if a new hash has no room.
func (s *shortSet) add(h hash) (fresh, ok bool) {
	segment, head, tail := s.cut(h)
	b, found := find(s.segment(segment), s.home(head), head, tail)
	switch {
	case found:
		return false, true
	case b != nil && s.n < s.grow:
		b.add(head, tail)
		s.n++
		return true, true
	case s.size == s.most:
		return false, false
	}
	s.expand()
	return s.add(h)
}

// find looks for a hash in the buckets of a segment, from its home on. If it is not
// there, b is the bucket that has room for it, or nil.
func find(all []bucket, home int, head, tail uint64) (b *bucket, found bool) {
	for range all {
		b := &all[home]
		if b.like(tail) && b.contains(head, tail) {
			return b, true
		}
		if b.len() < bucketSlots {
			return b, false
		}
		if home++; home == len(all) {
			home = 0
		}
	}
	return nil, false
}

// expand gives the set more buckets: segment by segment, from the last on, whose
// place in the larger set is not in front of that in the smaller one.
func (s *shortSet) expand() {
	old, step := s.size, s.size
	if old<<s.bits*line >= smallSet {
		step = max(1, old/smallStep)
	}
	s.resize(min(old+step, s.most))
	s.moved = slices.Grow(s.moved[:0], old)[:old]
	for i := 1<<s.bits - 1; i >= 0; i-- {
		from := s.buckets[i*old : (i+1)*old]
		copy(s.moved, from)
		clear(from)
		s.spread(s.segment(i))
	}
}

// spread puts the hashes that were moved into a segment that is empty.
func (s *shortSet) spread(all []bucket) {
	for i := range s.moved {
		b := &s.moved[i]
		for j := range min(b.len(), bucketSlots) {
			home := s.home(b[j])
			for all[home].len() >= bucketSlots {
				if home++; home == len(all) {
					home = 0
				}
			}
			all[home].add(b[j], b.tail(j))
		}
	}
}
