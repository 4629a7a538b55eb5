package cuckoo_test

import (
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
)

func TestConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name: "cuckoo",
		// One rate each for buckets of one word and of two; others have the
		// same code.
		Rates:    []float64{1e-2, 1e-3, 1e-4, 1e-5},
		Distinct: true,
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := cuckoo.Config{Capacity: n, ErrorRate: p}.New()
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
			return cuckoo.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.New()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := cuckoo.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.New()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f cuckoo.Filter
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return cuckoo.Config{}.View(data) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*cuckoo.Filter).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*cuckoo.Filter).Clear() },
	})
}
