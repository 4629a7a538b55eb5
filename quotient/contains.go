package quotient

import (
	"math/bits"

	"github.com/bloomery/bloomery/sizing"
)

// lookAhead is how many hashes of a batch have their blocks read before the
// first of them is looked up: 1 KiB of stack.
const lookAhead = 64

// contains reports whether the fingerprint of h is in the table. All of a run's
// remainders are compared at once, in one word: slot by slot, a branch would be
// guessed wrong every second time. What is not so easy is left to search: a run
// that ends in another block than it begins in, that is longer than a word, or
// in which what looks equal may be a digit of a count.
func (t *table) contains(h uint64) bool {
	quotient, remainder := t.split(h)
	i := quotient % sizing.QuotientsPerBlock
	at := int(quotient/sizing.QuotientsPerBlock) * t.size
	block := t.data[at : at+endsAt+8]
	occupied := load(block, occupiedAt)
	if occupied>>i&1 == 0 {
		return false
	}
	before := bits.OnesCount64(occupied & (1<<i - 1))
	offset := uint(block[0])
	ends := (load(block, endsAt) & t.ends) >> offset
	// The run begins behind the end of the one before: the ends, moved by one
	// slot, with one for the first run. The bit that is lost is behind ours.
	skip := uint(nth(ends<<1|1, before))
	slot := offset + skip
	for slot >= uint(t.slots) { // in the next block, where it is one of the first
		if at += t.size; offset >= uint(t.slots) || at >= t.blocks*t.size {
			return t.search(quotient, remainder)
		}
		before -= bits.OnesCount64(ends)
		ends = load(t.data, at+endsAt) & t.ends
		offset, skip = 0, uint(nth(ends<<1|1, before))
		slot = skip
	}
	// Shifts are taken modulo 64, which changes nothing and takes less time.
	length := uint(bits.TrailingZeros64(ends>>(skip%64))) + 1
	if length > t.lanes {
		return t.search(quotient, remainder)
	}
	n := uint(t.slots) + slot*t.width
	x := load(t.data, at+endsAt+int(n>>3)) >> (n & 7)
	if t.ragged {
		yes, ok := t.lanesMatch(x, remainder, length)
		return yes || !ok && t.hasPrefix(quotient, remainder)
	}
	// The lanes of the run that are equal, and perhaps others above the first.
	// There is no digit of a count in the first two.
	x ^= remainder * t.low
	x = (x - t.low) &^ x & t.high & (1<<(length*t.width%64) - 1)
	if t.counts && x != 0 && x&t.pair == 0 {
		return t.search(quotient, remainder)
	}
	return x != 0
}

// search is contains for a quotient and a remainder in any place.
func (t *table) search(quotient, remainder uint64) bool {
	if t.ragged {
		return t.hasPrefix(quotient, remainder)
	}
	p, ok := t.start(quotient)
	if !ok {
		return false
	}
	for last := uint64(0); p.block < t.blocks; p = t.next(p) {
		v := t.value(p)
		if t.counts && v <= last {
			return t.find(quotient, remainder).found // a count, or the value 0
		}
		if v >= remainder || t.isEnd(p) {
			return v == remainder
		}
		last = v
	}
	return false
}

// containsAll sets dst[i] to contains(hs[i]). It reads from the blocks of some
// hashes before it looks them up, so that they come from memory all at once.
func (t *table) containsAll(dst []bool, hs []uint64) {
	dst = dst[:len(hs)]
	for len(hs) > 0 {
		n := min(len(hs), lookAhead)
		t.touch(hs[:n])
		for i, h := range hs[:n] {
			dst[i] = t.contains(h)
		}
		hs, dst = hs[n:], dst[n:]
	}
}

// touch reads the first and the last byte of the blocks of hashes. What it
// returns has no meaning, but makes the reads necessary. It is a sum: the
// compiler makes the exclusive or of both bytes first, and with that the same
// loop over segments took more than twice as long.
//
//go:noinline
func (t *table) touch(hs []uint64) (x byte) {
	for _, h := range hs {
		quotient, _ := bits.Mul64(h, t.quotients)
		at := int(quotient/sizing.QuotientsPerBlock) * t.size
		x += t.data[at] + t.data[at+t.size-1]
	}
	return x
}

// count returns how often the fingerprint of h is in the table.
func (t *table) count(h uint64) uint64 {
	if s := t.find(t.split(h)); s.found {
		return s.count
	}
	return 0
}
