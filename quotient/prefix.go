package quotient

import "math/bits"

// The slots of a segment hold fingerprints of different lengths: their bits
// from the top, a one, and zeros. A slot of zero bits, 10…0, is void: it stands
// for all keys of its quotient. No slot in use is 0, but for the digits of
// counts. These numbers rise as fingerprints do, and insert, find, remove and
// the counts of a table take them as they are.

// void returns the slot that stands for all keys of a quotient.
func (t *table) void() uint64 { return 1 << (t.width - 1) }

// prefixes calls yield for the entries of a quotient's run that are prefixes of
// remainder.
func (t *table) prefixes(quotient, remainder uint64, yield func(s spot)) {
	s := spot{block: int(quotient / 64), bit: 1 << (quotient % 64), found: true, run: true, alone: true}
	p, ok := t.start(quotient)
	for ; ok && p.block < t.blocks; p = t.next(s.last) {
		if s.entry = t.entryAt(p); (s.value^remainder)&^(s.value^(s.value-1)) == 0 {
			yield(s)
		}
		if s.end {
			return
		}
		s.alone, s.prev = false, s.last
	}
}

// longest returns the entry of a quotient's run that is the longest prefix of
// remainder.
func (t *table) longest(quotient, remainder uint64) (best spot) {
	t.prefixes(quotient, remainder, func(s spot) {
		if !best.found || s.value&-s.value < best.value&-best.value {
			best = s
		}
	})
	return best
}

// hasPrefix reports whether some entry of a quotient's run is a prefix of
// remainder.
func (t *table) hasPrefix(quotient, remainder uint64) (yes bool) {
	t.prefixes(quotient, remainder, func(spot) { yes = true })
	return yes
}

// countPrefixes returns how often prefixes of remainder are there, and whether
// the quotient has a void slot, which is not counted.
func (t *table) countPrefixes(quotient, remainder uint64) (n uint64, void bool) {
	t.prefixes(quotient, remainder, func(s spot) {
		if s.value == t.void() {
			void = true
		} else {
			n += s.count
		}
	})
	return n, void
}

// lanesMatch reports whether one of the first slots in x, those of a run, is a
// prefix of remainder. ok is false if the run may have counts, whose digits look
// like slots: they follow two equal ones.
func (t *table) lanesMatch(x, remainder uint64, length uint) (yes, ok bool) {
	run := uint64(1)<<(length*t.width%64) - 1
	if t.counts {
		if twins := x ^ x>>t.width; (twins-t.low)&^twins&t.high&(run>>t.width) != 0 {
			return false, false
		}
	}
	// From the one of each slot down there is nothing to compare. No slot is 0,
	// so that no lane borrows from another.
	x = (x ^ remainder*t.low) &^ (x ^ (x - t.low))
	return (x-t.low)&^x&t.high&run != 0, true
}

// fingerprintBits returns the length of the fingerprint in a slot.
func (t *table) fingerprintBits(value uint64) int {
	return int(t.width) - 1 - bits.TrailingZeros64(value)
}
