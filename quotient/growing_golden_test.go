package quotient_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/quotient"
)

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
			data := golden.File(t, name, encoded(t, g))
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
