package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

const (
	// MaxOverflow is the share of counters that may fill up in a counting
	// filter without Config.CounterBits. Full counters stay full: it takes
	// 10,000 complete changes of the set until one counter in a hundred is
	// lost.
	MaxOverflow = 1e-6
	// maxRefused is the expected number of keys that find all of their counters
	// full while a counting filter takes the keys it was made for: one filter
	// in a thousand refuses one.
	maxRefused = 1e-3
	// SpectralBits is the width of the counters of a spectral filter.
	SpectralBits = 32
)

// Counted is the size of a filter that has a counter beside every bit of a
// blocked array. The counter is for the second key of a bit and those after
// it, so one of w bits is full when 2^w keys have the bit.
//
// Safe for concurrent use.
type Counted struct {
	Shape     // the bits
	Width int // bits of a counter
}

// Total returns the bits of the array and of the counters.
func (c Counted) Total() uint64 { return c.Bits * (1 + uint64(c.Width)) }

// Overflow returns the expected share of full counters when n keys are in the
// filter, each so many times.
func (c Counted) Overflow(n, copies float64) float64 {
	return c.overflow(n, copies, c.Width)
}

// CountingSize returns the size of a counting filter for n keys at rate p: the
// array of the blocked layout and counters of which at most the share
// MaxOverflow is full when each key was inserted once. Errors are those of
// Layout.Size.
func CountingSize(n uint64, p float64) (Counted, error) {
	s, err := Blocked.size(n, p, 0)
	if err != nil {
		return Counted{}, about("counting", err)
	}
	width, err := s.CounterBits(float64(n), 1, MaxOverflow)
	if err != nil {
		return Counted{}, err
	}
	return counted(s, width)
}

// SpectralSize returns the size of a spectral filter for n keys at rate p.
// Errors are those of Layout.Size.
func SpectralSize(n uint64, p float64) (Counted, error) {
	s, err := Blocked.size(n, p, 0)
	if err != nil {
		return Counted{}, about("spectral", err)
	}
	return counted(s, SpectralBits)
}

// counted puts counters beside an array.
func counted(s Shape, width int) (Counted, error) {
	if s.Bits > MaxBits/(1+uint64(width)) {
		return Counted{}, refuse("counters", bloomery.ErrTooLarge, "%d counters of %d bits are more than 2^63 bits", s.Bits, width)
	}
	return Counted{s, width}, nil
}

// Refused returns an upper bound of how many of n different keys are refused,
// in the mean, since other keys have filled all of their counters. Where a key
// sets one bit or two, narrow counters refuse keys long before the filter is
// full.
func (c Counted) Refused(n float64) float64 {
	if !c.usable() || math.IsNaN(n) || n > MaxBits {
		return math.Inf(1)
	}
	return max(n, 0) * c.crowded(n, c.Width)
}

// Takes reports whether n different keys can be inserted, but for one filter
// in a thousand.
func (c Counted) Takes(n float64) bool { return c.Refused(n) <= maxRefused }

// CounterBits returns the width of counters, 2, 4, 8 or 16 bits, of which at
// most this share is full when n keys are in the filter, each so many times,
// and which refuse none of the keys but in one filter of a thousand.
// The error wraps ErrParameter if a number makes no sense and ErrTooLarge if
// 16 bits are not enough.
func (s Shape) CounterBits(n, copies, share float64) (int, error) {
	if !(n > 0) || !(copies >= 1) || !(share > 0 && share < 1) {
		return 0, refuse("counter bits", bloomery.ErrParameter, "%v keys, %v times each, a share of %v", n, copies, share)
	}
	for width := 2; width <= 16; width *= 2 {
		if s.overflow(n, copies, width) <= share && (Counted{s, width}).Takes(n) {
			return width, nil
		}
	}
	return 0, refuse("counter bits", bloomery.ErrTooLarge, "%.0f copies of a key fill counters of 16 bits", copies)
}

// overflow is the chance that a counter of this width is full: that enough of
// n keys have its bit for their copies to be 2^width. In the blocked layout,
// too, the number of keys of a bit is binomial: each key has it with the same
// chance, and keys are independent.
func (s Shape) overflow(n, copies float64, width int) float64 {
	keys := math.Ceil(math.Ldexp(1, width) / max(copies, 1))
	switch {
	case !s.usable() || math.IsNaN(n) || math.IsNaN(copies) || n > MaxBits:
		return 1
	case n < keys:
		return 0
	}
	return binomialTail(n, -math.Expm1(s.logClear()), keys)
}

// crowded is the chance that all counters of a new key are full with n keys in
// the filter. The number of keys in its block is binomial, and given that, the
// k counters are next to independent: mean over j of P(j keys) * full(j)^k.
func (s Shape) crowded(n float64, width int) float64 {
	blocks, t := float64(s.Bits/BlockBits), math.Ldexp(1, width)
	mean, bit := n/blocks, float64(s.K)/BlockBits
	p, sum := math.Exp(n*math.Log1p(-1/blocks)), 0.0
	if n < t {
		return 0
	}
	if blocks == 1 || mean > maxMean || width > 8 {
		// One block, or so full that p above is no number: the mean load will do.
		return math.Pow(binomialTail(max(mean, t), bit, t), float64(s.K))
	}
	for j := 0.0; j <= n && j < 4*maxMean; j++ {
		if j >= t {
			term := p * math.Pow(binomialTail(j, bit, t), float64(s.K))
			if sum += term; j > mean && term <= 1e-9*sum {
				break
			}
		}
		p *= (n - j) / (j + 1) / (blocks - 1)
	}
	return min(sum, 1)
}

// binomialTail returns the chance of at least t successes in n trials that
// succeed with chance q. It adds up the shorter side, in logarithms: the first
// terms of many trials are too small for a float64.
func binomialTail(n, q, t float64) float64 {
	odds := math.Log(q) - math.Log1p(-q)
	log := n * math.Log1p(-q) // of the chance of no success
	next := func(j float64) { log += math.Log((n-j)/(j+1)) + odds }
	if n*q >= t {
		below := 0.0
		for j := 0.0; j < t; j++ {
			below += math.Exp(log)
			next(j)
		}
		return min(max(1-below, 0), 1)
	}
	for j := 0.0; j < t; j++ {
		next(j)
	}
	sum := 0.0
	for j := t; j <= n; j++ {
		p := math.Exp(log)
		if sum += p; p <= 1e-17*sum {
			break
		}
		next(j)
	}
	return min(sum, 1)
}
