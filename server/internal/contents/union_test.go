package contents

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestOrBytes unites arrays of all lengths up to some words, and asks whether that has changed them.
func TestOrBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		dst, src := make([]byte, n+3), make([]byte, n)
		for i := range src {
			src[i], dst[i] = byte(rng.Uint32()), byte(rng.Uint32())
		}
		want := bytes.Clone(dst)
		for i, b := range src {
			want[i] |= b
		}
		for _, changed := range []bool{!bytes.Equal(want, dst), false} {
			if got := orBytes(dst, src); got != changed || !bytes.Equal(dst, want) {
				t.Fatalf("%d bytes: changed %t, want %t", n, got, changed)
			}
		}
		for i := range src { // each bit counts
			dst[i] ^= src[i] & -src[i]
			if got := orBytes(dst, src); got != (src[i] != 0) || !bytes.Equal(dst, want) {
				t.Fatalf("byte %d of %d: changed %t", i, n, got)
			}
		}
	}
}
