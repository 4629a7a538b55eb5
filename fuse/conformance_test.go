package fuse_test

import (
	"io"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

// Keys of three slots are tested with all kinds in package codec.
func TestConformanceOfFourSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("three slots will do with -short")
	}
	const arity = 4
	filtertest.Test(t, filtertest.Kind{
		Name:   "fuse8",
		Rates:  []float64{1e-2},
		Coarse: true,
		Make: func(hs []uint64, _ int, p float64) (bloomery.Hashed, error) {
			return fuse.Config[uint8]{ErrorRate: p, Arity: arity}.Build(t.Context(), slices.Clone(hs))
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return fuse.Config[uint8]{Hasher: h, Arity: arity}.Build(t.Context(), nil)
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return fuse.Config[uint8]{Hasher: h}.Decode(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			return fuse.Config[uint8]{}.Read(r)
		},
		View: func(data []byte) (bloomery.View, error) { return fuse.Config[uint8]{}.View(data) },
	})
}
