package counting_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/sizing"
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
