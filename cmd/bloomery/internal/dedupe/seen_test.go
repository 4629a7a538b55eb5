// Tests of Seen and its set of hashes.

package dedupe_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
)

// hashesUpTo returns the hashes of n numbers.
func hashesUpTo(n int) []uint64 {
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = hashing.Hasher{}.HashUint64(uint64(i))
	}
	return hs
}

// TestSeenAgreesWithMap holds the set to a map while it grows from small to
// full, with hashes that collide in their upper bits, and with 0.
func TestSeenAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newSeen(t, dedupe.MinMemory+8*rapid.IntRange(0, 1000).Draw(r, "words"), 1e-6)
		seed := rapid.Uint64().Draw(r, "seed")
		rnd := rand.New(rand.NewPCG(seed, 0))
		shift := rapid.SampledFrom([]int{0, 0, 1, 8, 40, 60}).Draw(r, "shift")
		seen := map[uint64]bool{}
		hs, fresh := make([]uint64, 500), make([]bool, 500)
		for range 12 {
			for i := range hs {
				hs[i] = rnd.Uint64N(8_000) * 0x9fb21c651e98df25 >> shift
			}
			n := rapid.IntRange(0, len(hs)).Draw(r, "n")
			s.AddHashes(fresh, hs[:n])
			if s.Filtered() {
				return
			}
			for i, h := range hs[:n] {
				if fresh[i] == seen[h] {
					r.Fatalf("hash %#x told new: %v", h, fresh[i])
				}
				seen[h] = true
			}
			if s.Count() != len(seen) {
				r.Fatalf("Count() = %d, want %d", s.Count(), len(seen))
			}
		}
	})
}

// TestSeenFillsItsRoom asks for the promised number of hashes before the change.
func TestSeenFillsItsRoom(t *testing.T) {
	for _, memory := range []int{dedupe.MinMemory, 1 << 20, 3_000_001, 16 << 20} {
		s := newSeen(t, memory, 1e-6)
		hs := hashesUpTo(s.Room() + 1)
		fresh := make([]bool, len(hs))
		s.AddHashes(fresh[:s.Room()], hs[:s.Room()])
		if s.Filtered() || s.Count() != s.Room() || slices.Contains(fresh[:s.Room()], false) {
			t.Errorf("memory %d: %d of %d hashes, filtered: %v", memory, s.Count(), s.Room(), s.Filtered())
		}
		if got, least := s.Room(), memory/10*9/10; got < least {
			t.Errorf("memory %d: room for %d hashes, want %d", memory, got, least)
		}
		s.AddHashes(fresh[:1], hs[s.Room():])
		if !s.Filtered() {
			t.Errorf("memory %d: no filter beyond %d hashes", memory, s.Room())
		}
	}
}

// TestChangeGivesTheFilterOfAllHashes compares the filter made in place with
// one that was made empty and got the same hashes.
func TestChangeGivesTheFilterOfAllHashes(t *testing.T) {
	for _, memory := range []int{dedupe.MinMemory, dedupe.MinMemory + 24, 1_234_567} {
		changed := newSeen(t, memory, 1e-4)
		filled, err := dedupe.Config{Memory: memory, ErrorRate: 1e-4, Expected: changed.Room() + 1}.New()
		if err != nil {
			t.Fatal(err)
		}
		if !filled.Filtered() {
			t.Fatal("more expected than there is room for, and no filter")
		}
		hs := append(hashesUpTo(changed.Room()+1000), 0)
		fresh := make([]bool, len(hs))
		changed.AddHashes(fresh, hs)
		filled.AddHashes(fresh, hs)
		if a, b := dedupe.FilterBytes(changed), dedupe.FilterBytes(filled); !bytes.Equal(a, b) {
			t.Errorf("memory %d: the filters differ", memory)
		}
		changed.AddHashes(fresh, hs)
		if slices.Contains(fresh, true) {
			t.Errorf("memory %d: a hash was forgotten", memory)
		}
	}
}

