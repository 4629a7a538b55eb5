package bloom

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*Standard)(nil)
	_ bloomery.Adder  = (*Standard)(nil)
)

// Standard is the Bloom filter of the textbooks: the k bits of a key lie
// anywhere in the array. It is the smallest that keys can be added to, by 15%
// against Filter at 1e-4 and by 36% at 1e-6; but each lookup costs up to k
// memory accesses.
//
// Make one with NewStandard or Config.NewStandard; for a zero
// Standard see Filter.
//
// Safe for concurrent readers; a writer needs exclusion.
type Standard struct{ flatSet }

// NewStandard returns a Standard for n keys with false positive rate p. It
// panics if n is less than 1 or p is not between 0 and 1: use
// Config.NewStandard for values that are not constants.
func NewStandard(n int, p float64) *Standard {
	s, err := Config{Capacity: n, ErrorRate: p}.NewStandard()
	if err != nil {
		panic(err)
	}
	return s
}

// NewStandard returns a Standard. Its errors wrap ErrParameter or ErrTooLarge,
// or are those of Alloc.
func (c Config) NewStandard() (*Standard, error) {
	if err := c.prepare("NewStandard", "Foldable"); err != nil {
		return nil, fmt.Errorf("bloom: new standard: %w", err)
	}
	set, err := c.newFlatSet(sizing.Standard)
	if err != nil {
		return nil, fmt.Errorf("bloom: new standard: %w", err)
	}
	return &Standard{set}, nil
}

// Union adds all keys of o to f, see Filter.Union.
func (f *Standard) Union(o *Standard) error {
	f.mustBeMade()
	return f.unite(&o.base, f.words, o.words)
}

// Intersect keeps in f the keys that are in o, too, see Filter.Intersect.
func (f *Standard) Intersect(o *Standard) error {
	f.mustBeMade()
	return f.keepCommon(&o.base, f.words, o.words)
}

// Jaccard estimates how alike the sets in f and o are, see Filter.Jaccard.
func (f *Standard) Jaccard(o *Standard) (float64, error) {
	return f.alike(&o.base, f.words, o.words)
}

// Clone returns a Standard of its own memory with the same keys.
func (f *Standard) Clone() *Standard { return &Standard{flatSet{f.copied()}} }

// UnmarshalBinary replaces f by the filter that data encodes, see
// Filter.UnmarshalBinary.
func (f *Standard) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("bloom", data, f.hasher, f.loadStandard)
}
