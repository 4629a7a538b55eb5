package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

const (
	// CuckooSlots is the number of slots in a bucket of a cuckoo filter.
	CuckooSlots = 4
	// MinCuckooRate is the lowest rate that CuckooSize takes: that of
	// fingerprints of 32 bits, the widest, at full load.
	MinCuckooRate = 2e-9

	minCuckooWidth = 4
	maxCuckooWidth = 32
	// oddCuckooWidth is the one width between them that the layout does not
	// have: two such slots do not fit into a word at every position.
	oddCuckooWidth = 31
)

// Cuckoo is the shape of a cuckoo filter: an even number of buckets of 4
// slots, and the width of the fingerprints in them. A fingerprint is one of
// 2^width - 1 values, since 0 stands for a free slot. The zero value is not a
// usable shape.
//
// Safe for concurrent use.
type Cuckoo struct {
	Buckets uint64
	Width   int // bits of a fingerprint: 4 to 30, or 32
}

// CuckooSize returns the smallest shape that takes n keys, see Capacity, and
// whose rate is then at most p. It takes some 10 microseconds and allocates
// nothing. The error wraps ErrParameter if n is 0 or p is not between
// MinCuckooRate and 1, and ErrTooLarge if the array would exceed 2^63 bits.
func CuckooSize(n uint64, p float64) (Cuckoo, error) {
	switch {
	case n == 0:
		return Cuckoo{}, refuse("cuckoo", bloomery.ErrParameter, "no keys: n = 0")
	case !(p > 0 && p < 1): // NaN too
		return Cuckoo{}, refuse("cuckoo", bloomery.ErrParameter, "rate %v is not between 0 and 1", p)
	case p < MinCuckooRate:
		return Cuckoo{}, refuse("cuckoo", bloomery.ErrParameter, "rate %v is below %v, that of the widest fingerprints, %d bits", p, MinCuckooRate, maxCuckooWidth)
	}
	// The width that fits a full table is nearly always the best; the others
	// are then sent away by one look at the most they could take.
	first := int(math.Ceil(math.Log2(2*CuckooSlots*maxCuckooLoad/p + 1)))
	first = min(max(first, minCuckooWidth), maxCuckooWidth)
	best, ok := Cuckoo{}, false
	for step := range 2 * maxCuckooWidth {
		c := Cuckoo{Width: first + (step+1)/2*(step%2*2-1)} // first, first+1, first-1, first+2, ...
		if c.Width < minCuckooWidth || c.Width > maxCuckooWidth || c.Width == oddCuckooWidth {
			continue
		}
		most := uint64(MaxBits)
		if ok {
			most = best.Bits() - 1
		}
		if c.search(n, p, most) {
			best, ok = c, true
		}
	}
	if !ok {
		return Cuckoo{}, refuse("cuckoo", bloomery.ErrTooLarge, "%d keys at rate %v need more than 2^63 bits", n, p)
	}
	return best, nil
}

// search sets the fewest buckets that take n keys at rate p in at most so many
// bits, and reports whether there are any.
func (c *Cuckoo) search(n uint64, p float64, most uint64) bool {
	fits := func(pairs uint64) bool {
		c.Buckets = 2 * pairs
		return c.Capacity() >= n && c.Rate(float64(n)) <= p
	}
	bad, good := uint64(0), most/(2*CuckooSlots*uint64(c.Width))
	if good == 0 || !fits(good) {
		return false
	}
	for good-bad > 1 {
		if half := bad + (good-bad)/2; fits(half) {
			good = half
		} else {
			bad = half
		}
	}
	c.Buckets = 2 * good
	return true
}

