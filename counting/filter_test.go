package counting_test

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
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
		if got := counting.Overflow(f); math.Abs(got/share-1) > 1e-9 || f.Stats().Overflow != got {
			t.Errorf("width %d: %g of the counters are full, Stats says %g, want %g", width, got, f.Stats().Overflow, share)
		}
		if f.Clear(); f.ContainsString("alice") || counting.Overflow(f) != 0 {
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
	if got := counting.Overflow(f); math.Abs(got/want-1) > 4*0.016 {
		t.Errorf("%g of the counters are full, predicted %g", got, want)
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

// batches is what all filters of this package insert many keys with.
type batches interface {
	InsertHash(h uint64) error
	InsertHashes(hs []uint64) (int, error)
	InsertKeys(keys [][]byte) (int, error)
	InsertSeq(seq iter.Seq[[]byte]) (int, error)
	ContainsKeys(dst []bool, keys [][]byte)
	Hash(key []byte) uint64
	Clear()
}

// TestInsertsStopWhenFull inserts different keys, then one key until its counters
// are full: each way to insert returns how many were.
func TestInsertsStopWhenFull(t *testing.T) {
	for name, make := range map[string]func(counting.Config) (batches, error){
		"filter":   func(c counting.Config) (batches, error) { return c.New() },
		"spectral": func(c counting.Config) (batches, error) { return c.NewSpectral() },
		"stable":   func(c counting.Config) (batches, error) { return c.NewStable() },
	} {
		c := counting.Config{Capacity: 1000, ErrorRate: 1e-3, CounterBits: 4}
		f, err := make(c)
		if err != nil {
			c.CounterBits = 8
			if f, err = make(c); err != nil {
				t.Fatal(err)
			}
		}
		different := [][]byte{[]byte("a"), []byte("b"), []byte("c")}
		same := slices.Repeat([][]byte{[]byte("x")}, 1000)
		most := 0 // how often the key can be inserted
		for ; most < len(same) && f.InsertHash(f.Hash(same[0])) == nil; most++ {
		}
		if (most == len(same)) != (name == "stable") {
			t.Fatalf("%s: %d inserts of one key", name, most)
		}
		for way, insert := range map[string]func(keys [][]byte) (int, error){
			"InsertHashes": func(keys [][]byte) (int, error) {
				var hs []uint64
				for _, key := range keys {
					hs = append(hs, f.Hash(key))
				}
				return f.InsertHashes(hs)
			},
			"InsertKeys": f.InsertKeys,
			"InsertSeq":  func(keys [][]byte) (int, error) { return f.InsertSeq(slices.Values(keys)) },
		} {
			f.Clear()
			if n, err := insert(different); n != 3 || err != nil {
				t.Errorf("%s: %s of three keys = %d, %v", name, way, n, err)
			}
			got := []bool{false, false, false, true}
			f.ContainsKeys(got, append(slices.Clone(different), []byte("absent")))
			if !slices.Equal(got, []bool{true, true, true, false}) {
				t.Errorf("%s: after %s, ContainsKeys gives %v", name, way, got)
			}
			want := bloomery.ErrFull
			if name == "stable" {
				want = nil
			}
			if n, err := insert(same); n != most || !errors.Is(err, want) {
				t.Errorf("%s: %s of one key = %d, %v, want %d, %v", name, way, n, err, most, want)
			}
		}
	}
}

// TestContainsKeysOfEveryLength asks for no key, one, and about as many as are
// hashed at once.
func TestContainsKeysOfEveryLength(t *testing.T) {
	f := counting.New(1000, 1e-6)
	var keys [][]byte
	for i := range 1000 {
		keys = append(keys, strconv.AppendInt(nil, int64(i), 10))
	}
	if n, err := f.InsertKeys(keys); n != len(keys) || err != nil {
		t.Fatal(n, err)
	}
	for n := range keys {
		got := make([]bool, n)
		f.ContainsKeys(got, keys[:n])
		if slices.Contains(got, false) {
			t.Fatalf("of %d keys, number %d is not there", n, slices.Index(got, false))
		}
	}
}

// TestZeroFiltersPanic changes filters that were never made, by nothing.
func TestZeroFiltersPanic(t *testing.T) {
	for name, f := range map[string]batches{"filter": new(counting.Filter), "spectral": new(counting.Spectral), "stable": new(counting.Stable)} {
		for way, call := range map[string]func(){
			"Clear":        f.Clear,
			"InsertHashes": func() { _, _ = f.InsertHashes(nil) },
			"InsertKeys":   func() { _, _ = f.InsertKeys(nil) },
			"InsertSeq":    func() { _, _ = f.InsertSeq(slices.Values([][]byte{})) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of a zero %s does not panic", way, name)
					}
				}()
				call()
			}()
		}
	}
}