// TestCollidingHashesEndTheSet gives hashes that all want one slot: the set
// must not become slow, nor forget.
func TestCollidingHashesEndTheSet(t *testing.T) {
	for _, base := range []uint64{0, 1 << 63, math.MaxUint64 - 20_000} {
		s := newSeen(t, 4<<20, 1e-6)
		hs := make([]uint64, 20_000)
		for i := range hs {
			hs[i] = base + uint64(i)
		}
		fresh := make([]bool, len(hs))
		s.AddHashes(fresh, hs)
		if !s.Filtered() {
			t.Errorf("from %#x: the set took %d hashes with one home", base, len(hs))
		}
		s.AddHashes(fresh, hs)
		if slices.Contains(fresh, true) {
			t.Errorf("from %#x: a hash was forgotten", base)
		}
	}
}

// TestWrong compares the expected number of mistakes with those made, far past
// the capacity, too, and for any size of batches: within 5 standard deviations
// of a Poisson number, which mistakes of all but full filters are.
func TestWrong(t *testing.T) {
	const n = 400_000
	for _, batch := range []int{1000, 77_777} {
		s := newSeen(t, 256<<10, 1e-3)
		hs := hashesUpTo(n)
		fresh := make([]bool, n)
		for at := 0; at < n; at += batch {
			end := min(at+batch, n)
			s.AddHashes(fresh[at:end], hs[at:end])
			made := float64(end - s.Count())
			if got := s.Wrong(); math.Abs(made-got) > 5*math.Sqrt(got)+0.02*got+1 {
				t.Fatalf("batch %d: after %d hashes: %v mistakes expected, %v made", batch, end, got, made)
			}
		}
		if s.Wrong() < 1000 || s.Count() < s.Capacity() {
			t.Errorf("batch %d: only %v mistakes, %d of %d hashes: the test shows little", batch, s.Wrong(), s.Count(), s.Capacity())
		}
	}
	s := newSeen(t, 1<<20, 1e-6)
	fresh := make([]bool, 50_000)
	s.AddHashes(fresh, hashesUpTo(50_000))
	if got, want := s.Wrong(), math.Ldexp(50_000*50_000, -65); got != want || s.Filtered() {
		t.Errorf("Wrong() of a set = %v, want %v", got, want)
	}
}

// TestExpectingTooManyCostsNothing gives as many hashes as the filter holds, and
// expects far more: no more of them are told old than without.
func TestExpectingTooManyCostsNothing(t *testing.T) {
	plain := dedupe.Config{Memory: 1 << 20, ErrorRate: 1e-4}
	for _, expected := range []int{plain.Capacity(), plain.Capacity() + 1, 1_000_000_000, math.MaxInt} {
		c := plain
		c.Expected = expected
		s, err := c.New()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.Capacity(), plain.Capacity(); got < want {
			t.Errorf("Expected: %d: Capacity() = %d, want %d", expected, got, want)
		}
		hs := hashesUpTo(plain.Capacity())
		s.AddHashes(make([]bool, len(hs)), hs)
		// The rate is below 1e-4 all the way: far fewer than 1 in 10,000.
		if lost := len(hs) - s.Count(); lost > len(hs)/10_000 || s.Rate() > 1e-4 {
			t.Errorf("Expected: %d: %d of %d hashes were told old, rate %v", expected, lost, len(hs), s.Rate())
		}
	}
}

// TestOneBatchFillsTheRoom adds more hashes at once than the set has room for: the
// answers to those that it took stay.
func TestOneBatchFillsTheRoom(t *testing.T) {
	s := newSeen(t, 1<<20, 1e-4)
	room := s.Room()
	hs := hashesUpTo(room + 1000)
	fresh := make([]bool, len(hs))
	s.AddHashes(fresh, hs)
	if !s.Filtered() || slices.Contains(fresh[:room/2], false) {
		t.Errorf("filtered: %v, and hash %d is called old", s.Filtered(), slices.Index(fresh, false))
	}
	s.AddHashes(fresh, hs)
	if slices.Contains(fresh, true) {
		t.Errorf("hash %d is called new the second time", slices.Index(fresh, true))
	}
}