// Valid returns nil if c is a usable shape, else an error that wraps
// ErrParameter or ErrTooLarge and names the cause.
func (c Cuckoo) Valid() error {
	switch {
	case c.Width < minCuckooWidth || c.Width > maxCuckooWidth || c.Width == oddCuckooWidth:
		return refuse("cuckoo", bloomery.ErrParameter, "fingerprints of %d bits, there are those of %d to %d, and of %d", c.Width, minCuckooWidth, oddCuckooWidth-1, maxCuckooWidth)
	case c.Buckets == 0 || c.Buckets%2 != 0:
		return refuse("cuckoo", bloomery.ErrParameter, "%d buckets are not an even number of them", c.Buckets)
	case c.Buckets > MaxBits/(CuckooSlots*uint64(c.Width)):
		return refuse("cuckoo", bloomery.ErrTooLarge, "%d buckets of %d bits are more than 2^63 bits", c.Buckets, CuckooSlots*c.Width)
	}
	return nil
}

// NearlyFull returns how many keys a filter holds before some have to search far for room:
// 27/32 of the slots, or half of up to 1,024. With fewer, different keys that nobody has chosen
// find room near.
func (c Cuckoo) NearlyFull() uint64 {
	const small = 1024
	if slots := c.Slots(); slots > small {
		return slots - slots/32*5
	}
	return c.Slots() / 2
}

// Slots returns the number of slots: no more keys fit.
func (c Cuckoo) Slots() uint64 { return CuckooSlots * c.Buckets }

// Bits returns the size of the array.
func (c Cuckoo) Bits() uint64 { return c.Slots() * uint64(c.Width) }

// Rate returns the false positive rate of a filter that holds n distinct keys:
// the probability that one of them has the fingerprint and the buckets of a key
// that was never inserted. It is 0 for n <= 0, and 1 for what makes no sense.
func (c Cuckoo) Rate(n float64) float64 {
	switch {
	case n <= 0:
		return 0
	case math.IsNaN(n) || c.Buckets == 0 || c.Width <= 0:
		return 1
	}
	return -math.Expm1(n * math.Log1p(-1/c.classes()))
}

// classes returns the number of ways in which keys can differ: pairs of
// buckets that belong together, for each fingerprint.
func (c Cuckoo) classes() float64 {
	return float64(c.Buckets/2) * (math.Ldexp(1, c.Width) - 1)
}

const (
	// maxCuckooLoad is the load that large tables are made for. They refuse
	// the first key at 97% and more; TestLoad in package cuckoo holds them to
	// that.
	maxCuckooLoad = 0.95
	// Small tables differ from one another. A curve of this form stays below
	// the load at which one in a million refuses a key, as simulations with a
	// million tables of each size found it: 0.42 of 6 buckets, 0.52 of 16,
	// 0.64 of 24, 0.82 of 32, 0.91 of 100.
	smallCuckooLoad, smallCuckooLoss = 0.96, 3.6
	// sharedCuckoo is the number of keys that fit whatever their buckets are,
	// those of two.
	sharedCuckoo = 2 * CuckooSlots
	// minManyWidth is the least width for more keys than that: below it, too
	// many keys share both of their buckets.
	minManyWidth = 6
)

// Capacity returns the number of distinct keys that a filter takes before it
// refuses one, but for one filter in a million: 95% of the slots from 10,000
// slots on, and less in smaller tables and where fingerprints are so few that
// nine keys could share one and both buckets. 8 keys always fit.
func (c Cuckoo) Capacity() uint64 {
	if c.Buckets == 0 {
		return 0
	}
	if c.Width < minManyWidth {
		return sharedCuckoo
	}
	m := float64(c.Buckets)
	load := min(maxCuckooLoad, smallCuckooLoad-smallCuckooLoss/(math.Sqrt(m)*math.Sqrt(math.Sqrt(m))))
	keys := min(load*float64(c.Slots()), c.crowded())
	return max(sharedCuckoo, uint64(max(0, keys)))
}

// crowded returns the number of keys with which, in one filter of a million,
// nine keys share a class of which only eight have room. n keys in C classes
// make at most n^9 / (9! C^8) such classes.
func (c Cuckoo) crowded() float64 {
	const once, factorial = 1e-6, 362_880 // of 9
	return math.Exp((math.Log(once*factorial) + 8*math.Log(c.classes())) / 9)
}
