package bloom_test

import (
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
)

func TestFilterConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name: "bloom",
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: n, ErrorRate: p}.New()
			if err != nil {
				return nil, err
			}
			f.AddHashes(nil, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.New()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.New()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f bloom.Filter
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return bloom.Config{}.View(data) },
		Union: func(a, b bloomery.Hashed) error { return a.(*bloom.Filter).Union(b.(*bloom.Filter)) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*bloom.Filter).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*bloom.Filter).Clear() },
	})
}

func TestStandardConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name: "standard",
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: n, ErrorRate: p}.NewStandard()
			if err != nil {
				return nil, err
			}
			f.AddHashes(nil, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewStandard()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.NewStandard()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f bloom.Standard
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return bloom.Config{}.ViewStandard(data) },
		Union: func(a, b bloomery.Hashed) error { return a.(*bloom.Standard).Union(b.(*bloom.Standard)) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*bloom.Standard).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*bloom.Standard).Clear() },
	})
}

func TestSplitConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name: "split",
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: n, ErrorRate: p}.NewSplit()
			if err != nil {
				return nil, err
			}
			f.AddHashes(nil, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewSplit()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.NewSplit()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f bloom.Split
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return bloom.Config{}.ViewSplit(data) },
		Union: func(a, b bloomery.Hashed) error { return a.(*bloom.Split).Union(b.(*bloom.Split)) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*bloom.Split).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*bloom.Split).Clear() },
	})
}

func TestPartitionedConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name: "partitioned",
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: n, ErrorRate: p}.NewPartitioned()
			if err != nil {
				return nil, err
			}
			f.AddHashes(nil, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewPartitioned()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.NewPartitioned()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f bloom.Partitioned
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return bloom.Config{}.ViewPartitioned(data) },
		Union: func(a, b bloomery.Hashed) error { return a.(*bloom.Partitioned).Union(b.(*bloom.Partitioned)) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*bloom.Partitioned).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*bloom.Partitioned).Clear() },
	})
}

// The suite makes filters of one layer; that of many is in scalable_test.go, as
// is Union, which does not give what adding all keys to one filter would.
func TestScalableConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name: "scalable",
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: n, ErrorRate: p}.NewScalable()
			if err != nil {
				return nil, err
			}
			f.AddHashes(nil, hs)
			return f, nil
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewScalable()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.NewScalable()
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f bloom.Scalable
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View:  func(data []byte) (filtertest.View, error) { return bloom.Config{}.ViewScalable(data) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*bloom.Scalable).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*bloom.Scalable).Clear() },
	})
}
