package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMarks compares every tier with a loop over bytes, for lengths around whole words
// and bytes that differ in one bit, misaligned, with a guard behind dst.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 300, 1000} {
		for _, b := range []byte{0, '\n', 0x7f, 0x80, 0xff} {
			data := make([]byte, n+3)[n%4:][:n]
			for i := range data {
				data[i] = []byte{b, b ^ 1, b ^ 0x80, b + 1, byte(r.Uint32())}[r.IntN(5)]
			}
			want := make([]uint64, (n+Marked-1)/Marked+1)
			want[len(want)-1] = 7
			for i, c := range data {
				if c == b {
					want[i/Marked] |= 1 << (i % Marked)
				}
			}
			for _, tier := range tiers() {
				use(t, tier)
				got := make([]uint64, len(want))
				for i := range got {
					got[i] = 7
				}
				Marks(got, data, b)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %d bytes, %#x: %x, want %x", tier, n, b, got, want)
				}
			}
		}
	}
}
