package counting_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
)

// A random history beside exact counts, through variants: plain, reloaded after
// every step, split in two and united. Counts are upper bounds at every step,
// and those of a key alone in the filter are exact.
func TestSpectralHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := counting.Config{
			Capacity:    rapid.IntRange(1, 200).Draw(t, "n"),
			ErrorRate:   rapid.Float64Range(1e-6, 0.9).Draw(t, "p"),
			CounterBits: rapid.SampledFrom([]int{8, 16, 32}).Draw(t, "width"),
		}
		fresh := func() *counting.Spectral {
			f, err := c.NewSpectral()
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		plain, reloaded, halves := fresh(), fresh(), [2]*counting.Spectral{fresh(), fresh()}
		keys := rapid.SliceOfN(rapid.Uint64(), 1, 40).Draw(t, "keys")
		exact, total := map[uint64]uint64{}, uint64(0)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(keys)-1), 0, 60).Draw(t, "inserts") {
				h := keys[i]
				before, had := plain.CountHash(h), plain.ContainsHash(h)
				if (before > 0) != had {
					t.Fatalf("count %d, contained %v", before, had)
				}
				for _, f := range []*counting.Spectral{plain, reloaded, halves[h&1]} {
					if err := f.InsertHash(h); err != nil {
						t.Fatal(err)
					}
				}
				if got := plain.CountHash(h); got != before+1 {
					t.Fatalf("count %d after an insert, it was %d before", got, before)
				}
				exact[h]++
				total++
			}
			data := encoded(t, reloaded)
			reloaded = fresh()
			if err := reloaded.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, encoded(t, plain)) {
				t.Fatal("the reloaded filter differs from the plain one")
			}
			for h, n := range exact {
				if got := plain.CountHash(h); got < n || len(exact) == 1 && got != n {
					t.Fatalf("count %d of %d different keys, it was inserted %d times", got, len(exact), n)
				}
			}
		}
		if err := halves[0].Merge(halves[1]); err != nil {
			t.Fatal(err)
		}
		for h, n := range exact {
			if got := halves[0].CountHash(h); got < n {
				t.Fatalf("united: count %d, it was inserted %d times", got, n)
			}
		}
		if plain.Inserts() != total || halves[0].Inserts() != total || halves[0].Stats().Saturation != plain.Stats().Saturation {
			t.Fatalf("inserts = %d, united %d, want %d", plain.Inserts(), halves[0].Inserts(), total)
		}
	})
}

func TestSpectralCountsNoFurther(t *testing.T) {
	s, err := counting.Config{Capacity: 100, ErrorRate: 0.01, CounterBits: 8}.NewSpectral()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.MaxCount() {
		if err := s.InsertString("alice"); err != nil {
			t.Fatalf("insert %d: %v", i, err)
		}
	}
	before := encoded(t, s)
	if err := s.Insert([]byte("alice")); !errors.Is(err, bloomery.ErrFull) {
		t.Errorf("insert past the counter: %v, want ErrFull", err)
	}
	if got := s.CountString("alice"); got != 256 || s.Count([]byte("bob")) != 0 {
		t.Errorf("count = %d, want 256", got)
	}
	if !bytes.Equal(before, encoded(t, s)) {
		t.Error("a refused insert changed the filter")
	}
	if err := s.Merge(s.Clone()); err != nil || s.CountString("alice") != 256 || s.Inserts() != 512 {
		t.Errorf("twice 256: count %d, inserts %d (%v), want 256 and 512", s.CountString("alice"), s.Inserts(), err)
	}
	if err := s.Merge(counting.NewSpectral(100, 0.01)); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("union with other counters: %v, want ErrIncompatible", err)
	}
	if s.Clear(); s.Inserts() != 0 || s.Excess() != 0 || s.ContainsString("alice") {
		t.Error("Clear left something")
	}
	if got := s.EstimateCount(); got != 0 {
		t.Errorf("EstimateCount() = %d, want 0", got)
	}
}

// One counter per key: Excess is the mean of all counters then.
func TestSpectralExcessOfOneHash(t *testing.T) {
	s, err := counting.Config{Bits: 512, Hashes: 1}.NewSpectral()
	if err != nil {
		t.Fatal(err)
	}
	insert(t, s, hashes(1024, 1))
	if got := s.Excess(); got != 2 {
		t.Errorf("Excess() = %g, want 2", got)
	}
}
