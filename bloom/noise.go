package bloom

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// AddNoise blurs a filter that is to be published: it adds dummy keys that
// nobody has, as many as share of the keys that are in it, and returns how
// many. Whoever tries keys against the filter then finds more that were never
// added. The cost is a higher false positive rate: sizing.Shape.Rate has it
// beforehand, Stats afterwards. random is where dummies come from; nil means
// the system's source. A known seed is no secret: dummies could be
// distinguished from keys.
//
// The error wraps ErrParameter if share is negative, not a number or infinite, or
// if the filter is or would be full: then its keys cannot be counted, or it would
// contain next to every key, and be of no use. Or the error is that of random. f is
// then as it was, or, in the last case, has some of the dummies.
func (f *Filter) AddNoise(share float64, random io.Reader) (dummies uint64, err error) {
	return addNoise(f, f.shape, f.EstimateCount(), share, random)
}

// AddNoise is Filter.AddNoise.
func (f *Split) AddNoise(share float64, random io.Reader) (dummies uint64, err error) {
	return addNoise(f, f.shape, f.EstimateCount(), share, random)
}

// AddNoise is Filter.AddNoise.
func (f *Standard) AddNoise(share float64, random io.Reader) (dummies uint64, err error) {
	return addNoise(f, f.shape, f.EstimateCount(), share, random)
}

// AddNoise is Filter.AddNoise.
func (f *Partitioned) AddNoise(share float64, random io.Reader) (dummies uint64, err error) {
	return addNoise(f, f.shape, f.EstimateCount(), share, random)
}

// fullRate is the false positive rate of a filter that is full.
const fullRate = 0.99

func addNoise(a bloomery.Adder, shape sizing.Shape, keys uint64, share float64, random io.Reader) (uint64, error) {
	switch {
	case !(share >= 0) || math.IsInf(share, 1):
		return 0, fmt.Errorf("bloom: add noise: %w: share %v is not a number from 0 on", bloomery.ErrParameter, share)
	case keys == math.MaxUint64:
		return 0, fmt.Errorf("bloom: add noise: %w: the filter is full, its keys cannot be counted", bloomery.ErrParameter)
	}
	want := math.Round(share * float64(keys))
	if rate := shape.Rate(float64(keys) + want); want > 0 && rate > fullRate {
		return 0, fmt.Errorf("bloom: add noise: %w: share %v of %d keys fills the filter: its false positive rate would be over %v",
			bloomery.ErrParameter, share, keys, fullRate)
	}
	if random == nil {
		random = rand.Reader
	}
	var hs [batch]uint64
	var raw [8 * batch]byte
	for done := uint64(0); done < uint64(want); {
		n := min(uint64(want)-done, batch)
		if _, err := io.ReadFull(random, raw[:8*n]); err != nil {
			return done, fmt.Errorf("bloom: add noise: %w", err)
		}
		for i := range hs[:n] {
			hs[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
		a.AddHashes(nil, hs[:n])
		done += n
	}
	return uint64(want), nil
}
