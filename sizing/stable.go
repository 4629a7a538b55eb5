package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

// Stable is the size of a filter that forgets, which is a Counted array whose
// blocks are swept in turn: a sweep takes 1 from all counts of a block, an
// insert sets those of its key to the highest, 2^Width. Every block is swept
// once in Period inserts.
//
// So a key is certainly there until its block was swept 2^Width times. A block
// that was swept the share u of a period ago holds the keys of the last
// 2^Width-1+u periods, and at any time the shares of all blocks are spread
// evenly from 0 to 1. Hence the false positive rate is the mean of Shape.Rate
// over them.
//
// Safe for concurrent use.
type Stable struct {
	Counted
	Period uint64 // inserts until all blocks were swept once
}

// StableSize returns the smallest size of a filter that remembers the last n
// keys and whose rate, after any number of different keys, is at most p.
// Counters have 1, 2, 4 or 8 bits: wider ones forget more sharply, after n to n
// + n/(2^width-1) keys, and take more memory. Errors are those of Layout.Size.
func StableSize(n uint64, p float64, width int) (Stable, error) {
	if width < 1 || width > 8 || width&(width-1) != 0 {
		return Stable{}, refuse("stable", bloomery.ErrParameter, "counters of %d bits, not 1, 2, 4 or 8", width)
	}
	if n >= MaxBits/2 {
		return Stable{}, refuse("stable", bloomery.ErrTooLarge, "%d keys", n)
	}
	period := StablePeriod(n, width)
	// Enough, if every block held the keys of 2^width periods.
	most, err := Blocked.size(period<<width, p, 0)
	if err != nil {
		return Stable{}, about("stable", err)
	}
	best := Stable{Counted{most, width}, period}
	best.shrink(p)
	for k := 1; k <= maxBlockedK; k++ {
		try := best
		if try.K = k; k == best.K || try.Rate(math.Inf(1)) > p {
			continue
		}
		if try.shrink(p); try.Bits < best.Bits || try.Rate(math.Inf(1)) < best.Rate(math.Inf(1)) {
			best = try
		}
	}
	c, err := counted(best.Shape, width)
	return Stable{c, period}, err
}

// shrink takes away blocks as long as the rate for ever is at most p. It tries
// one block, then twice as many each time, and halves what was too much: most
// calls find that not even one can go.
func (a *Stable) shrink(p float64) {
	fewer := *a
	reaches := func(blocks uint64) bool {
		fewer.Bits = blocks * BlockBits
		return blocks > 0 && fewer.Rate(math.Inf(1)) <= p
	}
	good := a.Bits / BlockBits
	step := uint64(1)
	for ; step < good && reaches(good-step); step *= 2 {
		good -= step
	}
	for ; step > 0; step /= 2 {
		if step < good && reaches(good-step) {
			good -= step
		}
	}
	a.Bits = good * BlockBits
}

// StablePeriod returns the period of a filter that remembers n keys: a key may
// be inserted just before its block is swept, and must outlive 2^width-1
// periods from then on. Counters have 1 to 63 bits; a width beyond counts as the
// nearest of these.
func StablePeriod(n uint64, width int) uint64 {
	sweeps := uint64(1)<<min(max(width, 1), 63) - 1
	return n/sweeps + (n%sweeps+sweeps-1)/sweeps
}

// Rate returns the predicted false positive rate after n inserts of different
// keys; for +Inf it is the one that the filter converges to.
func (a Stable) Rate(n float64) float64 { return a.rate(n, 1) }

// State estimates, from the share of set bits after n inserts, how many
// different keys the filter holds and what its false positive rate is.
func (a Stable) State(n, fill float64) (keys, rate float64) {
	if fill <= 0 || !(n > 0) {
		return 0, 0
	}
	if n <= a.certain()*float64(a.Period) { // nothing is forgotten yet
		keys = a.Count(fill)
		return keys, a.Shape.Rate(keys)
	}
	alone := a.logClear()
	low, high := 0.0, 2.0 // chance can set more bits than n keys should
	for range 30 {
		fresh := (low + high) / 2
		if mean(1, func(u float64) float64 { return -math.Expm1(fresh * a.held(n, u) * alone) }) < fill {
			low = fresh
		} else {
			high = fresh
		}
	}
	return high * mean(1, func(u float64) float64 { return a.held(n, u) }), a.rate(n, high)
}

// Forgotten returns the predicted share of keys that are false negatives after
// so many inserts of other keys. It is 0 up to the number of keys that the
// filter was made for, and then grows to 1 minus the false positive rate within
// a period.
func (a Stable) Forgotten(age float64) float64 {
	if a.Period == 0 || math.IsNaN(age) {
		return 1
	}
	// The key's block was swept often enough if its last sweep is not longer ago.
	last := min(age/float64(a.Period)-a.certain(), 1)
	if last <= 0 {
		return 0
	}
	return last * mean(last, func(u float64) float64 { return 1 - a.Shape.Rate(a.held(math.Inf(1), u)) })
}

// rate is Rate if the share fresh of the inserts were of different keys.
func (a Stable) rate(n, fresh float64) float64 {
	return mean(1, func(u float64) float64 { return a.Shape.Rate(fresh * a.held(n, u)) })
}

// certain is the number of periods that a key is there for certain.
func (a Stable) certain() float64 { return math.Ldexp(1, a.Width) - 1 }

// held returns how many of n inserts a block remembers that was last swept the
// share u of a period ago.
func (a Stable) held(n, u float64) float64 {
	return min(n, (a.certain()+u)*float64(a.Period))
}

// mean returns the mean of f from 0 to a point, by Gauss' rule with 8 nodes.
func mean(to float64, f func(u float64) float64) float64 {
	nodes := [...][2]float64{ // place and weight, symmetric about 0
		{0.1834346424956498, 0.362683783378362},
		{0.525532409916329, 0.3137066458778873},
		{0.7966664774136267, 0.2223810344533745},
		{0.9602898564975363, 0.1012285362903763},
	}
	sum, half := 0.0, to/2
	for _, x := range nodes {
		sum += x[1] * (f(half-half*x[0]) + f(half+half*x[0]))
	}
	return sum / 2
}
