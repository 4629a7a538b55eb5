package bloom_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

// makers are the constructors of filters with a shape behind one face.
var makers = map[string]func(bloom.Config) (bloomery.Hashed, error){
	"bloom": func(c bloom.Config) (bloomery.Hashed, error) {
		f, err := c.New()
		if err != nil {
			return nil, err
		}
		return f, nil
	},
	"standard": func(c bloom.Config) (bloomery.Hashed, error) {
		f, err := c.NewStandard()
		if err != nil {
			return nil, err
		}
		return f, nil
	},
	"split": func(c bloom.Config) (bloomery.Hashed, error) {
		f, err := c.NewSplit()
		if err != nil {
			return nil, err
		}
		return f, nil
	},
	"partitioned": func(c bloom.Config) (bloomery.Hashed, error) {
		f, err := c.NewPartitioned()
		if err != nil {
			return nil, err
		}
		return f, nil
	},
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		config bloom.Config
		want   error
		say    string
	}{
		{"nothing", bloom.Config{}, bloomery.ErrParameter, "capacity 0"},
		{"n = 0", bloom.Config{Capacity: 0, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity 0"},
		{"n < 0", bloom.Config{Capacity: -5, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -5"},
		{"n smallest", bloom.Config{Capacity: math.MinInt, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -"},
		{"p = 0", bloom.Config{Capacity: 10}, bloomery.ErrParameter, "error rate 0 "},
		{"p < 0", bloom.Config{Capacity: 10, ErrorRate: -0.5}, bloomery.ErrParameter, "error rate -0.5"},
		{"p = 1", bloom.Config{Capacity: 10, ErrorRate: 1}, bloomery.ErrParameter, "error rate 1 "},
		{"p > 1", bloom.Config{Capacity: 10, ErrorRate: 7}, bloomery.ErrParameter, "error rate 7"},
		{"p NaN", bloom.Config{Capacity: 10, ErrorRate: math.NaN()}, bloomery.ErrParameter, "error rate NaN"},
		{"p = +Inf", bloom.Config{Capacity: 10, ErrorRate: math.Inf(1)}, bloomery.ErrParameter, "error rate +Inf"},
		{"p = -Inf", bloom.Config{Capacity: 10, ErrorRate: math.Inf(-1)}, bloomery.ErrParameter, "error rate -Inf"},
		{"n = largest", bloom.Config{Capacity: math.MaxInt, ErrorRate: 0.01}, bloomery.ErrTooLarge, ""},
		{"bits too many", bloom.Config{Bits: 1 << 60, Hashes: 8}, bloomery.ErrTooLarge, "too large"},
		{"bits near overflow", bloom.Config{Bits: math.MaxUint64, Hashes: 7}, nil, ""},
		{"bits without hashes", bloom.Config{Bits: 1024}, bloomery.ErrParameter, ""},
		{"hashes without bits", bloom.Config{Hashes: 7}, bloomery.ErrParameter, ""},
		{"hashes negative", bloom.Config{Bits: 1024, Hashes: -1}, bloomery.ErrParameter, ""},
		{"hashes too many", bloom.Config{Bits: 1024, Hashes: 65}, bloomery.ErrParameter, ""},
		{"bits and rate", bloom.Config{Bits: 1024, Hashes: 7, ErrorRate: 0.1}, bloomery.ErrParameter, "0.1"},
		{"bits and negative n", bloom.Config{Bits: 1024, Hashes: 7, Capacity: -1}, bloomery.ErrParameter, "capacity -1"},
	} {
		for kind, construct := range makers {
			f, err := construct(c.config)
			if err == nil || f != nil {
				t.Errorf("%s, %s: got a filter, want an error", kind, c.name)
				continue
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%s, %s: %q, want %q with %q", kind, c.name, err, c.want, c.say)
			}
			if !strings.HasPrefix(err.Error(), "bloom: new") {
				t.Errorf("%s, %s: %q does not say where it comes from", kind, c.name, err)
			}
		}
	}
	if _, err := (bloom.Config{Capacity: 10, ErrorRate: 1e-7}).New(); !errors.Is(err, bloomery.ErrParameter) ||
		!strings.Contains(err.Error(), "standard") {
		t.Errorf("Filter at 1e-7: %v, want ErrParameter that names the standard layout", err)
	}
	if _, err := (bloom.Config{Capacity: 10, ErrorRate: 1e-7}).NewSplit(); !errors.Is(err, bloomery.ErrParameter) ||
		!strings.Contains(err.Error(), "standard") {
		t.Errorf("Split at 1e-7: %v, want ErrParameter that names the standard layout", err)
	}
	if _, err := (bloom.Config{Bits: 1024, Hashes: 7}).NewSplit(); !errors.Is(err, bloomery.ErrParameter) ||
		!strings.Contains(err.Error(), "takes 8") {
		t.Errorf("Split with 7 hashes: %v, want ErrParameter that says 8", err)
	}
	if _, err := (bloom.Config{Bits: 1<<40 + 1, Hashes: 8}).NewSplit(); !errors.Is(err, bloomery.ErrTooLarge) ||
		!strings.Contains(err.Error(), "2^40") {
		t.Errorf("Split of more than 2^40 bits: %v, want ErrTooLarge that says so", err)
	}
	if _, err := (bloom.Config{Capacity: 10, ErrorRate: 1e-15}).NewStandard(); err != nil {
		t.Errorf("Standard at 1e-15: %v", err)
	}
}

func TestNewPanicsWithASentence(t *testing.T) {
	for name, run := range map[string]func(){
		"New":            func() { bloom.New(0, 0.01) },
		"NewStandard":    func() { bloom.NewStandard(10, 1.5) },
		"NewSplit":       func() { bloom.NewSplit(10, 1e-7) },
		"NewPartitioned": func() { bloom.NewPartitioned(10, 0) },
		"NewScalable":    func() { bloom.NewScalable(-1, 0.1) },
	} {
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || !errors.Is(err, bloomery.ErrParameter) {
					t.Errorf("%s panicked with %v, want an ErrParameter", name, err)
				}
			}()
			run()
			t.Errorf("%s did not panic", name)
		}()
	}
}

// The array must not cost more than these bits per key, from 10,000 keys on.
func TestBitsPerKey(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	for p, limit := range map[float64]float64{1e-2: 10.0, 1e-3: 15.7, 1e-4: 22.2} {
		for n := 10_000; n < 20_000_000; n += n / 7 {
			f, err := bloom.Config{Capacity: n, ErrorRate: p, Alloc: lazily}.New()
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(f.Shape().Bits) / float64(n); got > limit {
				t.Errorf("n = %d, p = %g: %.3f bits per key, want at most %g", n, p, got, limit)
			}
		}
	}
}

// lazily is an Alloc that costs no time: the memory is never touched.
func lazily(n int) ([]byte, error) { return make([]byte, n), nil }

func TestGivenShape(t *testing.T) {
	f, err := bloom.Config{Bits: 1000, Hashes: 5, Capacity: 100}.New()
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Shape(); s.Bits != 1024 || s.K != 5 {
		t.Errorf("Shape() = %+v, want 1024 bits and 5 hashes", s)
	}
	if got, want := f.Stats().Asked, f.Shape().Rate(100); got != want {
		t.Errorf("Asked = %g, want the rate at capacity, %g", got, want)
	}
	s, err := bloom.Config{Bits: 1000, Hashes: 20}.NewStandard()
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Shape(); got.Bits != 1000 || got.K != 20 {
		t.Errorf("Shape() = %+v, want 1000 bits and 20 hashes", got)
	}
	p, err := bloom.Config{Bits: 1000, Hashes: 8}.NewSplit()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Shape(); got.Bits != 1024 || got.K != 8 {
		t.Errorf("Shape() = %+v, want 1024 bits and 8 hashes", got)
	}
	q, err := bloom.Config{Bits: 1000, Hashes: 7}.NewPartitioned()
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Shape(); got.Bits != 1001 || got.K != 7 {
		t.Errorf("Shape() = %+v, want 7 slices of 143 bits", got)
	}
}

func TestAlloc(t *testing.T) {
	for kind, construct := range makers {
		var arena []byte
		give := func(n int) ([]byte, error) {
			arena = make([]byte, n+64)
			return arena[:n+8], nil // more than asked for is fine
		}
		f, err := construct(bloom.Config{Capacity: 1000, ErrorRate: 0.01, Alloc: give})
		if err != nil {
			t.Fatal(err)
		}
		f.(bloomery.Adder).AddHash(12345678901234567890)
		used := 0
		for _, b := range arena {
			if b != 0 {
				used++
			}
		}
		if used == 0 {
			t.Errorf("%s: nothing was written to the memory that Alloc gave", kind)
		}

		refuse := errors.New("no more")
		for name, alloc := range map[string]func(int) ([]byte, error){
			"refuses":    func(int) ([]byte, error) { return nil, refuse },
			"too little": func(n int) ([]byte, error) { return make([]byte, n)[:n-1], nil },
			"misaligned": func(n int) ([]byte, error) { return make([]byte, n+1)[1:], nil },
		} {
			f, err := construct(bloom.Config{Capacity: 1000, ErrorRate: 0.01, Alloc: alloc})
			if f != nil || err == nil {
				t.Errorf("%s, %s: no error", kind, name)
			}
			if name == "refuses" && !errors.Is(err, refuse) {
				t.Errorf("%s, %s: %v, want the error of Alloc", kind, name, err)
			}
		}
	}
}

// Headroom makes a filter for Capacity and so many percent more, in every constructor.
func TestHeadroom(t *testing.T) {
	with := bloom.Config{Capacity: 1000, ErrorRate: 0.01, Headroom: 50}
	without := bloom.Config{Capacity: 1500, ErrorRate: 0.01}
	make := func(c bloom.Config) map[string]bloomery.Stats {
		all := map[string]bloomery.Stats{}
		keep := func(f interface{ Stats() bloomery.Stats }, err error) {
			if err != nil {
				t.Fatal(err)
			}
			all[f.Stats().Kind] = f.Stats()
		}
		f, err := c.New()
		keep(f, err)
		s, err := c.NewStandard()
		keep(s, err)
		p, err := c.NewPartitioned()
		keep(p, err)
		h, err := c.NewSplit()
		keep(h, err)
		g, err := c.NewScalable()
		keep(g, err)
		m, err := c.NewConcurrent()
		keep(m, err)
		return all
	}
	want := make(without)
	for kind, got := range make(with) {
		if got != want[kind] || got.Capacity != 1500 {
			t.Errorf("%v, want %v", got, want[kind])
		}
	}
	perKey, err := bloom.Config{Capacity: 1000, BitsPerKey: 10, Headroom: 100}.New()
	if err != nil || perKey.Stats().Capacity != 2000 || perKey.Shape().Bits < 20_000 {
		t.Errorf("with BitsPerKey: %v, %v", perKey, err)
	}
	for _, c := range []bloom.Config{
		{Capacity: 1000, ErrorRate: 0.01, Headroom: -1}, {Capacity: 1000, ErrorRate: 0.01, Headroom: 1001}, {Bits: 1024, Hashes: 3, Headroom: 5},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), "eadroom") {
			t.Errorf("%+v: %v, want ErrParameter", c, err)
		}
	}
	if _, err := (bloom.Config{Headroom: 5}).Decode(nil); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("Decode with Headroom: %v, want ErrParameter", err)
	}
}

