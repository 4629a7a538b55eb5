// A set of hashes that keeps 85 bits of each, in 9 bytes.

package dedupe

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/bloomery/bloomery/internal/kernel"
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
// home or, if that was full, in its other bucket or the first one behind it that had
// room: the other bucket is somewhere else, so that full ones do not grow together.
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

// like marks the slots whose tail is equal, by the top bits of their bytes. All are
// compared at once: one that is equal leaves a byte of zeros, which gets its top bit
// set; those above it may get theirs, too.
func (b *bucket) like(tail uint64) uint64 {
	const ones, tops = 0x01_01_01_01_01_01_01_01, 0x00_80_80_80_80_80_80_80
	x := b[bucketSlots] ^ tail*ones
	return (x - ones) &^ x & tops
}

// match reports whether a hash is in one of the slots that were marked.
func (b *bucket) match(like, head, tail uint64) bool {
	for ; like != 0; like &= like - 1 {
		i := bits.TrailingZeros64(like) / 8
		if b[i%len(b)] == head && b.tail(i) == tail && i < b.len() {
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
// The home of a hash is the first half of its head, times the buckets of a segment, and
// its other bucket the second half. Behind the last bucket of a segment comes its first
// one.
//
// Two hashes are the same if the bits for the number of a segment and the 72 bits
// behind them are: in a billion lines that happens with probability 1.3e-8.
type shortSet struct {
	buckets []bucket
	bits    uint     // of a segment's number
	size    int      // buckets of a segment
	most    int      // buckets that a segment has room for
	n       int      // hashes
	grow    int      // n at which the set grows
	moved   []bucket // a segment while the set grows
	bytes   []byte   // the memory of the buckets
}

// newShortSet returns an empty set that lies in words, which must be zero and begin
// at a cache line.
func newShortSet(words []uint64) *shortSet {
	s := &shortSet{bits: 1, bytes: bytesOf(words)}
	s.buckets = unsafe.Slice((*bucket)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8/line)
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

// cut returns the number of a hash's segment and what is stored of the hash. There are
// at least two segments.
func (s *shortSet) cut(h hash) (segment int, head, tail uint64) {
	up, down := s.bits%64, (64-s.bits)%64 // what the processor does with them anyway
	return int(h.Hi >> down), h.Hi<<up | h.Lo>>down, h.Lo << up >> 56
}

// home returns the bucket of a segment where a hash is, or behind which.
func (s *shortSet) home(head uint64) int { return int(head >> 32 * uint64(s.size) >> 32) }

// other returns the bucket where a hash is, or behind which, if its home is full.
func (s *shortSet) other(head uint64) int { return int(head & math.MaxUint32 * uint64(s.size) >> 32) }

// segment returns the buckets of a segment.
func (s *shortSet) segment(i int) []bucket { return s.buckets[i*s.size : (i+1)*s.size] }

// addAll adds hashes in order and notes in fresh which were new, until the set
// is full. It returns how many it added or found.
func (s *shortSet) addAll(fresh []bool, hs []hash) int {
	for i := -2 * group; i < len(hs); i += group {
		s.warm(hs, i)
		for j := max(i, 0); j < min(i+group, len(hs)); j++ {
			isNew, ok := s.add(hs[j])
			if !ok {
				return j
			}
			fresh[j] = isNew
		}
	}
	return len(hs)
}

// containsAll notes in found which hashes are in the set.
func (s *shortSet) containsAll(found []bool, hs []hash) {
	for i := -2 * group; i < len(hs); i += group {
		s.warm(hs, i)
		for j := max(i, 0); j < min(i+group, len(hs)); j++ {
			segment, head, tail := s.cut(hs[j])
			_, found[j] = s.find(s.segment(segment), head, tail)
		}
	}
}

// group is how many hashes are searched between two calls of warm.
const group = 16

// warm asks for the memory of the two groups behind that which begins at i, without
// waiting for it: for the homes of the second, and for the other buckets of those in
// the first whose homes, asked for in the call before, are full.
func (s *shortSet) warm(hs []hash, i int) {
	var at [group]uint64
	next := groupAt(hs, i+2*group)
	for j, h := range next {
		segment, head, _ := s.cut(h)
		at[j] = uint64(segment*s.size+s.home(head)) * line
	}
	kernel.PrefetchAt(s.bytes, at[:len(next)])
	next = groupAt(hs, i+group)
	n := 0
	for _, h := range next {
		segment, head, _ := s.cut(h)
		at[n] = uint64(segment*s.size+s.other(head)) * line
		n += s.buckets[segment*s.size+s.home(head)].len() / bucketSlots
	}
	kernel.PrefetchAt(s.bytes, at[:n])
}

// groupAt returns the hashes of the group that begins at i, if there are some.
func groupAt(hs []hash, i int) []hash {
	if i < 0 || i >= len(hs) {
		return nil
	}
	return hs[i:min(i+group, len(hs))]
}

// add adds a hash and reports whether it is new. It is not ok, and changes
// nothing, if a new hash has no room.
func (s *shortSet) add(h hash) (fresh, ok bool) {
	segment, head, tail := s.cut(h)
	b, found := s.find(s.segment(segment), head, tail)
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

// find looks for a hash in the buckets of a segment: in its home, and if that is full
// from its other bucket on. If it is not there, b is the bucket that has room for it,
// or nil.
func (s *shortSet) find(all []bucket, head, tail uint64) (b *bucket, found bool) {
	b = &all[s.home(head)]
	if like := b.like(tail); like != 0 && b.match(like, head, tail) {
		return b, true
	}
	if b.len() < bucketSlots {
		return b, false
	}
	at := s.other(head)
	for range all {
		b := &all[at]
		if like := b.like(tail); like != 0 && b.match(like, head, tail) {
			return b, true
		}
		if b.len() < bucketSlots {
			return b, false
		}
		if at++; at == len(all) {
			at = 0
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
	s.moved = slices.Grow(s.moved[:0], s.size)[:s.size]
	for i := 1<<s.bits - 1; i >= 0; i-- {
		clear(s.moved)
		s.spread(s.buckets[i*old : (i+1)*old])
		copy(s.segment(i), s.moved)
	}
}

// spread puts the hashes of a segment into that which will take its place.
func (s *shortSet) spread(from []bucket) {
	all := s.moved
	for i := range from {
		b := &from[i]
		tails := b[bucketSlots]
		for _, head := range b[:min(b.len(), bucketSlots)] {
			at := s.home(head)
			if all[at].len() >= bucketSlots {
				at = s.other(head)
			}
			for all[at].len() >= bucketSlots {
				if at++; at == len(all) {
					at = 0
				}
			}
			all[at].add(head, tails&math.MaxUint8)
			tails >>= 8
		}
	}
}
