package ribbon

import "math/bits"

// band is a system of equations in echelon form: at most one row begins at
// each slot. It is filled row by row and then solved for all columns.
type band interface {
	// reset makes it an empty system for so many slots.
	reset(slots int)
	// insert adds the row of hash h that begins at start and must xor to v. It
	// returns the slot where the row found its place, -1 if it follows from
	// others, and false, with the system as it was, if it contradicts them.
	insert(start int, h uint64, v uint32) (slot int, ok bool)
	// erase takes the row out that found its place at slot. All rows that
	// were inserted after it must have been removed before.
	erase(slot int)
	// solve sets the columns of one block of slots, given those of the next
	// block and of the one after it, which are nil where there is none. They
	// may have one column more.
	solve(cols, next, after []uint64, block int)
}

// band64 is a band of rows with 64 coefficients.
type band64 struct {
	coefs  []uint64 // bit i is the coefficient of the slot i further on; 0 if there is no row
	prints []uint32
}

func (b *band64) reset(slots int) {
	b.coefs = zeroed(b.coefs, slots)
	b.prints = zeroed(b.prints, slots)
}

// zeroed returns n zeros, in s if there is room.
func zeroed[T uint32 | uint64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func (b *band64) insert(start int, h uint64, v uint32) (int, bool) {
	at, c := start, row64(h).lo
	coefs := b.coefs
	prints := b.prints[:len(coefs)]
	for coefs[at] != 0 {
		c ^= coefs[at]
		v ^= prints[at]
		if c == 0 {
			return -1, v == 0
		}
		skip := bits.TrailingZeros64(c)
		at += skip
		c >>= skip & 63
	}
	coefs[at], prints[at] = c, v
	return at, true
}

func (b *band64) erase(slot int) { b.coefs[slot], b.prints[slot] = 0, 0 }

func (b *band64) solve(cols, next, _ []uint64, block int) {
	coefs := (*[64]uint64)(b.coefs[64*block:])
	prints := (*[64]uint32)(b.prints[64*block:])
	j := 0
	for ; j+4 <= len(cols); j += 4 {
		four := (*[4]uint64)(cols[j:])
		copy(four[:], next[min(j, len(next)):])
		solveFour(coefs, prints, uint(j), four)
	}
	for ; j < len(cols); j++ {
		s := word(next, j)
		for i := 63; i >= 0; i-- {
			s <<= 1
			s |= (uint64(bits.OnesCount64(s&coefs[i])) ^ uint64(prints[i]>>(j&31))) & 1
		}
		cols[j] = s
	}
}

// word returns words[i], or 0 if words is shorter.
func word(words []uint64, i int) uint64 {
	if i < len(words) {
		return words[i]
	}
	return 0
}

// solveFour solves four columns at once, beginning with that of the bit first
// of the fingerprints; cols holds the columns of the next block before. Each
// step of a column waits for the one before: four chains keep the processor
// busy.
func solveFour(coefs *[64]uint64, prints *[64]uint32, first uint, cols *[4]uint64) {
	s0, s1, s2, s3 := cols[0], cols[1], cols[2], cols[3]
	for i := 63; i >= 0; i-- {
		c, v := coefs[i], uint64(prints[i]>>(first&31))
		s0, s1, s2, s3 = s0<<1, s1<<1, s2<<1, s3<<1
		s0 |= (uint64(bits.OnesCount64(s0&c)) ^ v) & 1
		s1 |= (uint64(bits.OnesCount64(s1&c)) ^ v>>1) & 1
		s2 |= (uint64(bits.OnesCount64(s2&c)) ^ v>>2) & 1
		s3 |= (uint64(bits.OnesCount64(s3&c)) ^ v>>3) & 1
	}
	cols[0], cols[1], cols[2], cols[3] = s0, s1, s2, s3
}
