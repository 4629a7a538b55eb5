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

// Each width is measured at the rates that it is chosen for, and asked for a
// rate far above its own.
func TestConformance8(t *testing.T)  { conformance[uint8](t, "fuse8", 3, 1e-2) }
func TestConformance16(t *testing.T) { conformance[uint16](t, "fuse16", 3, 1e-2, 1e-4) }
func TestConformance32(t *testing.T) { conformance[uint32](t, "fuse32", 3, 1e-2, 1e-5) }
func TestConformanceOfFourSlots(t *testing.T) {
	conformance[uint8](t, "fuse8", 4, 1e-2)
}

func conformance[T fuse.Fingerprint](t *testing.T, name string, arity int, rates ...float64) {
	t.Helper()
	if testing.Short() && (name != "fuse8" || arity > 3) {
		t.Skip("one of four with -short")
	}
	filtertest.Test(t, filtertest.Kind{
		Name:   name,
		Rates:  rates,
		Coarse: true,
		Make: func(hs []uint64, _ int, p float64) (bloomery.Hashed, error) {
			return fuse.Config[T]{ErrorRate: p, Arity: arity}.Build(t.Context(), slices.Clone(hs))
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return fuse.Config[T]{Hasher: h, Arity: arity}.Build(t.Context(), nil)
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := fuse.Config[T]{Hasher: h}.Build(t.Context(), nil)
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f fuse.Filter[T]
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View: func(data []byte) (filtertest.View, error) { return fuse.Config[T]{}.View(data) },
	})
}
