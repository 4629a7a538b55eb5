package bloom_test

import (
	"bytes"
	"encoding"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/sizing"
)

// folder is what Filter, Standard and Split share here.
type folder interface {
	bloomery.Hashed
	bloomery.Adder
	encoding.BinaryMarshaler
	Shape() sizing.Shape
}

// folders are the kinds that fold: made foldable, made with a shape, folded.
var folders = map[string]struct {
	layout sizing.Layout
	make   func(bloom.Config) (folder, error)
	fold   func(f folder, by int) (folder, error)
}{
	"bloom": {
		sizing.Blocked, func(c bloom.Config) (folder, error) { return c.New() },
		func(f folder, by int) (folder, error) { return f.(*bloom.Filter).Fold(by) },
	},
	"standard": {
		sizing.Standard, func(c bloom.Config) (folder, error) { return c.NewStandard() },
		func(f folder, by int) (folder, error) { return f.(*bloom.Standard).Fold(by) },
	},
	"split": {
		sizing.Split, func(c bloom.Config) (folder, error) { return c.NewSplit() },
		func(f folder, by int) (folder, error) { return f.(*bloom.Split).Fold(by) },
	},
}

// TestFold folds by 2, 4 and 8. The array must be the one that a filter of the
// smaller size has when all keys are added to it; so no key is lost, and the rate
// is that of the smaller size, within 3 deviations over all filters.
func TestFold(t *testing.T) {
	const n, filters, queries = 5000, 10, 40_000
	rng := rand.New(rand.NewPCG(15, 1))
	for name, k := range folders {
		for _, by := range []int{1, 2, 4, 8} {
			var asked, wrong, sum float64
			for range filters {
				f, err := k.make(bloom.Config{Capacity: n, ErrorRate: 0.001, Foldable: true})
				if err != nil {
					t.Fatal(err)
				}
				hs := make([]uint64, n)
				for i := range hs {
					hs[i] = rng.Uint64()
				}
				f.AddHashes(nil, hs)
				g, err := k.fold(f, by)
				if err != nil {
					t.Fatalf("%s by %d: %v", name, by, err)
				}
				small, err := k.make(bloom.Config{Capacity: n, Bits: f.Shape().Bits / uint64(by), Hashes: f.Shape().K})
				if err != nil {
					t.Fatal(err)
				}
				small.AddHashes(nil, hs)
				if got, want := payload(t, g), payload(t, small); !bytes.Equal(got, want) {
					t.Fatalf("%s by %d is not the filter of that size", name, by)
				}
				found := make([]bool, n)
				g.ContainsHashes(found, hs)
				for i := range found {
					if !found[i] {
						t.Fatalf("%s by %d: key %#x is lost", name, by, hs[i])
					}
				}
				if s := g.Stats(); math.Abs(s.Predicted/g.Shape().Rate(n)-1) > 0.15 || by > 1 && s.Asked < 0.9*g.Shape().Rate(n) {
					t.Errorf("%s by %d: %+v, model %g", name, by, s, g.Shape().Rate(n))
				}
				asked += g.Shape().Rate(n) * queries
				for range queries {
					if g.ContainsHash(rng.Uint64()) {
						wrong++
					}
				}
				sum += queries
			}
			// Filters differ in their fill: some 1% of the rate each.
			sigma := math.Hypot(math.Sqrt(asked), 0.03*asked/math.Sqrt(filters))
			if math.Abs(wrong-asked) > 3*sigma {
				t.Errorf("%s by %d: %.0f of %.0f false positives, predicted %.0f, sigma %.1f", name, by, wrong, sum, asked, sigma)
			}
		}
	}
}

// payload returns the encoding of a filter without its header.
func payload(t *testing.T, f encoding.BinaryMarshaler) []byte {
	t.Helper()
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data[64:]
}

func TestFoldRefuses(t *testing.T) {
	eight, err := bloom.Config{Bits: 12 * 512, Hashes: 8, Capacity: 100}.New()
	if err != nil {
		t.Fatal(err)
	}
	prime, err := bloom.Config{Bits: 1013, Hashes: 7}.NewStandard()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		fold func() error
		want error
		say  string
	}{
		{"by 0", func() error { _, err := eight.Fold(0); return err }, bloomery.ErrParameter, "by 0"},
		{"by -1", func() error { _, err := prime.Fold(-1); return err }, bloomery.ErrParameter, "by -1"},
		{"no divisor", func() error { _, err := eight.Fold(8); return err }, bloomery.ErrIncompatible, "by 2, 3, 4, 6, 12"},
		{"a prime", func() error { _, err := prime.Fold(2); return err }, bloomery.ErrIncompatible, "but by 1013"},
		{"7 bits per key", func() error { _, err := bloom.New(1000, 0.01).Fold(2); return err }, bloomery.ErrIncompatible, "Config.Foldable"},
		{"too large", func() error { _, err := eight.Fold(math.MaxInt); return err }, bloomery.ErrIncompatible, "by 2"},
	} {
		if err := c.fold(); !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "bloom: fold: ") || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %v with %q", c.what, err, c.want, c.say)
		}
	}
	if _, err := (bloom.Config{Capacity: 10, Bits: 4096, Hashes: 7, Foldable: true}).New(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("foldable with 7 bits per key: %v", err)
	}
	if _, err := (bloom.Config{Capacity: 10, ErrorRate: 0.1, Foldable: true}).NewPartitioned(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a foldable Partitioned: %v", err)
	}
}

