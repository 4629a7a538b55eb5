package library

import (
	"encoding"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/measuring"
	"github.com/bloomery/bloomery/quotient"
)

// inserting is what the families share whose keys are inserted.
type inserting interface {
	Insert(key []byte) error
	ContainsKeys(dst []bool, keys [][]byte)
	Stats() bloomery.Stats
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// insertingLibrary returns the library of a family: how a filter is made, and
// a zero one that decodes.
func insertingLibrary[F inserting](name string, create func(n int, p float64) (F, error), zero func() F) Library {
	wrap := func(f F) Filter {
		return Filter{
			Subject: measuring.Subject{
				Add: func(keys [][]byte) {
					for _, key := range keys {
						if err := f.Insert(key); err != nil {
							panic(err)
						}
					}
				},
				Contains: f.ContainsKeys,
			},
			Bits:   func() uint64 { return 8 * f.Stats().Bytes },
			Encode: f.MarshalBinary,
		}
	}
	return Library{
		Name: name,
		Ours: true,
		Make: func(n int64, p float64) (Filter, error) {
			f, err := create(int(n), p)
			if err != nil {
				return Filter{}, err
			}
			return wrap(f), nil
		},
		Decode: func(data []byte) (Filter, error) {
			f := zero()
			err := f.UnmarshalBinary(data)
			return wrap(f), err
		},
		Hostile: claimTerabytes,
	}
}

func countingFilter() Library {
	return insertingLibrary("counting.Filter", func(n int, p float64) (*counting.Filter, error) {
		return counting.Config{Capacity: n, ErrorRate: p}.New()
	}, func() *counting.Filter { return new(counting.Filter) })
}

func spectral() Library {
	return insertingLibrary("counting.Spectral", func(n int, p float64) (*counting.Spectral, error) {
		return counting.Config{Capacity: n, ErrorRate: p}.NewSpectral()
	}, func() *counting.Spectral { return new(counting.Spectral) })
}

// stable has seen twice as many other keys when its own come: it must remember
// these and keep its rate all the same.
func stable() Library {
	l := insertingLibrary("counting.Stable", func(n int, p float64) (*counting.Stable, error) {
		f, err := counting.Config{Capacity: n, ErrorRate: p}.NewStable()
		if err != nil {
			return nil, err
		}
		for i := range uint64(2 * n) {
			if err := f.InsertHash(xxh3.HashUint64(1<<62 + i)); err != nil {
				return nil, err
			}
		}
		return f, nil
	}, func() *counting.Stable { return new(counting.Stable) })
	l.Sizing = "is made for the last keys; twice as many others came before"
	return l
}

func cuckooFilter() Library {
	return insertingLibrary("cuckoo.Filter", func(n int, p float64) (*cuckoo.Filter, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: p}.New()
	}, func() *cuckoo.Filter { return new(cuckoo.Filter) })
}

func quotientFilter() Library {
	return insertingLibrary("quotient.Filter", func(n int, p float64) (*quotient.Filter, error) {
		return quotient.Config{Capacity: n, ErrorRate: p}.New()
	}, func() *quotient.Filter { return new(quotient.Filter) })
}
