package snapshot

import (
	"math/rand/v2"
	"testing"
)

// TestSums asks that a sum is that of contents, however they are cut, and that it is
// another one when a byte is.
func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		data := make([]byte, rng.IntN(100))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		want := addSum(0, 0, data)
		var pieces [][2]int
		for at := 0; at < len(data); {
			n := 1 + rng.IntN(len(data)-at)
			pieces = append(pieces, [2]int{at, at + n})
			at += n
		}
		rng.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		got := uint64(0)
		for _, p := range pieces {
			got = addSum(got, int64(p[0]), data[p[0]:p[1]])
		}
		if got != want {
			t.Fatalf("%d bytes in pieces %v: sum %x, want %x", len(data), pieces, got, want)
		}
		if len(data) > 0 {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
			if addSum(0, 0, data) == want {
				t.Fatalf("%d bytes, of which one is another one, have the same sum", len(data))
			}
		}
	}
}

// TestFactorsStay checks factors against the first numbers of SplitMix64 with seed 0:
// machines of different releases compare sums.
func TestFactorsStay(t *testing.T) {
	step := uint64(0x9e3779b97f4a7c15)
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4 | 1, 0x06c45d188009454f} {
		if got := factor(uint64(i) * step); got != want {
			t.Errorf("factor %d is %#x, want %#x", i, got, want)
		}
	}
}
