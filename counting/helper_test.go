package counting_test

import (
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

// insert inserts all of hs; it ends the test if one is refused.
func insert(tb testing.TB, f bloomery.Inserter, hs []uint64) {
	tb.Helper()
	for _, h := range hs {
		if err := f.InsertHash(h); err != nil {
			tb.Fatal(err)
		}
	}
}
