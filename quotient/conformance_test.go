package quotient_test

import (
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

func TestConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name:  "quotient",
		Rates: []float64{1e-2, 1e-3, 1e-4, 1e-5}, // TestRareRate has 1e-6
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := quotient.Config{Capacity: n, ErrorRate: p}.New()
			if err != nil {
				return nil, err
			}
			for _, h := range hs {
				if err := f.InsertHash(h); err != nil {
					return nil, err
				}
			}
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return quotient.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.New()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := quotient.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.New()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f quotient.Filter
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return quotient.Config{}.View(data) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*quotient.Filter).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*quotient.Filter).Clear() },
	})
}

// At 1e-6 the suite would ask a billion times; a tenth of it is enough to see a
// rate that is a third too high.
func TestRareRate(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred million queries")
	}
	t.Parallel()
	const n, p, queries = 100_000, 1e-6, 100_000_000
	f := filled(t, hashes(n, 1), p)
	hasher := hashing.Seeded(2)
	hs, dst := make([]uint64, 4096), make([]bool, 4096)
	wrong := 0
	for first := uint64(0); first < queries; first += uint64(len(hs)) {
		for i := range hs {
			hs[i] = hasher.HashUint64(first + uint64(i))
		}
		f.ContainsHashes(dst, hs)
		for _, yes := range dst {
			if yes {
				wrong++
			}
		}
	}
	// 100 are expected, with a standard deviation of 10.
	if limit := 100 + 3*10; wrong > limit {
		t.Errorf("%d of %d queries are wrong, want at most %d", wrong, queries, limit)
	}
	if got := f.Stats().Predicted; got > p || got < p/2 {
		t.Errorf("Predicted = %g, asked for %g", got, p)
	}
}
