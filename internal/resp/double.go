package resp

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
)

// AppendDouble appends a number with a fraction as Redis writes it: a double in
// RESP3, a bulk string in RESP2.
func AppendDouble(b []byte, p Protocol, v float64) []byte {
	var digits [40]byte
	d := FormatDouble(digits[:0], v)
	if p < RESP3 {
		b = AppendBulkHead(b, len(d))
	} else {
		b = append(b, ',')
	}
	return append(append(b, d...), '\r', '\n')
}

// FormatDouble appends v in the form of Redis. Whole numbers up to 2^62 have all
// their digits; others have those that the Grisu2 algorithm gives, which are
// almost always the fewest that mean v, and an exponent if they would otherwise
// have many zeros.
func FormatDouble(b []byte, v float64) []byte {
	const whole = 1 << 62
	switch {
	case math.IsInf(v, 1):
		return append(b, "inf"...)
	case math.IsInf(v, -1):
		return append(b, "-inf"...)
	case math.IsNaN(v):
		return append(b, "nan"...)
	case v == 0 && math.Signbit(v):
		return append(b, "-0"...)
	case v >= -whole && v <= whole && v == math.Trunc(v):
		return strconv.AppendInt(b, int64(v), 10)
	}
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	var room [24]byte
	digits, power := grisu2(room[:0], v)
	return layout(b, digits, power)
}

// layout writes the number digits·10^power: plainly, with a point, or with an
// exponent.
func layout(b, digits []byte, power int) []byte {
	n := len(digits)
	exponent := power + n - 1
	size := max(exponent, -exponent)
	switch {
	case power >= 0 && size < n+7:
		b = append(b, digits...)
		for range power {
			b = append(b, '0')
		}
		return b
	case power < 0 && (power > -7 || size < 4):
		if exponent < 0 {
			b = append(b, "0."...)
			for range -exponent - 1 {
				b = append(b, '0')
			}
			return append(b, digits...)
		}
		b = append(b, digits[:n+power]...)
		b = append(b, '.')
		return append(b, digits[n+power:]...)
	}
	b = append(b, digits[0])
	if n > 1 {
		b = append(b, '.')
		b = append(b, digits[1:]...)
	}
	b = append(b, 'e')
	if exponent >= 0 {
		b = append(b, '+')
	}
	return strconv.AppendInt(b, int64(exponent), 10)
}

// extended is a floating-point number of 64 bits: frac·2^exp.
type extended struct {
	frac uint64
	exp  int
}

// times returns the product, rounded to 64 bits.
func (a extended) times(b extended) extended {
	hi, lo := bits.Mul64(a.frac, b.frac)
	return extended{hi + lo>>63, a.exp + b.exp + 64}
}

// normal returns the same number with its highest bit set.
func (a extended) normal() extended {
	n := bits.LeadingZeros64(a.frac)
	return extended{a.frac << n, a.exp - n}
}

// split returns a positive number and the two that lie half way to its
// neighbours, these with the same exponent.
func split(v float64) (low, w, high extended) {
	const hidden = 1 << 52
	b := math.Float64bits(v)
	w = extended{b & (hidden - 1), -1074}
	if e := int(b >> 52); e > 0 {
		w = extended{w.frac | hidden, e - 1075}
	}
	high = extended{2*w.frac + 1, w.exp - 1}.normal()
	low = extended{2*w.frac - 1, w.exp - 1}
	if w.frac == hidden { // the neighbour below is nearer
		low = extended{4*w.frac - 1, w.exp - 2}
	}
	low = extended{low.frac << (low.exp - high.exp), high.exp}
	return low, w.normal(), high
}

const (
	firstPower = -348 // of the powers of ten that grisu2 uses
	powerStep  = 8
	powerCount = 87
	lowestExp  = -60 // of a number times its power
	highestExp = -32
)

// powers returns 10^firstPower, 10^(firstPower+powerStep) and so on, rounded to 64
// bits.
var powers = sync.OnceValue(func() *[powerCount]extended {
	var p [powerCount]extended
	for i := range p {
		p[i] = powerOfTen(firstPower + i*powerStep)
	}
	return &p
})

func powerOfTen(k int) extended {
	const precise = 256 // bits: enough to round to 64
	ten := new(big.Float).SetPrec(2048).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(k, -k))), nil))
	if k < 0 {
		ten.Quo(big.NewFloat(1).SetPrec(2048), ten)
	}
	f := new(big.Float).SetPrec(precise).Set(ten)
	f.SetMode(big.ToNearestEven).SetPrec(64)
	exp := f.MantExp(f) // f in [0.5, 1)
	frac, _ := f.SetMantExp(f, 64).Uint64()
	return extended{frac, exp - 64}
}

// scale returns a power of ten that brings an exponent into the range that digits
// can be read from, and its logarithm.
func scale(exp int) (extended, int) {
	const log2 = 0.30102999566398114 // to base ten
	all := powers()
	i := (int(float64(-(exp+powerCount))*log2) - firstPower) / powerStep
	for {
		switch sum := exp + all[i].exp + 64; {
		case sum < lowestExp:
			i++
		case sum > highestExp:
			i--
		default:
			return all[i], firstPower + i*powerStep
		}
	}
}

// grisu2 appends the digits of v, a positive number, to b: v is about
// digits·10^power, near enough to mean v and no other number. The algorithm is
// Grisu2 of Florian Loitsch, "Printing floating-point numbers quickly and
// accurately with integers", 2010.
func grisu2(b []byte, v float64) (digits []byte, power int) {
	low, w, high := split(v)
	ten, k := scale(high.exp)
	low, w, high = low.times(ten), w.times(ten), high.times(ten)
	low.frac++ // products are off by up to one: stay inside
	high.frac--
	digits, power = generate(b, low.frac, w.frac, high.frac, uint(-high.exp))
	return digits, power - k
}

// generate appends the digits of a number between low and high, as near to w as
// the last digit allows; point is how many bits of all three are a fraction.
func generate(b []byte, low, w, high uint64, point uint) (digits []byte, power int) {
	delta, wide := high-low, high-w
	one := uint64(1) << point
	whole, part := high>>point, high&(one-1)
	unit := uint64(1e9)
	for power = 9; power >= 0; power-- {
		d := whole / unit
		if d > 0 || len(b) > 0 {
			b = append(b, '0'+byte(d))
		}
		whole -= d * unit
		if rest := whole<<point + part; rest <= delta {
			return nearer(b, delta, rest, unit<<point, wide), power
		}
		unit /= 10
	}
	for {
		part, delta, wide = part*10, delta*10, wide*10
		if d := part >> point; d > 0 || len(b) > 0 {
			b = append(b, '0'+byte(d))
		}
		part &= one - 1
		if part < delta {
			return nearer(b, delta, part, one, wide), power
		}
		power--
	}
}

// nearer lowers the last digit, each step of which is worth unit, while that brings
// the number, rest below the upper bound, nearer to the one that is wide below it
// and keeps it above the lower bound, delta below.
func nearer(b []byte, delta, rest, unit, wide uint64) []byte {
	for rest < wide && delta-rest >= unit && (rest+unit < wide || wide-rest > rest+unit-wide) {
		b[len(b)-1]--
		rest += unit
	}
	return b
}
