package ribbon

import "math/bits"

// band128 is a band of rows with 128 coefficients.
type band128 struct {
	lo, hi []uint64 // lo is 0 if there is no row
	prints []uint32
}

func (b *band128) reset(slots int) {
	b.lo = zeroed(b.lo, slots)
	b.hi = zeroed(b.hi, slots)
	b.prints = zeroed(b.prints, slots)
}

func (b *band128) insert(start int, h uint64, v uint32) (int, bool) {
	r := row128(h)
	at, lo, hi := start, r.lo, r.hi
	los := b.lo
	his, prints := b.hi[:len(los)], b.prints[:len(los)]
	for los[at] != 0 {
		lo ^= los[at]
		hi ^= his[at]
		v ^= prints[at]
		if lo == 0 {
			if hi == 0 {
				return -1, v == 0
			}
			at += 64
			lo, hi = hi, 0
		}
		skip := bits.TrailingZeros64(lo)
		at += skip
		lo = lo>>(skip&63) | hi<<1<<((63-skip)&63)
		hi >>= skip & 63
	}
	los[at], his[at], prints[at] = lo, hi, v
	return at, true
}

func (b *band128) erase(slot int) { b.lo[slot], b.hi[slot], b.prints[slot] = 0, 0, 0 }

func (b *band128) solve(cols, next, after []uint64, block int) {
	los := (*[64]uint64)(b.lo[64*block:])
	his := (*[64]uint64)(b.hi[64*block:])
	prints := (*[64]uint32)(b.prints[64*block:])
	j := 0
	for ; j+2 <= len(cols); j += 2 { // two chains, see solveFour
		s0, t0 := word(next, j), word(after, j)
		s1, t1 := word(next, j+1), word(after, j+1)
		for i := 63; i >= 0; i-- {
			lo, hi, v := los[i], his[i], uint64(prints[i]>>(j&31))
			t0, s0 = t0<<1|s0>>63, s0<<1
			t1, s1 = t1<<1|s1>>63, s1<<1
			s0 |= (uint64(bits.OnesCount64(s0&lo^t0&hi)) ^ v) & 1
			s1 |= (uint64(bits.OnesCount64(s1&lo^t1&hi)) ^ v>>1) & 1
		}
		cols[j], cols[j+1] = s0, s1
	}
	if j < len(cols) {
		s, t := word(next, j), word(after, j)
		for i := 63; i >= 0; i-- {
			t, s = t<<1|s>>63, s<<1
			s |= (uint64(bits.OnesCount64(s&los[i]^t&his[i])) ^ uint64(prints[i]>>(j&31))) & 1
		}
		cols[j] = s
	}
}
