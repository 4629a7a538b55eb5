// Tests of the set of 128-bit hashes.

package dedupe_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
)

// TestPairsAgreeWithMap holds the set to a map from small to full and after
// clear, with hashes that are equal in one half or close together, and with 0.
func TestPairsAgreeWithMap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := dedupe.NewPairs(rapid.IntRange(8192, 24_000).Draw(r, "words"))
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		shift := rapid.SampledFrom([]int{0, 0, 1, 8, 40, 60}).Draw(r, "shift")
		for range 2 {
			seen := map[[2]uint64]bool{}
			hs, fresh := make([][2]uint64, 700), make([]bool, 700)
			for range 12 {
				for i := range hs {
					hs[i] = [2]uint64{rnd.Uint64N(100_000) * 0x9fb21c651e98df25 >> shift, rnd.Uint64N(2)}
				}
				done := s.AddAll(fresh, hs)
				for i, h := range hs[:done] {
					if fresh[i] == seen[stored(h)] {
						r.Fatalf("hash %#x new: %v", h, fresh[i])
					}
					seen[stored(h)] = true
				}
				if done < len(hs) {
					break // full
				}
			}
			for h := range seen {
				if !s.Contains(h) {
					r.Fatalf("hash %#x was forgotten", h)
				}
			}
			if s.Contains([2]uint64{3, 5}) {
				r.Fatal("a hash that was never added")
			}
			if !s.Clear() {
				r.Fatal("something is left behind clear")
			}
		}
	})
}

// stored is the hash that stands for another in the set.
func stored(h [2]uint64) [2]uint64 {
	if h == [2]uint64{} {
		return [2]uint64{0, 1}
	}
	return h
}

// TestPairsFillTheirRoom asks for the promised number of hashes: 16 bytes of
// each 20 or better.
func TestPairsFillTheirRoom(t *testing.T) {
	for _, words := range []int{8192, 100_001, 2_000_000} {
		s := dedupe.NewPairs(words)
		hs := make([][2]uint64, s.Room()+1)
		for i, h := range hashesUpTo(len(hs)) {
			hs[i] = [2]uint64{h, uint64(i)}
		}
		fresh := make([]bool, len(hs))
		if n := s.AddAll(fresh, hs); n != s.Room() || slices.Contains(fresh[:n], false) {
			t.Errorf("%d words: %d hashes, want %d, all new", words, n, s.Room())
		}
		if least := words * 8 / 20 * 9 / 10; s.Room() < least {
			t.Errorf("%d words: room for %d hashes, want %d", words, s.Room(), least)
		}
	}
}

// TestCollidingPairsEndTheSet gives hashes that all want one slot: the set ends
// early instead of becoming slow, and forgets none.
func TestCollidingPairsEndTheSet(t *testing.T) {
	for _, hi := range []uint64{0, 1 << 63, math.MaxUint64} {
		s := dedupe.NewPairs(500_000)
		hs := make([][2]uint64, 20_000)
		for i := range hs {
			hs[i] = [2]uint64{hi, uint64(i + 1)}
		}
		fresh := make([]bool, len(hs))
		n := s.AddAll(fresh, hs)
		if n == len(hs) || n < 1000 {
			t.Errorf("%#x: the set took %d hashes with one home", hi, n)
		}
		for _, h := range hs[:n] {
			if !s.Contains(h) {
				t.Fatalf("%#x: hash %d was forgotten", hi, h[1])
			}
		}
	}
}

func BenchmarkPairs(b *testing.B) {
	const n = 10_000_000
	hs := make([][2]uint64, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range hs {
		hs[i] = [2]uint64{r.Uint64(), r.Uint64()}
	}
	fresh := make([]bool, 4096)
	for b.Loop() {
		s := dedupe.NewPairs(32_000_000)
		for some := range slices.Chunk(hs, len(fresh)) {
			s.AddAll(fresh, some)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}

// TestPairsSortByBothHalves sorts hashes of which many have the same first half.
func TestPairsSortByBothHalves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := dedupe.NewPairs(1 << 14)
	var want [][2]uint64
	for range 500 {
		want = append(want, [2]uint64{rng.Uint64N(100) << 57, rng.Uint64()})
	}
	if n := p.AddAll(make([]bool, len(want)), want); n != len(want) {
		t.Fatalf("%d of %d hashes have room", n, len(want))
	}
	slices.SortFunc(want, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	for range 2 { // sorting leaves the set as it was
		if got := p.Sorted(); !slices.Equal(got, want) {
			t.Fatal("the hashes are not in ascending order")
		}
		for _, h := range want {
			if !p.Contains(h) {
				t.Fatalf("%x is not there after sorting", h)
			}
		}
	}
}
