package counting_test

import (
	"encoding"
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/sizing"
)

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

// TestBitsPerKey takes the memory that is asked for, with the lowest rate that
// the number of hashes can give.
func TestBitsPerKey(t *testing.T) {
	const n = 100_000
	for _, c := range []struct {
		config       counting.Config
		spectral     bool
		width, perCt int // counters, and bits of array and counter together
	}{
		{counting.Config{Capacity: n, BitsPerKey: 40}, false, 4, 5},
		{counting.Config{Capacity: n, BitsPerKey: 40, CounterBits: 8}, false, 8, 9},
		{counting.Config{Capacity: n, BitsPerKey: 40, Copies: 100}, false, 16, 17},
		{counting.Config{Capacity: n, BitsPerKey: 40, CounterBits: 8}, true, 8, 9},
		{counting.Config{Capacity: 1, BitsPerKey: 5}, false, 2, 3},
	} {
		var shape sizing.Counted
		var stats bloomery.Stats
		if c.spectral {
			f, err := c.config.NewSpectral()
			if err != nil {
				t.Fatal(err)
			}
			shape, stats = f.Shape(), f.Stats()
		} else {
			f, err := c.config.New()
			if err != nil {
				t.Fatal(err)
			}
			shape, stats = f.Shape(), f.Stats()
		}
		want := uint64(math.Ceil(c.config.BitsPerKey*float64(c.config.Capacity)/float64(c.perCt))+511) / 512 * 512
		if shape.Width != c.width || shape.Bits != want {
			t.Errorf("%+v: %d bits with counters of %d, want %d of %d", c.config, shape.Bits, shape.Width, want, c.width)
		}
		least := math.Inf(1)
		for k := 1; k <= 16; k++ {
			s := shape.Shape
			s.K = k
			least = min(least, s.Rate(float64(c.config.Capacity)))
		}
		if stats.Asked != least {
			t.Errorf("%+v: made for %v, want the lowest rate, %v", c.config, stats.Asked, least)
		}
	}
}

func TestBitsPerKeyRefuses(t *testing.T) {
	for name, c := range map[string]counting.Config{
		"with a rate":       {Capacity: 10, BitsPerKey: 40, ErrorRate: 0.1},
		"with a rate of 1":  {Capacity: 10, BitsPerKey: 40, ErrorRate: 1},
		"with bits":         {Capacity: 10, BitsPerKey: 40, Bits: 1},
		"with hashes":       {Capacity: 10, BitsPerKey: 40, Hashes: 1},
		"no capacity":       {BitsPerKey: 40},
		"negative":          {Capacity: 10, BitsPerKey: -1},
		"not a number":      {Capacity: 10, BitsPerKey: math.NaN()},
		"infinite":          {Capacity: 10, BitsPerKey: math.Inf(1)},
		"too much":          {Capacity: math.MaxInt, BitsPerKey: 1e9},
		"counters of 3":     {Capacity: 10, BitsPerKey: 40, CounterBits: 3},
		"negative copies":   {Capacity: 10, BitsPerKey: 40, Copies: -1},
		"bits beside rate":  {Capacity: 10, ErrorRate: 0.1, Bits: 1024},
		"hashes and a rate": {Capacity: 10, ErrorRate: 0.1, Hashes: 3},
		"all overflow":      {Capacity: 10, ErrorRate: 0.1, Overflow: 1},
		"more than all":     {Capacity: 10, ErrorRate: 0.1, Overflow: 2},
		"less than none":    {Capacity: 10, ErrorRate: 0.1, Overflow: -0.1},
	} {
		if f, err := c.New(); f != nil || !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}
	// One bit is the least that can be asked for: it becomes a block.
	if f, err := (counting.Config{Capacity: 1, BitsPerKey: 3, CounterBits: 2}).NewSpectral(); err == nil {
		t.Errorf("counters of 2 bits: %v", f.Shape())
	}
	f, err := counting.Config{Capacity: 1, BitsPerKey: 9, CounterBits: 8}.NewSpectral()
	if err != nil || f.Shape().Bits != 512 {
		t.Errorf("one counter: %v", err)
	}
}

// TestExcessFormula compares with the integral in closed form.
func TestExcessFormula(t *testing.T) {
	f := counting.NewSpectral(1000, 0.01)
	insert(t, f, hashes(1000, 1))
	insert(t, f, hashes(500, 1))
	if f.Inserts() != 1500 {
		t.Errorf("Inserts() = %d, want 1500", f.Inserts())
	}
	k, s := float64(f.Shape().K), f.Stats()
	mean := 1500 * k / float64(f.Shape().Bits)
	want := s.Predicted / s.Saturation * mean * k / (k - 1)
	if got := f.Excess(); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("Excess() = %v, want %v", got, want)
	}
	if n := new(counting.Spectral).Inserts(); n != 0 {
		t.Errorf("a zero filter has %d inserts", n)
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

// TestViewsOfDamagedData clones what cannot be verified.
func TestViewsOfDamagedData(t *testing.T) {
	plain, spectral := counting.New(1000, 0.01), counting.NewSpectral(1000, 0.01)
	stable := counting.NewStable(1000, 0.01)
	for name, f := range map[string]encoding.BinaryMarshaler{"filter": plain, "spectral": spectral, "stable": stable} {
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		clone := func() (bool, error) {
			v, err := counting.Config{}.View(data)
			if err != nil {
				return false, err
			}
			f, err := v.Clone()
			return f != nil, err
		}
		if ok, err := clone(); !ok || err != nil {
			t.Errorf("%s: Clone: %v", name, err)
		}
		data[len(data)-100] ^= 1
		if ok, err := clone(); ok || !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Clone of damaged data: %v, %v", name, ok, err)
		}
	}
}
