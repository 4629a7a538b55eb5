package counting_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
)

func TestInsertTwiceDeleteOnce(t *testing.T) {
	for _, width := range []int{2, 4, 8, 16} {
		f, err := counting.Config{Capacity: 100, ErrorRate: 1e-4, CounterBits: width}.New()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.InsertString("alice"); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.CountString("alice"); got != 2 {
			t.Errorf("width %d: count = %d, want 2", width, got)
		}
		if !f.DeleteString("alice") || !f.ContainsString("alice") || f.Count([]byte("alice")) != 1 {
			t.Errorf("width %d: inserted twice and deleted once, the key is not there once", width)
		}
		if !f.Delete([]byte("alice")) || f.ContainsString("alice") || f.DeleteString("alice") {
			t.Errorf("width %d: deleted twice, the key is still there", width)
		}
	}
}

// A full counter stays: keys behind it are never forgotten, one more is
// refused, and Clear alone takes them out.
func TestFullCountersStay(t *testing.T) {
	for _, width := range []int{2, 4, 8} {
		f, err := counting.Config{Capacity: 1000, ErrorRate: 1e-3, CounterBits: width}.New()
		if err != nil {
			t.Fatal(err)
		}
		want := uint64(1) << width
		if got := f.MaxCount(); got != want {
			t.Fatalf("MaxCount() = %d, want %d", got, want)
		}
		for i := range want {
			if err := f.InsertString("alice"); err != nil {
				t.Fatalf("width %d: insert %d: %v", width, i, err)
			}
		}
		before := encoded(t, f)
		for range 3 {
			if err := f.InsertString("alice"); !errors.Is(err, bloomery.ErrFull) || !strings.HasPrefix(err.Error(), "counting: insert: full: ") {
				t.Errorf("width %d: insert past the counter: %v, want ErrFull", width, err)
			}
		}
		for range 3 * want {
			if !f.DeleteString("alice") {
				t.Fatalf("width %d: delete was refused", width)
			}
		}
		if got := f.CountString("alice"); got != want {
			t.Errorf("width %d: count = %d after deletes of a full counter, want %d", width, got, want)
		}
		if !slices.Equal(before, encoded(t, f)) {
			t.Errorf("width %d: inserts and deletes of a full counter changed the filter", width)
		}
		share := float64(f.Shape().K) / float64(f.Shape().Bits)
		if got := f.Overflow(); math.Abs(got/share-1) > 1e-9 || f.Stats().Overflow != got {
			t.Errorf("width %d: Overflow() = %g, Stats %g, want %g", width, got, f.Stats().Overflow, share)
		}
		if f.Clear(); f.ContainsString("alice") || f.Overflow() != 0 {
			t.Errorf("width %d: Clear left a key", width)
		}
	}
}

// The share of full counters is the one that sizing predicts: here 2 bits, whose
// counters are full with 4 keys. The standard deviation of the number of full
// ones, about 3,900 of a million, is 1.6%.
func TestOverflowIsAsPredicted(t *testing.T) {
	const n = 100_000
	f, err := counting.Config{Capacity: n, ErrorRate: 0.01, Overflow: 0.01}.New()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Shape().Width; got != 2 {
		t.Fatalf("for 1%% of full counters: CounterBits() = %d, want 2", got)
	}
	insert(t, f, hashes(n, 1))
	want := f.Shape().Overflow(n, 1)
	if got := f.Overflow(); math.Abs(got/want-1) > 4*0.016 {
		t.Errorf("Overflow() = %g, predicted %g", got, want)
	}
	if got := f.Stats().Overflow; math.Abs(got/want-1) > 0.2 { // a sample of 1,024 blocks
		t.Errorf("Stats().Overflow = %g, predicted %g", got, want)
	}
}