// TestGivenTwice refuses sizes beside the rate from which they follow, and folds of
// filters that cannot be folded.
func TestGivenTwice(t *testing.T) {
	for _, c := range []bloom.Config{
		{Bits: 1024, Capacity: 100, ErrorRate: 0.01},
		{Hashes: 4, Capacity: 100, ErrorRate: 0.01},
		{Bits: 1024, Hashes: 4, ErrorRate: 0.01},
		{Bits: 1024, Capacity: 100},
		{Hashes: 4, Capacity: 100},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v, want ErrParameter", c, err)
		}
	}
	f, err := bloom.Config{Bits: 4096, Hashes: 5}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Fold(2); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a filter of 5 bits per key is folded: %v", err)
	}
	if _, err := f.Fold(1); err != nil {
		t.Errorf("a fold by 1: %v", err)
	}
}

// TestHighRates brings scalable filters whose layers have the highest rates through
// their encoding, and refuses higher ones.
func TestHighRates(t *testing.T) {
	const most = 6 / (math.Pi * math.Pi)
	first, err := bloom.Config{Capacity: 100, ErrorRate: most}.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := first.Scalable(0.9)
	if err != nil {
		t.Fatal(err)
	}
	other := bloom.NewScalable(100, 0.9)
	other.AddString("b")
	if err := s.Union(other); err != nil {
		t.Fatal(err)
	}
	if asked := s.Stats().Asked; asked >= 1 {
		t.Errorf("the rate asked for is %v", asked)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back bloom.Scalable
	if err := back.UnmarshalBinary(data); err != nil || !back.ContainsString("b") {
		t.Errorf("it does not come back: %v", err)
	}
	above, err := bloom.Config{Capacity: 100, ErrorRate: 0.65}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := above.Scalable(0.9); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a first layer of rate 0.65: %v, want ErrParameter", err)
	}
}
