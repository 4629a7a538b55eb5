package counting_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
)

// makers are the constructors behind one face.
var makers = map[string]func(counting.Config) (bloomery.Hashed, error){
	"new":          func(c counting.Config) (bloomery.Hashed, error) { return made(c.New()) },
	"new spectral": func(c counting.Config) (bloomery.Hashed, error) { return made(c.NewSpectral()) },
	"new stable":   func(c counting.Config) (bloomery.Hashed, error) { return made(c.NewStable()) },
}

// made returns f, or nil beside an error.
func made[F bloomery.Hashed](f F, err error) (bloomery.Hashed, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		config counting.Config
		want   error
		say    string
	}{
		{"nothing", counting.Config{}, bloomery.ErrParameter, "capacity 0"},
		{"n = 0", counting.Config{Capacity: 0, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity 0"},
		{"n < 0", counting.Config{Capacity: -5, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -5"},
		{"n smallest", counting.Config{Capacity: math.MinInt, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -"},
		{"p = 0", counting.Config{Capacity: 10}, bloomery.ErrParameter, "error rate 0 "},
		{"p < 0", counting.Config{Capacity: 10, ErrorRate: -0.5}, bloomery.ErrParameter, "error rate -0.5"},
		{"p = 1", counting.Config{Capacity: 10, ErrorRate: 1}, bloomery.ErrParameter, "error rate 1 "},
		{"p NaN", counting.Config{Capacity: 10, ErrorRate: math.NaN()}, bloomery.ErrParameter, "error rate NaN"},
		{"p = +Inf", counting.Config{Capacity: 10, ErrorRate: math.Inf(1)}, bloomery.ErrParameter, "error rate +Inf"},
		{"p too low", counting.Config{Capacity: 10, ErrorRate: 1e-7}, bloomery.ErrParameter, "1e-07"},
		{"n = largest", counting.Config{Capacity: math.MaxInt, ErrorRate: 0.01}, bloomery.ErrTooLarge, ""},
		{"bits too many", counting.Config{Capacity: 1, Bits: 1 << 60, Hashes: 8}, bloomery.ErrTooLarge, "too large"},
		{"bits with counters too many", counting.Config{Capacity: 1, Bits: 1 << 62, Hashes: 8}, bloomery.ErrTooLarge, "too large"},
		{"bits near overflow", counting.Config{Capacity: 1, Bits: math.MaxUint64, Hashes: 7}, nil, ""},
		{"bits without hashes", counting.Config{Capacity: 1, Bits: 1024}, bloomery.ErrParameter, ""},
		{"hashes without bits", counting.Config{Capacity: 1, Hashes: 7}, bloomery.ErrParameter, ""},
		{"hashes too many", counting.Config{Capacity: 1, Bits: 1024, Hashes: 17}, bloomery.ErrParameter, ""},
		{"bits and rate", counting.Config{Capacity: 1, Bits: 1024, Hashes: 7, ErrorRate: 0.1}, bloomery.ErrParameter, "0.1"},
		{"bits and negative n", counting.Config{Bits: 1024, Hashes: 7, Capacity: -1}, bloomery.ErrParameter, "capacity -1"},
		{"counters of 3 bits", counting.Config{Capacity: 10, ErrorRate: 0.1, CounterBits: 3}, bloomery.ErrParameter, "3 bits"},
		{"counters of 64 bits", counting.Config{Capacity: 10, ErrorRate: 0.1, CounterBits: 64}, bloomery.ErrParameter, "64 bits"},
		{"counters of -4 bits", counting.Config{Capacity: 10, ErrorRate: 0.1, CounterBits: -4}, bloomery.ErrParameter, "-4 bits"},
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
			if !strings.HasPrefix(err.Error(), "counting: "+kind+": ") {
				t.Errorf("%s, %s: %q does not say where it comes from", kind, c.name, err)
			}
		}
	}
}

func TestConfigRefusesCounters(t *testing.T) {
	base := counting.Config{Capacity: 10, ErrorRate: 0.1}
	for name, c := range map[string]struct {
		change func(c *counting.Config)
		want   error
	}{
		"1 bit":               {func(c *counting.Config) { c.CounterBits = 1 }, bloomery.ErrParameter},
		"32 bits":             {func(c *counting.Config) { c.CounterBits = 32 }, bloomery.ErrParameter},
		"-1 copies":           {func(c *counting.Config) { c.Copies = -1 }, bloomery.ErrParameter},
		"all counters full":   {func(c *counting.Config) { c.Overflow = 1 }, bloomery.ErrParameter},
		"a negative share":    {func(c *counting.Config) { c.Overflow = -0.1 }, bloomery.ErrParameter},
		"a share that is NaN": {func(c *counting.Config) { c.Overflow = math.NaN() }, bloomery.ErrParameter},
		"too many copies":     {func(c *counting.Config) { c.Copies = 1 << 20 }, bloomery.ErrTooLarge},
	} {
		config := base
		c.change(&config)
		if _, err := config.New(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestNewPanicsWithASentence(t *testing.T) {
	for name, run := range map[string]func(){
		"New":         func() { counting.New(0, 0.01) },
		"NewSpectral": func() { counting.NewSpectral(10, 1.5) },
		"NewStable":   func() { counting.NewStable(10, 1e-7) },
	} {
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || !errors.Is(err, bloomery.ErrParameter) || !strings.HasPrefix(err.Error(), "counting: new") {
					t.Errorf("%s panicked with %v, want an ErrParameter", name, err)
				}
			}()
			run()
			t.Errorf("%s did not panic", name)
		}()
	}
}

func TestAlloc(t *testing.T) {
	refused := errors.New("no memory")
	for kind, construct := range makers {
		asked := 0
		c := counting.Config{Capacity: 1000, ErrorRate: 0.01, Alloc: func(n int) ([]byte, error) {
			asked = n
			return make([]byte, n+100), nil
		}}
		f, err := construct(c)
		if err != nil || uint64(asked) != f.Stats().Bytes {
			t.Errorf("%s: Alloc was asked for %d bytes (%v), want %d", kind, asked, err, f.Stats().Bytes)
		}
		for what, alloc := range map[string]func(n int) ([]byte, error){
			"too little": func(n int) ([]byte, error) { return make([]byte, n-1), nil },
			"misaligned": func(n int) ([]byte, error) { return make([]byte, n+1)[1:], nil },
			"refusal":    func(int) ([]byte, error) { return nil, refused },
		} {
			c.Alloc = alloc
			if _, err := construct(c); !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, refused) {
				t.Errorf("%s: %s: %v", kind, what, err)
			}
		}
	}
}

// TestCountersTakeTheCapacity inserts the keys that a filter is made for. Counters
// of 2 bits refuse some of them from a rate of 10% on, where a key sets few bits:
// they are refused by the constructor, and computed ones are wide enough.
func TestCountersTakeTheCapacity(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(13, 3))
	for _, p := range []float64{0.9, 0.5, 0.4, 1.0 / 3, 0.3, 0.2, 0.05, 0.01} {
		for _, c := range []counting.Config{{Capacity: n, ErrorRate: p, CounterBits: 2}, {Capacity: n, ErrorRate: p, Overflow: 0.9}} {
			f, err := c.New()
			if err != nil {
				if c.CounterBits == 0 || p < 0.1 || !errors.Is(err, bloomery.ErrParameter) {
					t.Errorf("rate %v, counters of %d bits: %v", p, c.CounterBits, err)
				}
				continue
			}
			for i := range n {
				if err := f.InsertHash(rng.Uint64()); err != nil {
					t.Errorf("rate %v, counters of %d bits: key %d of %d: %v", p, f.Shape().Width, i, n, err)
					break
				}
			}
		}
	}
}

// A refusal names the field that is wrong, in numbers that people read.
func TestRefusalsNameTheField(t *testing.T) {
	for want, c := range map[string]counting.Config{
		"-1 copies of a key":                            {Copies: -1},
		"overflow 2 is not between 0 and 1":             {Overflow: 2},
		"1048576 copies of a key fill counters of 16 b": {Copies: 1 << 20},
	} {
		c.Capacity, c.ErrorRate = 100, 0.01
		if _, err := c.New(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
