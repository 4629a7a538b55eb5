package quotient_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

func TestGrowingConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name:   "growing",
		Rates:  []float64{1e-2, 1e-3, 1e-4, 1e-5},
		Coarse: true, // it keeps most of its rate for later generations
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			g, err := quotient.Config{Capacity: n, ErrorRate: p}.NewGrowing()
			if err == nil {
				_, err = g.InsertHashes(hs)
			}
			return g, err
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			return quotient.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.NewGrowing()
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return quotient.Config{Hasher: h}.DecodeGrowing(data)
		},
		Read:  func(r io.Reader) (bloomery.Hashed, error) { return quotient.Config{}.ReadGrowing(r) },
		View:  func(data []byte) (filtertest.View, error) { return quotient.Config{}.ViewGrowing(data) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return a.(*quotient.Growing).Clone() },
		Clear: func(a bloomery.Hashed) { a.(*quotient.Growing).Clear() },
	})
}

// TestGrowingGolden is TestGolden for filters that have grown: without elders,
// with elders, with a hint, with a key.
func TestGrowingGolden(t *testing.T) {
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	for name, c := range map[string]struct {
		config quotient.Config
		keys   int
	}{
		"v1-growing-1e-2":     {quotient.Config{Capacity: 30, ErrorRate: 1e-2}, 400},
		"v1-growing-elders":   {quotient.Config{Capacity: 1, ErrorRate: 0.5}, 3000},
		"v1-growing-expected": {quotient.Config{Capacity: 10, ErrorRate: 1e-2, Expected: 600}, 500},
		"v1-growing-keyed":    {quotient.Config{Capacity: 30, ErrorRate: 1e-3, Hasher: key}, 100},
		"v1-growing-empty":    {quotient.Config{Capacity: 30, ErrorRate: 1e-3}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := c.config.NewGrowing()
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.keys {
				for range 1 + i%40/38*i {
					if err := g.InsertString(fmt.Sprintf("key %d", i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := 0; i < c.keys; i += 7 {
				if !g.DeleteString(fmt.Sprintf("key %d", i)) {
					t.Fatalf("key %d is lost", i)
				}
			}
			data := golden(t, name, encoded(t, g))
			h, err := quotient.Config{Hasher: c.config.Hasher}.DecodeGrowing(data)
			if err != nil {
				t.Fatalf("the golden file is not read any more: %v", err)
			}
			for i := range c.keys {
				want := uint64(1 + i%40/38*i)
				if i%7 == 0 {
					want--
				}
				if got := h.CountString(fmt.Sprintf("key %d", i)); got < want {
					t.Errorf("key %d is there %d times, want %d", i, got, want)
				}
			}
		})
	}
}
