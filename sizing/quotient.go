package sizing

import (
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
)

const (
	// QuotientsPerBlock is how many quotients share a block of a quotient
	// filter: a word of bits, set for those that are in use.
	QuotientsPerBlock = 64
	// MaxQuotientLoad is the share of the slots that QuotientSize fills. A
	// fuller table takes less memory, and an insert moves more of it.
	MaxQuotientLoad = 0.95

	minQuotientSlots = QuotientsPerBlock / 2
	maxQuotientSlots = QuotientsPerBlock
	// maxRemainder is how many bits one load of 8 bytes holds, wherever in a
	// byte they begin.
	maxRemainder = 56
	// maxFingerprint is the number of bits of quotient and remainder: they
	// come from a hash of 64 bits, and the last one is not worth a special case.
	maxFingerprint = 63
	// blockMeta is the number of bits of a block beside those of its slots: an
	// offset of 8 and one for each quotient.
	blockMeta = 8 + QuotientsPerBlock
	// spillNats is the logarithm of how unlikely it is that the keys that a
	// filter was sized for run over its last block: exp(-28) = 7e-13.
	spillNats = 28
)

// Quotient is the size of a quotient filter, as QuotientSize gives it. A key
// takes one slot; its quotient is the number of the block, and its remainder is
// in the slot. The zero value is not a usable size.
//
// With fewer slots than quotients the fingerprint has a fraction of a bit more
// than the remainder: log2(64 / Slots). That fraction costs 64/Slots - 1 bits
// per slot, which is less than it is worth, so that every rate has a size that
// is as good as those of the powers of two.
//
// Safe for concurrent use.
type Quotient struct {
	Blocks    uint64 // of QuotientsPerBlock quotients each
	Spill     uint64 // further blocks, for what runs over the last one
	Slots     int    // slots of a block, 32 to 64
	Remainder int    // bits of a slot, 1 to 56
}

// QuotientSize returns the smallest size that takes n distinct keys at a load
// of at most MaxQuotientLoad and whose predicted rate with them is at most p.
// The error wraps ErrParameter if n or p make no sense, or if the rate takes
// more bits than a hash has, and ErrTooLarge if there are more than 2^48 keys.
func QuotientSize(n uint64, p float64) (Quotient, error) {
	switch {
	case n == 0:
		return Quotient{}, refuse("quotient", bloomery.ErrParameter, "no keys: n = 0")
	case !(p > 0 && p < 1): // NaN too
		return Quotient{}, refuse("quotient", bloomery.ErrParameter, "rate %v is not between 0 and 1", p)
	case n > 1<<48:
		return Quotient{}, refuse("quotient", bloomery.ErrTooLarge, "%d keys, at most 2^48", n)
	}
	var best Quotient
	for slots := maxQuotientSlots; slots >= minQuotientSlots; slots-- {
		full := max(1, uint64(math.Ceil(float64(n)/(MaxQuotientLoad*float64(slots)))))
		// The fingerprints that the rate takes: n/f is at least the rate.
		blocks := float64(n) / p / QuotientsPerBlock
		r := max(1, int(math.Ceil(math.Log2(blocks/float64(full)))))
		for _, q := range [...]Quotient{
			{Blocks: full, Slots: slots, Remainder: r},
			// One bit less, and instead more blocks than the load asks for.
			{Blocks: uint64(math.Ceil(math.Ldexp(blocks, 1-r))), Slots: slots, Remainder: r - 1},
		} {
			q.Spill = q.spill(float64(n))
			if q.Valid() != nil || q.Rate(float64(n)) > p {
				continue
			}
			if best.Blocks == 0 || q.Bits() < best.Bits() {
				best = q
			}
		}
	}
	if best.Blocks == 0 {
		return Quotient{}, refuse("quotient", bloomery.ErrParameter, "%d keys at rate %v take more bits than a hash has", n, p)
	}
	return best, nil
}

// spill returns how many blocks to put behind the last one for n keys. How far
// keys run over the end of a block is the length of a queue: with load a it is
// longer than x with probability less than exp(-2(1-a)x) in a long table, and
// of exp(-2x²/n) with n keys in any (Hoeffding). One block alone has room for
// all.
func (q Quotient) spill(n float64) uint64 {
	if q.Blocks <= 1 {
		return 0
	}
	free := 1 - n/float64(q.Blocks*uint64(q.Slots))
	x := min(n, math.Sqrt(spillNats/2*n), spillNats/(2*max(free, 1-MaxQuotientLoad)))
	return uint64(math.Ceil(x / float64(q.Slots)))
}

// Grown returns q doubled until it takes n keys at a load of at most
// MaxQuotientLoad. Each doubling makes a bit of the remainder one of the
// quotient; the error wraps ErrTooLarge if there are not enough of them.
func (q Quotient) Grown(n uint64) (Quotient, error) {
	g := q
	for float64(n) > MaxQuotientLoad*float64(g.Blocks)*float64(g.Slots) {
		if g.Remainder--; g.Remainder < 1 {
			return Quotient{}, refuse("quotient", bloomery.ErrTooLarge, "%d blocks with remainders of %d bits cannot be doubled until %d keys fit", q.Blocks, q.Remainder, n)
		}
		g.Blocks *= 2
		g.Spill = max(g.Spill, g.spill(float64(n)))
	}
	return g, nil
}

// Valid returns nil if q is a usable size, else an error that wraps
// ErrParameter and names the cause.
func (q Quotient) Valid() error {
	switch {
	case q.Blocks == 0 || q.Blocks > 1<<50 || q.Spill >= 1<<24:
		return refuse("quotient", bloomery.ErrParameter, "%d blocks and %d more", q.Blocks, q.Spill)
	case q.Slots < minQuotientSlots || q.Slots > maxQuotientSlots:
		return refuse("quotient", bloomery.ErrParameter, "%d slots in a block, it has %d to %d", q.Slots, minQuotientSlots, maxQuotientSlots)
	case q.Remainder < 1 || q.Remainder > maxRemainder:
		return refuse("quotient", bloomery.ErrParameter, "remainders of %d bits, they have 1 to %d", q.Remainder, maxRemainder)
	case bits.Len64(q.Blocks*QuotientsPerBlock)+q.Remainder > maxFingerprint:
		return refuse("quotient", bloomery.ErrParameter, "%d blocks and remainders of %d bits are more than a hash has", q.Blocks, q.Remainder)
	}
	return nil
}

// BlockBytes returns the size of a block.
func (q Quotient) BlockBytes() uint64 { return uint64(blockMeta+q.Slots*(q.Remainder+1)+7) / 8 }

// Bits returns the size of all blocks.
func (q Quotient) Bits() uint64 { return (q.Blocks + q.Spill) * q.BlockBytes() * 8 }

// Limit returns how many slots can be in use: 31 of 32, without the spill.
func (q Quotient) Limit() uint64 {
	all := q.Blocks * uint64(q.Slots)
	return all - all/32
}

// Fingerprints returns how many different fingerprints there are.
func (q Quotient) Fingerprints() uint64 { return q.Blocks * QuotientsPerBlock << q.Remainder }

// Rate returns the predicted false positive rate of a filter that holds n
// distinct keys: 0 for n <= 0, and 1 if n or the size make no sense.
func (q Quotient) Rate(n float64) float64 {
	switch {
	case n <= 0:
		return 0
	case math.IsNaN(n) || q.Valid() != nil:
		return 1
	}
	return -math.Expm1(n * math.Log1p(-1/float64(q.Fingerprints())))
}
