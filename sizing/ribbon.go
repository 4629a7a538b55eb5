package sizing

import (
	"math"

	"github.com/bloomery/bloomery"
)

const (
	// MaxRibbonColumns is the most bits that a ribbon filter keeps for a slot.
	MaxRibbonColumns = 32
	// MinRibbonRate is the lowest rate of a ribbon filter.
	MinRibbonRate = 1.0 / (1 << MaxRibbonColumns)
)

// Ribbon is the shape of a bumped ribbon filter. It stores Columns bits for
// about every key, and one bit more for a Share of them: an absent key is
// found with probability 2^-Columns, or half of that.
//
// Safe for concurrent use.
type Ribbon struct {
	Width   int     // coefficients of a key's row, 64 or 128
	Columns int     // bits of a slot, 1 to MaxRibbonColumns
	Share   float64 // of the slots that have one bit more, 0 to 1
}

// RibbonSize returns the ribbon filter of rows of the given width, 64 or 128,
// that keeps false positive rate p in the fewest bits. The rate is that at any
// number of keys. Errors wrap ErrParameter.
func RibbonSize(p float64, width int) (Ribbon, error) {
	switch {
	case !(p > 0 && p < 1):
		return Ribbon{}, refuse("ribbon", bloomery.ErrParameter, "error rate %v is not between 0 and 1", p)
	case p < MinRibbonRate:
		return Ribbon{}, refuse("ribbon", bloomery.ErrParameter, "error rate %v is less than 2^-%d", p, MaxRibbonColumns)
	case width != 64 && width != 128:
		return Ribbon{}, refuse("ribbon", bloomery.ErrParameter, "rows of %d coefficients, not 64 or 128", width)
	}
	frac, exp := math.Frexp(p) // p = frac × 2^exp with 1/2 <= frac < 1
	if frac == 0.5 {
		exp--
	}
	if exp == 0 { // above 1/2
		return Ribbon{Width: width, Columns: 1}, nil
	}
	// (1 - share) 2^-columns + share 2^-(columns+1) = p
	r := Ribbon{Width: width, Columns: -exp}
	r.Share = 2 - 2*math.Ldexp(p, r.Columns)
	return r, nil
}

// Rate returns the false positive rate.
func (r Ribbon) Rate() float64 { return math.Ldexp(1-r.Share/2, -r.Columns) }

// RibbonShardKeys is the most keys that a shard of a ribbon filter has on average. A
// shard costs some hundred slots, which are nothing beside two
// million, and sets that take seconds to build have several.
const RibbonShardKeys = 4 << 20

// ribbonTrait is what a width costs, measured in builds of ten thousand to ten
// million keys.
type ribbonTrait struct {
	empty float64 // slots that stay empty, for each key
	codes float64 // bits that say which keys are where, for each key
	tail  float64 // slots that a shard takes beside
}

var ribbonTraits = map[int]ribbonTrait{
	64:  {empty: 0.0005, codes: 2. / 128, tail: 300},
	128: {empty: 0.0001, codes: 2. / 512, tail: 350},
}

// Bits returns about how many bits the filter takes with n keys, its directory
// included. Sets of 100,000 keys differ from it by up to 0.3%, larger ones by less.
func (r Ribbon) Bits(n uint64) uint64 {
	const entry = 640 // bits of a shard in the directory
	t := ribbonTraits[r.Width]
	columns := float64(r.Columns) + r.Share
	shards := math.Ceil(float64(n) / RibbonShardKeys)
	slots := float64(n)*(1+t.empty) + shards*min(t.tail, float64(n)/16+float64(r.Width)+32)
	bits := slots*columns + float64(n)*t.codes + shards*entry
	return uint64(min(bits, 64*float64(n)+entry)) // a few keys are listed
}
