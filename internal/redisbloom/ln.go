package redisbloom

import (
	"math"
	"math/bits"
)

// ln 2 as a fixed-point number of 128 fraction bits.
const (
	ln2Hi = 0xb17217f7d1cf79ab
	ln2Lo = 0xc9e3b39803f2f6af
)

// absLn returns |ln(x)|, correctly rounded, for a positive x that is not 1.
//
// Layers are sized by a logarithm, and a layer may be made while a log is
// replayed on another machine: the result must be the same bits everywhere.
// math.Log is not (assembly on some CPUs, fused operations on others) and it
// differs from the C library that RedisBloom runs on, as for 0.01. This one is
// integer arithmetic, to 2^-110, so that only the last rounding is left.
//
// With x = m·2^e and m in [√½, √2): ln x = e·ln 2 + ln m, and
// ln m = 2·artanh(s) = 2·(s + s³/3 + s⁵/5 + …), s = (m-1)/(m+1), |s| < 0.172.
func absLn(x float64) float64 {
	f, exp := math.Frexp(x)        // f in [½, 1)
	m := uint64(math.Ldexp(f, 53)) // exact: f has 53 bits
	e, one := exp-1, uint64(1)<<52 // m/one in [1, 2)
	if m > 0x16a09e667f3bcd {      // √2·2^52
		e, one = e+1, one<<1
	}
	hi, lo := artanh2(max(m, one)-min(m, one), m+one) // |ln m|

	// w2.w1w0 = |e|·ln 2 ± |ln m|: less if e and ln m differ in sign.
	size := uint64(max(e, -e))
	c1, w0 := bits.Mul64(size, ln2Lo)
	w2, w1 := bits.Mul64(size, ln2Hi)
	w1, c := bits.Add64(w1, c1, 0)
	w2 += c
	if e != 0 && (e > 0) != (m >= one) {
		w0, c = bits.Sub64(w0, lo, 0)
		w1, c = bits.Sub64(w1, hi, c)
		w2 -= c
	} else {
		w0, c = bits.Add64(w0, lo, 0)
		w1, c = bits.Add64(w1, hi, c)
		w2 += c
	}
	return roundFixed(w2, w1, w0)
}

// artanh2 returns 2·artanh(num/den) with 128 fraction bits; num/den < 0.172.
func artanh2(num, den uint64) (hi, lo uint64) {
	s1, r := bits.Div64(num, 0, den)
	s0, _ := bits.Div64(r, 0, den)
	q1, q0 := mulFrac(s1, s0, s1, s0)
	hi, lo = s1, s0
	for n := uint64(3); ; n += 2 {
		s1, s0 = mulFrac(s1, s0, q1, q0)
		if s1|s0>>16 == 0 {
			return hi<<1 | lo>>63, lo << 1
		}
		t1 := s1 / n
		t0, _ := bits.Div64(s1%n, s0, n)
		var c uint64
		lo, c = bits.Add64(lo, t0, 0)
		hi += t1 + c
	}
}

// mulFrac multiplies two fractions of 128 bits. The lowest partial product is
// left out: an error below 2^-126.
func mulFrac(a1, a0, b1, b0 uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(a1, b1)
	x, _ := bits.Mul64(a1, b0)
	y, _ := bits.Mul64(a0, b1)
	lo, c := bits.Add64(lo, x, 0)
	hi += c
	lo, c = bits.Add64(lo, y, 0)
	return hi + c, lo
}

// roundFixed returns the float64 nearest to w2 + w1·2^-64 + w0·2^-128. One of
// w2 and w1 is not 0.
func roundFixed(w2, w1, w0 uint64) float64 {
	exp := 0
	if w2 == 0 {
		w2, w1, w0, exp = w1, w0, 0, -64
	}
	s := bits.LeadingZeros64(w2)
	m := w2<<s | w1>>(64-s)
	if w1<<s|w0 != 0 {
		m |= 1 // sticky: below the 53 bits and the rounding bit
	}
	return math.Ldexp(float64(m>>1|m&1), exp-s+1)
}