// TestFoldable asks for sizes: multiples of 8, the rate kept, no larger than
// needed.
func TestFoldable(t *testing.T) {
	for _, n := range []int{1, 100, 12_345, 1_000_000} {
		for _, p := range []float64{0.5, 0.01, 1e-4, 1e-6} {
			for name, k := range folders {
				f, err := k.make(bloom.Config{Capacity: n, ErrorRate: p, Foldable: true})
				if err != nil {
					t.Fatal(err)
				}
				s := f.Shape()
				unit := 8 * s.Layout.Unit()
				less := s
				less.Bits -= unit
				if s.Bits%unit != 0 || s.Rate(float64(n)) > p || less.Bits >= 512 && less.Rate(float64(n)) <= p {
					t.Errorf("%s, %d keys at %g: %+v", name, n, p, s)
				}
			}
		}
	}
}

// TestFilterScalable grows a filter that is full: no key is lost, the rate is twice
// that of the filter at most, and the file comes back.
func TestFilterScalable(t *testing.T) {
	const n, p = 2000, 0.01
	f := bloom.New(n, p)
	hs := hashes(40*n, 31)
	f.AddHashes(nil, hs[:n])
	for _, c := range []struct{ asked, want float64 }{{0, 2 * p}, {0.015, 0.015}} {
		s, err := f.Scalable(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		s.AddHashes(nil, hs[n:])
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		again, err := bloom.Config{}.DecodeScalable(data)
		if err != nil {
			t.Fatalf("asked for %g: %v", c.asked, err)
		}
		for _, x := range []*bloom.Scalable{s, again} {
			found := make([]bool, len(hs))
			x.ContainsHashes(found, hs)
			for i := range found {
				if !found[i] {
					t.Fatalf("key %d is lost", i)
				}
			}
			// The first layer's own rate varies by some 5% from filter to filter.
			if st := x.Stats(); st.Asked != c.want || st.Predicted > 1.05*c.want || st.Items > uint64(len(hs)) || x.Layers() < 4 {
				t.Errorf("asked for %g: %+v in %d layers", c.asked, st, x.Layers())
			}
		}
		if s.Clear(); s.Stats().Items != 0 || s.Stats().Asked > c.want || s.Stats().Asked < p || s.Layers() != 1 {
			t.Errorf("cleared: %+v", s.Stats())
		}
	}
	if !f.ContainsHash(hs[0]) || f.Stats().Items < n/2 {
		t.Error("the filter itself has changed")
	}
	unknown, err := bloom.Config{Bits: 4096, Hashes: 7}.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f *bloom.Filter
		p float64
	}{{f, 0.01}, {f, 0.001}, {f, 1}, {f, -1}, {f, math.NaN()}, {unknown, 0.1}, {bloom.New(10, 0.9), 0}} {
		if s, err := c.f.Scalable(c.p); s != nil || !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%v at %v: %v", c.f.Stats(), c.p, err)
		}
	}
}

// TestFoldKeepsTheRate folds filters that hold few keys, as often as they hold them
// at the rate asked for: that rate stays, the capacity becomes what the array holds
// at it. One time more the rate asked for is that of the array.
func TestFoldKeepsTheRate(t *testing.T) {
	const n, p, keys = 40_000, 0.01, 8000
	rng := rand.New(rand.NewPCG(15, 4))
	for name, k := range folders {
		f, err := k.make(bloom.Config{Capacity: n, ErrorRate: p, Foldable: true})
		if err != nil {
			t.Fatal(err)
		}
		for range keys {
			f.AddHash(rng.Uint64())
		}
		for _, want := range []uint64{n / 2, n / 4} {
			if f, err = k.fold(f, 2); err != nil {
				t.Fatal(err)
			}
			s := f.Stats()
			if s.Asked != p || s.Predicted > p || s.Capacity < want || s.Capacity > want*11/10 {
				t.Errorf("%s: %+v, want a capacity of about %d at %v", name, s, want, p)
			}
			if at, over := f.Shape().Rate(float64(s.Capacity)), f.Shape().Rate(float64(s.Capacity+1)); at > p || over <= p {
				t.Errorf("%s: rate %v at the capacity of %d, %v with a key more", name, at, s.Capacity, over)
			}
		}
		before := f.Stats().Capacity
		if f, err = k.fold(f, 2); err != nil {
			t.Fatal(err)
		}
		if s := f.Stats(); s.Capacity != before || s.Asked != f.Shape().Rate(float64(before)) || s.Asked <= s.Predicted {
			t.Errorf("%s with too many keys: %+v, was made for %d", name, s, before)
		}
	}
}

// TestFoldOfOverfull folds a full filter for far more keys than it has bits: the rate stays
// below 1, so that the encoding is one that can be read.
func TestFoldOfOverfull(t *testing.T) {
	f, err := bloom.Config{Capacity: 1_000_000, Bits: 4096, Hashes: 8}.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(20_000, 1))
	g, err := f.Fold(2)
	if err != nil {
		t.Fatal(err)
	}
	data, err := g.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back bloom.Filter
	if err := back.UnmarshalBinary(data); err != nil || g.Stats().Asked >= 1 {
		t.Errorf("the rate asked for is %v, decoding: %v", g.Stats().Asked, err)
	}
}
