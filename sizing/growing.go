package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

const (
	// MaxGrowth is how often a growing filter can double and keep its rate.
	MaxGrowth = 40
	// SegmentBits is the number of address bits of a full segment of a growing
	// filter: 256 blocks of 64 quotients, at most 15,565 keys.
	SegmentBits = 14
	// growingSpill is the number of blocks behind the last of a segment. One
	// segment in 10,000 needs more, and gets them.
	growingSpill = 2

	// minGrowingSlots is the least number of slots of a full block: the first of
	// its steps still has as many as a block can have at least.
	minGrowingSlots = 51
	growingSteps    = 3
	minGrowingBits  = 3
	blockBits       = 6 // address bits of a block, 64 quotients
)

// Growing is the plan of a filter that grows without its keys, as GrowingSize
// gives it: a quotient filter in segments that double. A doubling makes a bit
// of every fingerprint one of the address, and new keys get fingerprints of
// full length again. A key adds 2^-(bits of address and fingerprint when it
// was inserted) to the rate for ever, so the rate is a sum over all generations of keys.
//
// Between two doublings a block gets slots in three steps, each 1.26 times the
// one before. The zero value is not a usable plan.
//
// Safe for concurrent use.
type Growing struct {
	// Slots are those of a block that is about to double, 51 to 64.
	Slots int
	// Bits are the bits of a new fingerprint behind its address, 3 or more. All
	// generations have the same number of them, and with it the same share of
	// the rate, unless Expected is set.
	Bits int
	// Expected is the number of doublings that are expected, 0 if that is not
	// known. The generation that it names has Bits, which is fewer than without
	// it, and others have more the farther away they are.
	Expected int
}

// GrowingSize returns the plan with the fewest bits per key for a filter that
// starts with n keys, doubles up to MaxGrowth times, and keeps the rate p at
// every size. expected is the number of keys that it will hold in the end, 0
// if that is not known. Errors wrap ErrParameter or ErrTooLarge.
func GrowingSize(n uint64, p float64, expected uint64) (Growing, error) {
	switch {
	case n == 0:
		return Growing{}, refuse("growing", bloomery.ErrParameter, "no keys: n = 0")
	case !(p > 0 && p < 1): // NaN too
		return Growing{}, refuse("growing", bloomery.ErrParameter, "rate %v is not between 0 and 1", p)
	case n > 1<<48 || expected > 1<<48:
		return Growing{}, refuse("growing", bloomery.ErrTooLarge, "%d keys, at most 2^48", max(n, expected))
	}
	doublings := 0
	if expected > n {
		doublings = min(int(math.Ceil(math.Log2(float64(expected)/float64(n)))), MaxGrowth)
	}
	var best Growing
	for slots := minGrowingSlots; slots <= maxQuotientSlots; slots++ {
		g := Growing{Slots: slots, Bits: minGrowingBits, Expected: doublings}
		for g.Bits < maxRemainder && g.Rate(MaxGrowth) > p {
			g.Bits++
		}
		if best.Slots == 0 || g.perSlot() <= best.perSlot() {
			best = g
		}
	}
	if address, _ := best.First(n); best.Rate(MaxGrowth) > p || address+best.Width(0)-1 > maxFingerprint {
		return Growing{}, refuse("growing", bloomery.ErrParameter, "%d keys at rate %v take more bits than a hash has", n, p)
	}
	return best, nil
}

// perSlot is the number of bits of a slot with its share of the block.
func (g Growing) perSlot() float64 { return blockMeta/float64(g.Slots) + float64(g.Bits) }

// Valid returns nil if g is a usable plan, else an error that wraps ErrParameter.
func (g Growing) Valid() error {
	if g.Slots < minGrowingSlots || g.Slots > maxQuotientSlots || g.Bits < minGrowingBits || g.Bits >= maxRemainder ||
		g.Expected < 0 || g.Expected > MaxGrowth || g.Width(0) > maxRemainder {
		return refuse("growing", bloomery.ErrParameter, "%+v is not a plan", g)
	}
	return nil
}

// Width returns the bits of a slot after so many doublings: those of a new
// fingerprint, and one that marks the end of it. From one doubling to the next
// it falls by one at most.
func (g Growing) Width(doublings int) int {
	if g.Expected == 0 {
		return g.Bits + 1
	}
	away := g.Expected - doublings
	if away >= 0 {
		return g.Bits + 1 + min(away, farther(away))
	}
	return g.Bits + 1 + farther(-away)
}

// farther is 2 log2(k + 1), rounded up: shares of 1/(k+1)^2 have a sum.
func farther(k int) int { return int(math.Ceil(2*math.Log2(float64(k+1)) - 1e-9)) }

// Rate returns the rate just before the next doubling after so many of them,
// the highest until then.
func (g Growing) Rate(doublings int) float64 {
	// A generation begins where the one before ended, half full; the first
	// one begins with nothing.
	half := MaxQuotientLoad / 2 * float64(g.Slots) / QuotientsPerBlock
	sum := half * math.Ldexp(1, 1-g.Width(0))
	for d := range doublings + 1 {
		sum += half * math.Ldexp(1, 1-g.Width(d))
	}
	return sum
}

// Steps returns the numbers of slots that blocks have between two doublings.
func (g Growing) Steps() [3]int {
	var s [growingSteps]int
	for i := range s {
		s[i] = int(math.Ceil(float64(g.Slots)*math.Exp2(float64(i+1-growingSteps)/growingSteps) - 1e-9))
	}
	return s
}

// GrowingLimit returns the number of slots of a segment that are filled before it grows.
func (q Quotient) GrowingLimit() uint64 {
	return uint64(MaxQuotientLoad * float64(q.Blocks*uint64(q.Slots)))
}

// First returns the address bits and the slots that a filter for n keys starts
// with.
func (g Growing) First(n uint64) (address, slots int) {
	for address = blockBits; ; address++ {
		for _, slots = range g.Steps() {
			if g.capacity(address, slots) >= n {
				return address, slots
			}
		}
	}
}

// capacity is the number of keys before the next step.
func (g Growing) capacity(address, slots int) uint64 {
	one := g.Segment(address, slots, 0)
	return one.GrowingLimit() << max(0, address-SegmentBits)
}

// Segment returns the size of one segment of a filter with so many address bits,
// after so many doublings.
func (g Growing) Segment(address, slots, doublings int) Quotient {
	q := Quotient{Blocks: 1 << (min(address, SegmentBits) - blockBits), Slots: slots, Remainder: g.Width(doublings)}
	if q.Blocks > 1 {
		q.Spill = growingSpill
	}
	return q
}

// Grown returns the size in bits and the rate of a filter that started with
// first keys and now holds n.
func (g Growing) Grown(first, n uint64) (bits uint64, rate float64) {
	address, slots := g.First(first)
	held := 0.0
	for doublings := 0; ; doublings++ {
		unit := math.Ldexp(1, 1-g.Width(doublings)-address) // the error of one key
		for _, s := range g.Steps() {
			if s < slots {
				continue // before the first
			}
			if room := g.capacity(address, s); room >= n || address+g.Width(doublings) > maxFingerprint {
				rate += (float64(n) - held) * unit
				return g.Segment(address, s, doublings).Bits() << max(0, address-SegmentBits), min(rate, 1)
			}
		}
		full := float64(g.capacity(address, g.Slots))
		rate += (full - held) * unit
		held, slots = full, 0
		address++
	}
}
