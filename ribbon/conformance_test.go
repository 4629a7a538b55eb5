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

func kind(c ribbon.Config) filtertest.Kind {
	return filtertest.Kind{
		Name: "ribbon",
		Make: func(hs []uint64, _ int, p float64) (bloomery.Hashed, error) {
			c := c // the suite runs in parallel
			c.ErrorRate = p
			return c.Build(context.Background(), hs)
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return ribbon.Config{ErrorRate: 0.01, Hasher: h}.Build(context.Background(), nil)
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := ribbon.Config{ErrorRate: 0.5, Hasher: h}.Build(context.Background(), nil)
			if err != nil {
				return nil, err
			}
			return f, f.UnmarshalBinary(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			var f ribbon.Filter
			_, err := f.ReadFrom(r)
			return &f, err
		},
		View: func(data []byte) (filtertest.View, error) { return ribbon.Config{}.View(data) },
	}
}

// Filters of several shards are in TestVariants and beside it.
func TestConformance(t *testing.T) {
	filtertest.Test(t, kind(ribbon.Config{}))
}

func TestConformanceWide(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of keys are built")
	}
	k := kind(ribbon.Config{Width: 128})
	k.Rates = []float64{1e-2} // others follow from the columns, as with rows of 64
	filtertest.Test(t, k)
}
