package teach

// Filters of bits with their arrays.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/sizing"
)

// adder is a filter of bits.
type adder interface {
	bloomery.Hashed
	bloomery.Adder
}

// bitFilter is a Bloom filter with its array.
type bitFilter struct {
	adder
	array
	fresh   func() (adder, *array, error) // an empty one of the same shape
	bits    int
	drawing []Panel
}

// bitFilters returns how to make a kind from its constructor.
func bitFilters[F adder](name string, build func(bloom.Config) (F, error)) func(int, int) (machine, error) {
	return func(bits, hashes int) (machine, error) {
		b := &bitFilter{bits: bits}
		b.fresh = func() (adder, *array, error) {
			var a array
			f, err := build(bloom.Config{Bits: uint64(bits), Hashes: hashes, Alloc: a.take})
			return f, &a, err
		}
		f, a, err := b.fresh()
		if err != nil {
			return nil, err
		}
		each := bits
		switch name {
		case "block":
			each = sizing.BlockBits
		case "slice": // rounded up to slices of the same length
			b.bits = int(f.Stats().Bits)
			each = b.bits / hashes
		}
		b.adder, b.array, b.drawing = f, *a, panelsOf(name, b.bits, each)
		return b, nil
	}
}

func (b *bitFilter) add(key string) error {
	b.AddHash(b.Hash([]byte(key)))
	return nil
}

func (b *bitFilter) has(key string) bool   { return b.Contains([]byte(key)) }
func (b *bitFilter) values() []int         { return b.bitValues(b.bits) }
func (b *bitFilter) panels() []Panel       { return b.drawing }
func (b *bitFilter) stats() bloomery.Stats { return b.Stats() }
func (b *bitFilter) fills()                {}

func (b *bitFilter) place(key string) place {
	f, a, err := b.fresh()
	if err != nil {
		return place{}
	}
	f.AddHash(f.Hash([]byte(key)))
	return place{cells: a.ones(b.bits)}
}
