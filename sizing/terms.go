package sizing

import (
	"math"
	"math/bits"
	"slices"
)

// term is one summand of the exact rate of a block that holds j keys:
//
//	full[j] = sum over terms of weight * share^j
//
// By inclusion and exclusion over the bits a query asks for: share is the
// probability that one key leaves a chosen set of them alone.
type term struct {
	weight, share dd
	gap           float64 // 1 - share, not rounded twice
}

// expansion gathers the terms for one k. All numbers are integers: shares over
// 8*64^k, weights over 64^(k-8), so that equal shares merge without rounding.
type expansion struct {
	k    int
	sums map[uint128]int64
}

func newModel(k int) *model {
	e := expansion{k: k, sums: make(map[uint128]int64)}
	var start [lanes]uint128
	for r := range start {
		start[r].lo = 1
	}
	e.expand(0, 1, start)
	b := &model{terms: e.terms()}
	powers := make([]dd, len(b.terms)) // weight * share^j
	for i, t := range b.terms {
		powers[i] = t.weight
	}
	for j := 1; j < tableLen; j++ {
		var sum dd
		for i, t := range b.terms {
			powers[i] = powers[i].mul(t.share)
			sum = sum.add(powers[i])
		}
		b.full[j] = min(max(sum.hi, b.full[j-1]), 1)
	}
	return b
}

// expand chooses, for every lane from j on, which of the asked bits must be
// untouched. products[r] is the probability that a key of rotation r leaves
// the choices so far alone. A lane is asked for no bit, one or two; two bits
// are one and the same with chance 1/64.
func (e *expansion) expand(lane int, weight int64, products [lanes]uint128) {
	if lane == lanes {
		var sum uint128
		for _, p := range products {
			sum = sum.add(p)
		}
		e.sums[sum] += weight
		return
	}
	twice := e.k > lanes && lane < e.k-lanes
	switch {
	case twice:
		e.expand(lane+1, 64*weight, e.throw(lane, 64, products))
		e.expand(lane+1, -127*weight, e.throw(lane, 63, products))
		e.expand(lane+1, 63*weight, e.throw(lane, 62, products))
	case e.k > lanes || lane < e.k:
		e.expand(lane+1, weight, e.throw(lane, 64, products))
		e.expand(lane+1, -weight, e.throw(lane, 63, products))
	default:
		e.expand(lane+1, weight, e.throw(lane, 64, products))
	}
}

// throw multiplies each product by unset/64 for every bit that a key of that
// rotation sets in the lane.
func (e *expansion) throw(lane int, unset uint64, products [lanes]uint128) [lanes]uint128 {
	run := e.k // lanes that get a bit by rotation
	if e.k > lanes {
		run -= lanes
	}
	for r := range products {
		if e.k > lanes {
			products[r] = products[r].mul(unset)
		}
		if (lane-r+lanes)%lanes < run {
			products[r] = products[r].mul(unset)
		}
	}
	return products
}

// terms returns the merged terms, largest share first, which fixes the order
// of summation and with it the last digit of every rate.
func (e *expansion) terms() []term {
	one := uint128{lo: 1}
	for range e.k + 1 {
		one = one.mul(64)
	}
	one = one.shr3() // 8 * 64^k
	unit := math.Ldexp(1, -6*e.k-3)
	weightUnit := math.Ldexp(1, -6*max(e.k-lanes, 0))
	ts := make([]term, 0, len(e.sums))
	for share, w := range e.sums {
		if w == 0 {
			continue
		}
		hi := float64(w)
		weight := dd{hi * weightUnit, float64(w-int64(hi)) * weightUnit}
		ts = append(ts, term{weight, share.dd(unit), one.sub(share).dd(unit).hi})
	}
	slices.SortFunc(ts, func(a, b term) int {
		switch {
		case a.gap < b.gap:
			return -1
		case a.gap > b.gap:
			return 1
		}
		return 0
	})
	return ts
}

// uint128 is an unsigned integer wide enough for 8*64^16 = 2^99.
type uint128 struct{ hi, lo uint64 }

func (a uint128) mul(x uint64) uint128 {
	carry, lo := bits.Mul64(a.lo, x)
	return uint128{a.hi*x + carry, lo}
}

func (a uint128) add(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return uint128{a.hi + b.hi + carry, lo}
}

func (a uint128) sub(b uint128) uint128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return uint128{a.hi - b.hi - borrow, lo}
}

func (a uint128) shr3() uint128 { return uint128{a.hi >> 3, a.lo>>3 | a.hi<<61} }

// dd returns a*unit, where unit is a power of two.
func (a uint128) dd(unit float64) dd {
	top := dd{hi: float64(a.hi>>11<<11) * 0x1p64}
	low := a.hi & (1<<11 - 1)
	rest := dd{hi: float64(low) * 0x1p64}
	sum := top.add(rest).add(dd{hi: float64(a.lo >> 32 << 32)}).add(dd{hi: float64(a.lo & (1<<32 - 1))})
	return dd{sum.hi * unit, sum.lo * unit}
}

// dd is the unevaluated sum of two floats, about 31 digits. The sum over terms
// cancels: at k = 16 weights of 61,000 leave rates of 1e-20.
type dd struct{ hi, lo float64 }

func (a dd) add(b dd) dd {
	s := a.hi + b.hi
	v := s - a.hi
	e := (a.hi - (s - v)) + (b.hi - v) + a.lo + b.lo
	hi := s + e
	return dd{hi, e - (hi - s)}
}

func (a dd) mul(b dd) dd {
	p := float64(a.hi * b.hi) // the conversion keeps compilers from fusing it with the sum below
	e := math.FMA(a.hi, b.hi, -p) + (a.hi*b.lo + a.lo*b.hi)
	hi := p + e
	return dd{hi, e - (hi - p)}
}
