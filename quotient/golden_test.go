package quotient_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/quotient"
)

// The files in testdata are the contract of the format, see package golden.
func TestGolden(t *testing.T) {
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	for name, c := range map[string]struct {
		config  quotient.Config
		doubled int
	}{
		"v1-quotient-1e-2":    {quotient.Config{Capacity: 400, ErrorRate: 1e-2}, 0},
		"v1-quotient-1e-6":    {quotient.Config{Capacity: 400, ErrorRate: 1e-6}, 0},
		"v1-quotient-resized": {quotient.Config{Capacity: 400, ErrorRate: 1e-2, Doublings: 1}, 700},
		"v1-quotient-narrow":  {quotient.Config{Capacity: 1000, ErrorRate: 0.4}, 0}, // counts by repetition
		"v1-quotient-keyed":   {quotient.Config{Capacity: 400, ErrorRate: 1e-3, Hasher: key}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := config(t, c.config)
			for i := range 80 {
				for range 1 + i%10*(i%3)*i { // up to 1,423 times
					if err := f.InsertString(fmt.Sprintf("key %d", i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if c.doubled > 0 {
				if err := f.Resize(c.doubled); err != nil {
					t.Fatal(err)
				}
			}
			g := config(t, c.config)
			golden.Filter(t, name, f, g, golden.Hashes(80, f.Hash))
			for i := range 80 {
				k := fmt.Sprintf("key %d", i)
				if got, want := g.CountString(k), uint64(1+i%10*(i%3)*i); got < want {
					t.Errorf("%q is there %d times, want %d", k, got, want)
				}
			}
		})
	}
}
