package cuckoo_test

import (
	"testing"

	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// The files in testdata are the contract of the format, see package golden.
func TestGolden(t *testing.T) {
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	for name, config := range map[string]cuckoo.Config{
		"v1-cuckoo-1e-2":   {Capacity: 80, ErrorRate: 1e-2}, // whole bytes
		"v1-cuckoo-1e-3":   {Capacity: 80, ErrorRate: 1e-3}, // half bytes
		"v1-cuckoo-1e-6":   {Capacity: 80, ErrorRate: 1e-6}, // two words
		"v1-cuckoo-full":   {Buckets: 22, Width: 8},         // keys were moved
		"v1-cuckoo-seeded": {Capacity: 80, ErrorRate: 0.1, Hasher: hashing.Seeded(42)},
		"v1-cuckoo-keyed":  {Capacity: 80, ErrorRate: 0.1, Hasher: key},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := func() *cuckoo.Filter {
				f, err := config.New()
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			f := fresh()
			keys := golden.Hashes(80, f.Hash)
			if _, err := f.InsertHashes(keys); err != nil {
				t.Fatal(err)
			}
			golden.Filter(t, name, f, fresh(), keys)
		})
	}
}
