package ribbon_test

import (
	"context"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

// Rows of 64 coefficients are tested with all kinds in package codec, filters
// of several shards in TestVariants and beside it.
func TestConformanceWide(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of keys are built")
	}
	filtertest.Test(t, filtertest.Kind{
		Name:  "ribbon",
		Rates: []float64{1e-2}, // others follow from the columns, as with rows of 64
		Make: func(hs []uint64, _ int, p float64) (bloomery.Hashed, error) {
			return ribbon.Config{ErrorRate: p, Width: 128}.Build(context.Background(), hs)
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return ribbon.Config{ErrorRate: 0.01, Width: 128, Hasher: h}.Build(context.Background(), nil)
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return ribbon.Config{Hasher: h}.Decode(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) { return ribbon.Config{}.Read(r) },
		View: func(data []byte) (bloomery.View, error) { return ribbon.Config{}.View(data) },
	})
}
