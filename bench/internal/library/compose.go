package library

import (
	"encoding"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/measuring"
	"github.com/bloomery/bloomery/quotient"
)

// hashedLibrary returns the library of filters that are asked by hash; codec
// reads them, whatever they consist of. before is called with the number of keys
// before each is added; it may be nil.
func hashedLibrary(name string, create func(n int, p float64) (bloomery.Hashed, error), before func(f bloomery.Hashed, keys, n int)) Library {
	wrap := func(f bloomery.Hashed, n int) Filter {
		keys := 0
		return Filter{
			Subject: measuring.Subject{
				Add: func(list [][]byte) {
					for _, key := range list {
						if before != nil {
							before(f, keys, n)
						}
						put(f, f.Hash(key))
						keys++
					}
				},
				Contains: func(dst []bool, list [][]byte) {
					hs := make([]uint64, len(list))
					for i, key := range list {
						hs[i] = f.Hash(key)
					}
					f.ContainsHashes(dst, hs)
				},
			},
			Bits:   func() uint64 { return f.Stats().Bits },
			Encode: func() ([]byte, error) { return f.(encoding.BinaryMarshaler).MarshalBinary() },
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
			return wrap(f, int(n)), nil
		},
		Decode: func(data []byte) (Filter, error) {
			f, err := codec.Open(data)
			if err != nil {
				return Filter{}, err
			}
			return wrap(f, 1), nil
		},
		Hostile: claimTerabytes,
	}
}

// put adds or inserts a key, as its family does.
func put(f bloomery.Hashed, h uint64) {
	if a, ok := f.(bloomery.Adder); ok {
		a.AddHash(h)
		return
	}
	if err := f.(bloomery.Inserter).InsertHash(h); err != nil {
		panic(err)
	}
}

// windowParts is how many generations the keys of a window come in.
const windowParts = 6

// window gets its keys over one span.
func window() Library {
	l := hashedLibrary("compose.Window", func(n int, p float64) (bloomery.Hashed, error) {
		return hashedOf(compose.WindowConfig{Capacity: n, ErrorRate: p, Generations: windowParts}.New())
	}, func(f bloomery.Hashed, keys, n int) {
		f.(*compose.Window).Advance(uint64(keys * windowParts / n))
	})
	l.Sizing = "gets the keys of its span in six generations"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

func quorum() Library {
	l := hashedLibrary("compose.Quorum", func(n int, p float64) (bloomery.Hashed, error) {
		return hashedOf(compose.QuorumConfig{Capacity: n, ErrorRate: p}.New())
	}, nil)
	l.Sizing = "is two of three filters; the rate is the joint one"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

func striped() Library {
	l := hashedLibrary("compose.Striped", func(n int, p float64) (bloomery.Hashed, error) {
		return hashedOf(compose.StripedConfig{Capacity: n, Make: func(n int) (bloomery.Hashed, error) {
			return hashedOf(cuckoo.Config{Capacity: n, ErrorRate: p}.New())
		}}.New())
	}, nil)
	l.Sizing = "has 64 cuckoo filters with a lock each"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

func layers() Library {
	l := hashedLibrary("compose.Layers", func(n int, p float64) (bloomery.Hashed, error) {
		first, err := bloom.Config{Capacity: n, ErrorRate: math.Sqrt(p)}.New()
		if err != nil {
			return nil, err
		}
		second, err := bloom.Config{Capacity: n, ErrorRate: math.Sqrt(p)}.New()
		if err != nil {
			return nil, err
		}
		return hashedOf(compose.NewLayers(nil, first, second))
	}, nil)
	l.Sizing = "is two filters with the square root of the rate"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

func corrected() Library {
	l := hashedLibrary("compose.Corrected", func(n int, p float64) (bloomery.Hashed, error) {
		f, err := bloom.Config{Capacity: n, ErrorRate: p}.New()
		if err != nil {
			return nil, err
		}
		return hashedOf(compose.NewCorrected(0, f))
	}, nil)
	l.Sizing = "is a bloom.Filter, and nothing is reported"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

func growing() Library {
	l := hashedLibrary("quotient.Growing", func(n int, p float64) (bloomery.Hashed, error) {
		return hashedOf(quotient.Config{Capacity: n, ErrorRate: p}.NewGrowing())
	}, nil)
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

// growingFar is a Growing that was made for a thousandth of the number of keys: it
// doubles ten times.
func growingFar() Library {
	l := hashedLibrary("quotient.Growing, grown", func(n int, p float64) (bloomery.Hashed, error) {
		if n > 0 {
			n = max(1, n/1000)
		}
		return hashedOf(quotient.Config{Capacity: n, ErrorRate: p}.NewGrowing())
	}, nil)
	l.Sizing = "is made for a thousandth of the keys and grows"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

// hashedOf is what a constructor returns as an interface.
func hashedOf[F bloomery.Hashed](f F, err error) (bloomery.Hashed, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
