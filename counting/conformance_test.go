package counting_test

import (
	"io"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
)

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

// insert inserts all of hs; it ends the test if one is refused.
func insert(tb testing.TB, f bloomery.Inserter, hs []uint64) {
	tb.Helper()
	for _, h := range hs {
		if err := f.InsertHash(h); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestFilterConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name:  "counting",
		Rates: []float64{1e-2, 1e-3, 1e-4, 1e-6},
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := counting.Config{Capacity: n, ErrorRate: p}.New()
			if err != nil {
				return nil, err
			}
			insert(t, f, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return counting.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.New()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := counting.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.New()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f counting.Filter
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return counting.Config{}.View(data) },
		Union: func(a, b bloomery.Hashed) error { return a.(*counting.Filter).Merge(b.(*counting.Filter)) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*counting.Filter).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*counting.Filter).Clear() },
	})
}

func TestSpectralConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name:  "spectral",
		Rates: []float64{1e-2, 1e-3}, // lookups are Filter's
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := counting.Config{Capacity: n, ErrorRate: p}.NewSpectral()
			if err != nil {
				return nil, err
			}
			insert(t, f, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return counting.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewSpectral()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := counting.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.NewSpectral()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f counting.Spectral
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return counting.Config{}.ViewSpectral(data) },
		Union: func(a, b bloomery.Hashed) error { return a.(*counting.Spectral).Merge(b.(*counting.Spectral)) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*counting.Spectral).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*counting.Spectral).Clear() },
	})
}

func TestStableConformance(t *testing.T) {
	// The suite makes 100,000 filters for 10 keys. To find their size, which
	// takes longer than all the rest, once is enough.
	type size struct {
		n int
		p float64
	}
	var empty sync.Map
	filtertest.Test(t, filtertest.Kind{
		Name:    "stable",
		Rates:   []float64{1e-2, 1e-3}, // lookups are Filter's
		Forgets: true,
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			e, ok := empty.Load(size{n, p})
			if !ok {
				f, err := counting.Config{Capacity: n, ErrorRate: p}.NewStable()
				if err != nil {
					return nil, err
				}
				e = f
				empty.Store(size{n, p}, e)
			}
			f := e.(*counting.Stable).Clone()
			insert(t, f, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return counting.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewStable()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := counting.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.NewStable()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f counting.Stable
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return counting.Config{}.ViewStable(data) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*counting.Stable).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*counting.Stable).Clear() },
	})
}
