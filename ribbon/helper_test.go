package ribbon_test

import (
	"context"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
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

// built returns the filter of c that holds hs.
func built(tb testing.TB, c ribbon.Config, hs []uint64) *ribbon.Filter {
	tb.Helper()
	c.Scratch, c.Memory = nil, 0 // of a Stream
	f, err := c.Build(context.Background(), hs)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// encoded returns the encoding of f.
func encoded(tb testing.TB, f *ribbon.Filter) []byte {
	tb.Helper()
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// forgotten returns how many of hs the filter denies, asked one by one or in a
// batch.
func forgotten(f *ribbon.Filter, hs []uint64) (n int) {
	dst := make([]bool, len(hs))
	f.ContainsHashes(dst, hs)
	for i, h := range hs {
		if !dst[i] || !f.ContainsHash(h) {
			n++
		}
	}
	return n
}