// TestExpectingWhatHasRoom goes over to the filter only if the set is too small.
func TestExpectingWhatHasRoom(t *testing.T) {
	room := newSeen(t, 1<<20, 1e-4).Room()
	for expected, filtered := range map[int]bool{0: false, room - 1: false, room: false, room + 1: true} {
		s, err := dedupe.Config{Memory: 1 << 20, ErrorRate: 1e-4, Expected: expected}.New()
		if err != nil {
			t.Fatal(err)
		}
		if s.Filtered() != filtered {
			t.Errorf("Expected: %d of room for %d: filtered %v, want %v", expected, room, s.Filtered(), filtered)
		}
	}
}

// TestWrongIsANumber fills a filter until it knows everything.
func TestWrongIsANumber(t *testing.T) {
	s := newSeen(t, dedupe.MinMemory, 0.5)
	for i := range 40 {
		hs := make([]uint64, 100_000)
		for j := range hs {
			hs[j] = hashing.Hasher{}.HashUint64(uint64(i*len(hs) + j))
		}
		s.AddHashes(make([]bool, len(hs)), hs)
		if w, r := s.Wrong(), s.Rate(); !(w >= 0 && w < 1e300) || !(r >= 0 && r <= 1) {
			t.Fatalf("after %d hashes: Wrong() = %v, Rate() = %v", (i+1)*len(hs), w, r)
		}
	}
	c := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 0.5}
	g, err := c.ReadState(bytes.NewReader(state(t, s, lines.Key{})), lines.Key{})
	if err != nil || g.Wrong() != s.Wrong() {
		t.Errorf("the state of a full filter: %v", err)
	}
}

// TestSeenKeepsItsBound counts what is allocated: one array, whatever comes,
// the change from set to filter included.
func TestSeenKeepsItsBound(t *testing.T) {
	const memory = 1 << 20
	s := newSeen(t, memory, 1e-6)
	if s.Memory() > memory {
		t.Errorf("Memory() = %d, want at most %d", s.Memory(), memory)
	}
	hs := hashesUpTo(s.Room() + 5000)
	fresh := make([]bool, len(hs))
	// The filter's own struct and its error rate's table are all.
	if n := testing.AllocsPerRun(1, func() { s.AddHashes(fresh, hs) }); n > 8 || !s.Filtered() {
		t.Errorf("growing and the change made %v allocations, filtered: %v", n, s.Filtered())
	}
	if n := testing.AllocsPerRun(10, func() { s.AddHashes(fresh, hs) }); n > 0 {
		t.Errorf("adding to the filter made %v allocations", n)
	}
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []dedupe.Config{
		{Memory: dedupe.MinMemory - 1, ErrorRate: 0.01},
		{Memory: -1, ErrorRate: 0.01},
		{Memory: dedupe.MinMemory},
		{Memory: dedupe.MinMemory, ErrorRate: 1},
		{Memory: dedupe.MinMemory, ErrorRate: 1e-7},
		{Memory: dedupe.MinMemory, ErrorRate: math.NaN()},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v, want ErrParameter", c, err)
		}
	}
	if _, err := (dedupe.Config{Memory: math.MaxInt, ErrorRate: 0.01}).New(); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("all memory: %v, want ErrTooLarge", err)
	}
	for memory, want := range map[int]error{dedupe.MinExact - 1: bloomery.ErrParameter, math.MaxInt: bloomery.ErrTooLarge} {
		j := dedupe.Job{Input: input("a\n", 0), Exact: &dedupe.Exact{Memory: memory}}
		if _, err := finish(t, t.Context(), &j); !errors.Is(err, want) {
			t.Errorf("exact with %d bytes: %v, want %v", memory, err, want)
		}
	}
}

func BenchmarkSeen(b *testing.B) {
	const n = 10_000_000
	hs := make([]uint64, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range hs {
		hs[i] = hashing.Hasher{}.HashUint64(r.Uint64N(n))
	}
	fresh := make([]bool, 4096)
	for _, c := range []struct {
		name   string
		memory int
	}{{"memory=44MiB", 44 << 20}, {"memory=160MiB", 160 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				s := newSeen(b, c.memory, 1e-6)
				for some := range slices.Chunk(hs, len(fresh)) {
					s.AddHashes(fresh, some)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}
