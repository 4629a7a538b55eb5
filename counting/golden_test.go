package counting_test

import (
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// The files in testdata are the contract of the format, see package golden.
func TestGolden(t *testing.T) {
	type filter interface {
		bloomery.Hashed
		bloomery.Inserter
		golden.Encoded
	}
	made := func(f filter, err error) filter {
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	cases := map[string]func() filter{
		"v1-counting-1e-2": func() filter { return counting.New(60, 1e-2) },
		"v1-counting-1e-4": func() filter { return counting.New(60, 1e-4) }, // two bits in some lanes
		"v1-counting-2-bits": func() filter {
			f, err := counting.Config{Capacity: 20, ErrorRate: 0.1, CounterBits: 2, Hasher: hashing.Seeded(42)}.New()
			return made(f, err)
		},
		"v1-spectral-1e-1": func() filter { return counting.NewSpectral(20, 0.1) },
		"v1-spectral-8-bits": func() filter {
			f, err := counting.Config{Capacity: 60, ErrorRate: 1e-4, CounterBits: 8}.NewSpectral()
			return made(f, err)
		},
		"v1-stable-1e-2": func() filter { return counting.NewStable(60, 1e-2) },
		"v1-stable-1-bit": func() filter {
			f, err := counting.Config{Capacity: 70, ErrorRate: 1e-4, CounterBits: 1}.NewStable()
			return made(f, err)
		},
		"v1-counting-keyed": func() filter {
			f, err := counting.Config{Capacity: 20, ErrorRate: 0.1, CounterBits: 16, Hasher: key}.New()
			return made(f, err)
		},
	}
	for name, fresh := range cases {
		t.Run(name, func(t *testing.T) {
			f := fresh()
			keys := golden.Hashes(80, f.Hash)
			for i, h := range keys {
				for range 1 + i%3 {
					_ = f.InsertHash(h) // it may be counted no further
				}
			}
			golden.Filter(t, name, f, fresh(), keys)
		})
	}
}
