package library

import (
	"context"
	"encoding"
	"math"
	"unsafe"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/measuring"
	"github.com/bloomery/bloomery/ribbon"
)

// static is what the families share that are built once from all hashes.
type static interface {
	ContainsKeys(dst []bool, keys [][]byte)
	Stats() bloomery.Stats
	encoding.BinaryMarshaler
}

// builder collects the hashes of keys until it is asked.
type builder struct {
	hasher hashing.Hasher
	hashes []uint64
	build  func(hashes []uint64) (static, error)
	made   static
}

func (b *builder) add(keys [][]byte) {
	for _, key := range keys {
		b.hashes = append(b.hashes, b.hasher.Hash(key))
	}
}

// filter returns the filter of all keys, built when it is first asked for.
func (b *builder) filter() static {
	if b.made == nil {
		f, err := b.build(b.hashes)
		if err != nil {
			panic(err)
		}
		b.made, b.hashes = f, nil
	}
	return b.made
}

// staticLibrary returns the library of a static family: how a filter with an
// error rate is built from hashes, and how one is read.
func staticLibrary(name string, build func(hashes []uint64, p float64) (static, error), decode func(data []byte) (static, error)) Library {
	wrap := func(b *builder) Filter {
		return Filter{
			Subject: measuring.Subject{
				Add:      b.add,
				Contains: func(dst []bool, keys [][]byte) { b.filter().ContainsKeys(dst, keys) },
			},
			Bits:   func() uint64 { return 8 * b.filter().Stats().Bytes },
			Encode: func() ([]byte, error) { return b.filter().MarshalBinary() },
		}
	}
	return Library{
		Name:       name,
		Ours:       true,
		NoCapacity: true,
		Make: func(_ int64, p float64) (Filter, error) {
			// A rate that cannot be had shows without keys as well.
			if _, err := build(nil, p); err != nil {
				return Filter{}, err
			}
			return wrap(&builder{build: func(hs []uint64) (static, error) { return build(hs, p) }}), nil
		},
		Decode: func(data []byte) (Filter, error) {
			f, err := decode(data)
			return wrap(&builder{made: f}), err
		},
		Hostile: claimTerabytes,
	}
}

// fuseFilter is a fuse filter with fingerprints of one width, which is made for
// rates from its own on.
func fuseFilter[T fuse.Fingerprint](name string) Library {
	l := staticLibrary(name, func(hashes []uint64, p float64) (static, error) {
		if p == 0 {
			p = math.SmallestNonzeroFloat64 // 0 stands for the rate of T
		}
		return fuse.Config[T]{ErrorRate: p}.Build(context.Background(), hashes)
	}, func(data []byte) (static, error) {
		f := new(fuse.Filter[T])
		return f, f.UnmarshalBinary(data)
	})
	l.Lowest = math.Ldexp(1, -8*int(unsafe.Sizeof(T(0))))
	return l
}

func ribbonFilter(name string, width int) Library {
	return staticLibrary(name, func(hashes []uint64, p float64) (static, error) {
		return ribbon.Config{ErrorRate: p, Width: width}.Build(context.Background(), hashes)
	}, func(data []byte) (static, error) {
		f := new(ribbon.Filter)
		return f, f.UnmarshalBinary(data)
	})
}

// ribbonMap gives every key a value of 8 bits, its lowest.
func ribbonMap() Library {
	l := staticLibrary("ribbon.Map", func(hashes []uint64, p float64) (static, error) {
		if p == 1 {
			p = math.Inf(1) // 1 stands for a map that knows no absent keys
		}
		values := make([]uint32, len(hashes))
		for i, h := range hashes {
			values[i] = uint32(h & 0xff)
		}
		return ribbon.Config{ErrorRate: p, ValueBits: 8}.BuildMap(context.Background(), hashes, values)
	}, func(data []byte) (static, error) {
		f := new(ribbon.Map)
		return f, f.UnmarshalBinary(data)
	})
	l.Sizing = "has values of 8 bits"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}

// exactFilter has ten keys out for each that is in. The rate is that of keys in neither set.
func exactFilter() Library {
	l := staticLibrary("exact.Filter", func(hashes []uint64, p float64) (static, error) {
		out := make([]uint64, 10*len(hashes))
		for i := range out {
			out[i] = bloomery.Salted(uint64(i), 0x6f7574)
		}
		if p == 0 {
			p = math.SmallestNonzeroFloat64 // 0 stands for the best rate
		}
		return exact.Config{ErrorRate: p}.Build(context.Background(), hashes, out)
	}, func(data []byte) (static, error) {
		f := new(exact.Filter)
		return f, f.UnmarshalBinary(data)
	})
	l.Sizing = "has ten keys out for each that is in; the rate is that of others"
	l.Lowest, l.Fewest = 1e-4, 1000
	return l
}
