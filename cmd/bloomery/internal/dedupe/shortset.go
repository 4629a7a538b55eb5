// A set of hashes that keeps 85 bits of each, in 9 bytes.

package dedupe

import (
	"math"
	"math/bits"
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

// addIf is add if is is 1, and does nothing if it is 0.
func (b *bucket) addIf(is, head, tail uint64) {
	n, mask := b[bucketSlots]>>56, -is
	at := &b[n%uint64(len(b))]
	*at ^= (*at ^ head) & mask
	b[bucketSlots] += (tail<<(8*n%64) | 1<<56) & mask
}

// drop removes the hash that was added last.
func (b *bucket) drop() {
	n := b.len() - 1
	b[n%len(b)] = 0
	b[bucketSlots] = b[bucketSlots]&(1<<(8*n)-1) | uint64(n)<<56
}

// has returns 1 if a hash is in the bucket, and 0 if not. All tails are compared at
// once: one that is equal leaves a byte of zeros, which gets its top bit set. Those above
// it may get theirs, too, and so may empty slots.
func (b *bucket) has(head, tail uint64) uint64 {
	const ones, tops = 0x01_01_01_01_01_01_01_01, 0x00_80_80_80_80_80_80_80
	tails := b[bucketSlots]
	x := tails ^ tail*ones
	like := (x - ones) &^ x & tops
	i := uint64(bits.TrailingZeros64(like|1<<63)) / 8
	found := bit(b[i] == head) & bit(i < tails>>56)
	if like&(like-1) != 0 && found == 0 { // seldom
		for like &= like - 1; like != 0; like &= like - 1 {
			i := uint64(bits.TrailingZeros64(like)) / 8
			found |= bit(b[i%uint64(len(b))] == head) & bit(b.tail(int(i)) == tail) & bit(i < tails>>56)
		}
	}
	return found
}

// bit returns 1 for true.
func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
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
	moved   []bucket // a segment that is in the way of itself while the set grows
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

// group is how many hashes are searched for at once.
const group = 16

// probes are the hashes of a group, and where they are searched for. The memory of
// each is asked for two groups ahead.
type probes struct {
	n          int // hashes
	size       int // buckets of a segment when they were aimed
	head, tail [group]uint64
	segment    [group]int    // its first bucket
	home       [group]uint64 // in bytes
}

// addAll adds hashes in order and notes in fresh which were new, until the set
// is full. It returns how many it added or found.
func (s *shortSet) addAll(fresh []bool, hs []hash) int {
	var ring [3]probes
	for i := -2 * group; i < len(hs); i += group {
		p := s.ahead(&ring, hs, i)
		if i < 0 || p.size == s.size && s.n+p.n <= s.grow && s.addGroup(fresh[i:], p) {
			continue
		}
		for j := i; j < i+p.n; j++ { // one by one, since the set grows or is full
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
	var ring [3]probes
	for i := -2 * group; i < len(hs); i += group {
		p := s.ahead(&ring, hs, i)
		if i < 0 {
			continue
		}
		for j := range p.n {
			_, found[i+j] = s.find(s.buckets[p.segment[j]:][:s.size], p.head[j], p.tail[j])
		}
	}
}

// ahead returns the probes of the group that begins at i, and asks for the memory of
// the two groups behind it, without waiting for it: for the homes of the second, and
// for the other buckets of those in the first whose homes, asked for in the call
// before, are full.
func (s *shortSet) ahead(ring *[3]probes, hs []hash, i int) *probes {
	g := i/group + 2
	s.aim(&ring[g%3], groupAt(hs, i+2*group))
	s.aimOthers(&ring[(g+2)%3])
	return &ring[(g+1)%3]
}

// aim finds the homes of a group.
func (s *shortSet) aim(p *probes, hs []hash) {
	p.n, p.size = len(hs), s.size
	for j, h := range hs {
		segment, head, tail := s.cut(h)
		p.segment[j] = segment * s.size
		p.head[j], p.tail[j] = head, tail
		p.home[j] = uint64(segment*s.size+s.home(head)) * line
	}
	kernel.PrefetchAt(s.bytes, p.home[:p.n])
}

// aimOthers asks for the other buckets of a group, where homes are full.
func (s *shortSet) aimOthers(p *probes) {
	var at [group]uint64
	n := 0
	for j := range p.n {
		at[n] = uint64(p.segment[j]+s.other(p.head[j])) * line
		n += s.buckets[p.home[j]/line].len() / bucketSlots
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

// addGroup is add for a group, which the set has room for without growing. Whether a
// hash is there cannot be foretold, and a wrong guess of the processor takes longer than
// the search: what is done for a hash in its home does not depend on it. If a segment is
// full it is not ok, and changes nothing that is not written again.
func (s *shortSet) addGroup(fresh []bool, p *probes) (ok bool) {
	var rest [group]int      // those whose homes are full
	var added [group]*bucket // in their order
	n, left := uint64(0), uint64(0)
	for j := range p.n {
		b := &s.buckets[p.home[j]/line]
		head, tail := p.head[j], p.tail[j]
		absent := 1 - b.has(head, tail)
		full := b[bucketSlots] >> 56 / bucketSlots
		isNew := absent &^ full
		b.addIf(isNew, head, tail)
		fresh[j] = isNew != 0
		added[n%group] = b
		n += isNew
		rest[left%group] = j
		left += absent & full
	}
	for _, j := range rest[:left] {
		b, found := s.findOther(s.buckets[p.segment[j]:][:s.size], p.head[j], p.tail[j])
		if fresh[j] = !found; found {
			continue
		}
		if b == nil {
			for n > 0 {
				n--
				added[n].drop()
			}
			return false
		}
		b.add(p.head[j], p.tail[j])
		added[n] = b
		n++
	}
	s.n += int(n)
	return true
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
	if b.has(head, tail) != 0 {
		return b, true
	}
	if b.len() < bucketSlots {
		return b, false
	}
	return s.findOther(all, head, tail)
}

// findOther is find for a hash that is not in its home, which is full.
func (s *shortSet) findOther(all []bucket, head, tail uint64) (b *bucket, found bool) {
	at := s.other(head)
	for range all {
		b := &all[at]
		if b.has(head, tail) != 0 {
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
	for i := 1<<s.bits - 1; i >= 0; i-- {
		from, to := s.buckets[i*old:(i+1)*old], s.segment(i)
		if i*s.size < (i+1)*old { // they overlap
			s.moved = append(s.moved[:0], from...)
			from = s.moved
		}
		clear(to)
		s.spread(to, from)
	}
}

// spread puts the hashes of a segment into that which takes its place.
func (s *shortSet) spread(to, from []bucket) {
	for i := range from {
		b := &from[i]
		tails := b[bucketSlots]
		for _, head := range b[:min(b.len(), bucketSlots)] {
			at := s.home(head)
			if to[at].len() >= bucketSlots {
				at = s.other(head)
			}
			for to[at].len() >= bucketSlots {
				if at++; at == len(to) {
					at = 0
				}
			}
			to[at].add(head, tails&math.MaxUint8)
			tails >>= 8
		}
	}
}