func TestCounterBits(t *testing.T) {
	for _, c := range []struct {
		config counting.Config
		want   int
	}{
		{counting.Config{Capacity: 1000, ErrorRate: 0.01}, 4},
		{counting.Config{Capacity: 1000, ErrorRate: 1e-6}, 4},
		{counting.Config{Capacity: 1000, ErrorRate: 0.9}, 4},
		{counting.Config{Capacity: 3, ErrorRate: 0.1}, 2}, // three keys cannot fill a counter of 2 bits
		{counting.Config{Capacity: 1000, ErrorRate: 0.01, Overflow: 0.01}, 2},
		{counting.Config{Capacity: 1000, ErrorRate: 0.01, Copies: 2}, 4},
		{counting.Config{Capacity: 1000, ErrorRate: 0.01, Copies: 3}, 8},
		{counting.Config{Capacity: 1000, ErrorRate: 0.01, Copies: 32}, 8},
		{counting.Config{Capacity: 1000, ErrorRate: 0.01, Copies: 100}, 16},
		{counting.Config{Capacity: 1000, ErrorRate: 0.01, CounterBits: 16}, 16},
		{counting.Config{Bits: 1 << 20, Hashes: 7}, 4},
		{counting.Config{Bits: 1 << 20, Hashes: 7, Copies: 4}, 8},
	} {
		f, err := c.config.New()
		if err != nil || f.Shape().Width != c.want {
			t.Errorf("%+v: counters of %d bits (%v), want %d", c.config, f.Shape().Width, err, c.want)
		}
	}
}

func TestUnionNamesTheDifference(t *testing.T) {
	f := counting.New(100, 0.01)
	for says, c := range map[string]counting.Config{
		"bits":        {Capacity: 1000, ErrorRate: 0.01},
		"hashes":      {Bits: f.Shape().Bits, Hashes: f.Shape().K + 1},
		"of 8 bits":   {Capacity: 100, ErrorRate: 0.01, CounterBits: 8},
		"counters of": {Capacity: 100, ErrorRate: 0.01, CounterBits: 2},
	} {
		o, err := c.New()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Merge(o); !errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), says) {
			t.Errorf("union with %+v: %v, want ErrIncompatible and %q", c, err, says)
		}
	}
}

func TestUnionSaturates(t *testing.T) {
	a, b := counting.New(100, 0.01), counting.New(100, 0.01)
	for i := range 20 {
		if i < 12 {
			insert(t, a, []uint64{1 << 60})
		}
		if i < 10 {
			insert(t, b, []uint64{1 << 60, 3 << 60})
		}
	}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if got := a.CountHash(1 << 60); got != 16 {
		t.Errorf("12 + 10 copies in counters of 4 bits: count %d, want 16", got)
	}
	if got := a.CountHash(3 << 60); got != 10 {
		t.Errorf("0 + 10 copies: count %d, want 10", got)
	}
	if err := a.Merge(a.Clone()); err != nil || a.CountHash(3<<60) != 16 {
		t.Errorf("twice 10 copies: count %d (%v), want 16", a.CountHash(3<<60), err)
	}
}

// Operations on the filter allocate nothing; filtertest sees to the lookups.
func TestNoAllocations(t *testing.T) {
	f, s, a := counting.New(1000, 0.01), counting.NewSpectral(1000, 0.01), counting.NewStable(1000, 0.01)
	key, keys, dst := []byte("key"), [][]byte{[]byte("a"), []byte("b")}, make([]bool, 2)
	for name, run := range map[string]func(){
		"Insert": func() {
			if f.Insert(key) == nil {
				f.Delete(key)
			}
		},
		"InsertString": func() {
			if f.InsertString("key") == nil {
				f.DeleteString("key")
			}
		},
		"Count":        func() { f.Count(key) },
		"CountString":  func() { f.CountString("key") },
		"ContainsKeys": func() { f.ContainsKeys(dst, keys) },
		"Stats":        func() { f.Stats() },
		"Spectral": func() {
			if s.Insert(key) == nil && s.InsertString("key") == nil {
				s.CountString("key")
			}
			s.Stats()
			s.Excess()
		},
		"Stable": func() {
			if a.Insert(key) == nil && a.InsertString("key") == nil {
				a.Forgotten(7)
			}
			a.Stats()
		},
	} {
		if got := testing.AllocsPerRun(20, run); got > 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
}

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func encoded(tb fataler, f interface{ MarshalBinary() ([]byte, error) }) []byte {
	tb.Helper()
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
