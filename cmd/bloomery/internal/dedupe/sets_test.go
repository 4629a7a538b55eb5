// Tests of the sets of long hashes: shortSet and pairSet.

package dedupe_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
)

// hashSet is what both sets have in common.
type hashSet interface {
	AddAll(fresh []bool, hs [][2]uint64) int
	Contains(h [2]uint64) bool
	Clear() (clean bool)
}

// sets are both of them, each in so many words.
var sets = map[string]func(testing.TB, int) hashSet{
	"short": func(tb testing.TB, words int) hashSet { return newShorts(tb, words) },
	"pair":  func(_ testing.TB, words int) hashSet { return dedupe.NewPairs(words) },
}

func newShorts(tb testing.TB, words int) *dedupe.Shorts {
	tb.Helper()
	s, err := dedupe.NewShorts(words)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestSetsAgreeWithMap holds the sets to a map from small to full and after clear,
// with hashes that begin alike or are equal in one half, and with 0.
func TestSetsAgreeWithMap(t *testing.T) {
	for name, newSet := range sets {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				s := newSet(t, rapid.IntRange(8192, 40_000).Draw(r, "words")&^7)
				rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
				shift := rapid.SampledFrom([]int{0, 0, 1, 8, 20, 40, 60}).Draw(r, "shift")
				for range 2 {
					agreeWithMap(r, s, func() [2]uint64 {
						return [2]uint64{rnd.Uint64N(50_000) * 0x9fb21c651e98df25 >> shift, rnd.Uint64N(2) << 63}
					})
				}
			})
		})
	}
}

// agreeWithMap adds hashes to a set and a map until the set is full, compares them,
// and clears the set.
func agreeWithMap(r *rapid.T, s hashSet, draw func() [2]uint64) {
	seen := map[[2]uint64]bool{}
	hs, fresh := make([][2]uint64, 700), make([]bool, 700)
	for range 20 {
		for i := range hs {
			hs[i] = draw()
		}
		done := s.AddAll(fresh, hs)
		for i, h := range hs[:done] {
			if fresh[i] == seen[h] {
				r.Fatalf("hash %#x new: %v", h, fresh[i])
			}
			seen[h] = true
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
	if s.Contains([2]uint64{3, 5 << 60}) {
		r.Fatal("a hash that was never added")
	}
	if !s.Clear() {
		r.Fatal("something is left behind clear")
	}
}

// TestShortsKeepBits asks that two hashes which differ in one of the bits that are
// compared are two, whatever the size of the set.
func TestShortsKeepBits(t *testing.T) {
	for _, words := range []int{1024, 8 * 64 << 13} {
		s := newShorts(t, words)
		if want := map[int]int{1024: 73, 8 * 64 << 13: 85}[words]; s.Bits() != want {
			t.Errorf("%d words: %d bits, want %d", words, s.Bits(), want)
		}
		for bit := range s.Bits() {
			h := [2]uint64{0x0123456789abcdef, 0xfedcba9876543210}
			h[bit/64] ^= 1 << (63 - bit%64)
			if fresh := make([]bool, 1); s.AddAll(fresh, [][2]uint64{h}) != 1 || !fresh[0] {
				t.Errorf("%d words: bit %d is not compared", words, bit)
			}
		}
	}
}

// TestShortsFillTheirRoom asks for 11 bytes a hash or less in a set that is full, and
// for little more than 13 in one that grows.
func TestShortsFillTheirRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hs := make([][2]uint64, 4_000_000)
	for i := range hs {
		hs[i] = [2]uint64{r.Uint64(), r.Uint64()}
	}
	fresh := make([]bool, len(hs))
	for _, words := range []int{100_000, 2_000_000} {
		s := newShorts(t, words)
		n := s.AddAll(fresh, hs)
		if n > words*8/9 || n < words*8/12 || slices.Contains(fresh[:n], false) {
			t.Errorf("%d words: %d hashes", words, n)
		}
	}
	s := newShorts(t, 40_000_000)
	worst := 0.0
	for from := 0; from < len(hs); from += 100_000 {
		if n := s.AddAll(fresh, hs[from:from+100_000]); n < 100_000 {
			t.Fatalf("no room for hash %d", from+n)
		}
		if used := s.Size(); used > 40<<20 {
			worst = max(worst, float64(used)/float64(from+100_000))
		}
	}
	if worst > 13.2 {
		t.Errorf("%.1f bytes a hash", worst)
	}
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

// TestCollidingHashesEndTheSets gives hashes that all want one place: a set ends early
// instead of becoming slow, and forgets none.
func TestCollidingHashesEndTheSets(t *testing.T) {
	for name, newSet := range sets {
		for _, hi := range []uint64{0, 1 << 63, math.MaxUint64} {
			s := newSet(t, 100_000)
			hs := make([][2]uint64, 20_000)
			for i := range hs {
				hs[i] = [2]uint64{hi ^ uint64(i), 1}
			}
			fresh := make([]bool, len(hs))
			n := s.AddAll(fresh, hs)
			if n == len(hs) || n < 400 {
				t.Errorf("%s: %#x: the set took %d hashes with one home", name, hi, n)
			}
			for _, h := range hs[:n] {
				if !s.Contains(h) {
					t.Fatalf("%s: %#x: hash %#x was forgotten", name, hi, h)
				}
			}
		}
	}
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

// TestNumbersFarApart writes numbers of lines that have more lines between them than
// a record can express.
func TestNumbersFarApart(t *testing.T) {
	want := []uint64{0, 1, 5, 1 << 20, math.MaxUint32 - 1, 1 << 32, 1<<33 - 2, 1<<33 - 1, 7 << 33}
	for _, hashes := range []bool{false, true} {
		for from := range want {
			got, err := dedupe.Numbers(dedupe.NewFullDisk(math.MaxInt), want[from:], hashes)
			if err != nil || !slices.Equal(got, want[from:]) {
				t.Errorf("%d: %d, %v", want[from:], got, err)
			}
		}
	}
}

func BenchmarkSets(b *testing.B) {
	const n = 10_000_000
	hs := make([][2]uint64, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range hs {
		hs[i] = [2]uint64{r.Uint64(), r.Uint64()}
	}
	fresh := make([]bool, 4096)
	for name, newSet := range sets {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := newSet(b, 32_000_000)
				for some := range slices.Chunk(hs, len(fresh)) {
					s.AddAll(fresh, some)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}
