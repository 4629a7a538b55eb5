package measuring

// Tests of the measurement itself, with a subject whose errors are known.

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// TestScramble holds Scramble to the first values of SplitMix64 with seed 0.
func TestScramble(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := Scramble(uint64(i) * step); got != want {
			t.Errorf("value %d = %#x, want %#x", i, got, want)
		}
	}
}

// TestKeyKinds asks for keys of every kind, appended to others.
func TestKeyKinds(t *testing.T) {
	want := map[string]string{
		"random":     "before" + "\xf4\x65\xb9\xa1\x6a\x9e\x78\x6e",
		"sequential": "before" + "\x15\x7c\x4a\x7f\xb9\x79\x37\x9e",
		"user":       "before" + "user:1400714819323198485", // the last 19 of 20 digits
		"url":        "before" + "https://www.example.com/catalogue/89/item?id=11400714819323198485",
	}
	const number = 0x9e3779b97f4a7c15
	for _, k := range KeyKinds() {
		if got := string(k.Append([]byte("before"), number)); got != want[k.Name] {
			t.Errorf("%s key = %q, want %q", k.Name, got, want[k.Name])
		}
		delete(want, k.Name)
		seen := map[string]bool{}
		for i := range uint64(1000) {
			seen[string(k.Append(nil, i))] = true
		}
		if len(seen) != 1000 {
			t.Errorf("%d different %s keys of 1000", len(seen), k.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("no kinds for %v", want)
	}
	if got := string(appendPadded([]byte("u"), 42, 5)); got != "u00042" {
		t.Errorf("42 with 5 digits = %q", got)
	}
}

// odd is a subject that keeps all keys, denies those of its own in deny, and
// answers with yes for one absent key in every.
type odd struct {
	own, asked map[string]bool
	deny       int
	every      int
	sizes      []int // of batches, those that ask too
}

func (o *odd) subject() Subject {
	o.own, o.asked = map[string]bool{}, map[string]bool{}
	return Subject{
		Add: func(keys [][]byte) {
			o.sizes = append(o.sizes, len(keys))
			for _, k := range keys {
				o.own[string(k)] = true
			}
		},
		Contains: func(dst []bool, keys [][]byte) {
			o.sizes = append(o.sizes, len(keys))
			for i, k := range keys {
				dst[i] = o.own[string(k)]
				if dst[i] {
					if o.deny > 0 {
						o.deny--
						dst[i] = false
					}
					continue
				}
				o.asked[string(k)] = true
				dst[i] = o.every > 0 && len(o.asked)%o.every == 0
			}
		},
	}
}

// TestRun measures subjects whose errors are known: each filter gets keys of its
// own, and absent ones of its own.
func TestRun(t *testing.T) {
	var filters []*odd
	plan := Plan{Keys: KeyKinds()[1], N: 600, Filters: 3, Queries: 1000, Seed: 5}
	r := Run(plan, func() Subject {
		o := &odd{deny: len(filters), every: 10 * (len(filters) + 1)}
		filters = append(filters, o)
		return o.subject()
	})
	// 333 queries each: 33, 16 and 11 are answered with yes.
	want := Rate{Filters: 3, Keys: 1800, Lost: 0 + 1 + 2, Queries: 999, Wrong: 60, Mean: r.Mean, Sigma: r.Sigma}
	if r != want || math.Abs(r.Mean-60./999) > 1e-12 {
		t.Errorf("Run() = %+v, want %+v", r, want)
	}
	all := map[string]int{}
	for _, f := range filters {
		if fmt.Sprint(f.sizes) != "[256 256 88 256 256 88 256 77]" {
			t.Errorf("keys were added and asked in batches of %v", f.sizes)
		}
		for k := range f.own {
			all[k]++
			if number := binary.LittleEndian.Uint64([]byte(k)) - 5<<41; number >= 1800 {
				t.Errorf("key %d of 1800 is added", number)
			}
		}
		for k := range f.asked {
			all[k]++
			if number := binary.LittleEndian.Uint64([]byte(k)) - 5<<41 - 1<<40; number >= 999 {
				t.Errorf("absent key %d of 999 is asked", number)
			}
		}
	}
	if len(all) != 1800+999 {
		t.Errorf("%d different keys, want %d", len(all), 1800+999)
	}
	first := plan.Keys.Append(nil, 5<<41)
	absent := plan.Keys.Append(nil, 5<<41+1<<40)
	if !filters[0].own[string(first)] || !filters[0].asked[string(absent)] {
		t.Error("the seed does not move the numbers of keys")
	}

	var even odd
	Run(Plan{Keys: KeyKinds()[0], N: 512, Filters: 1, Queries: 256}, even.subject)
	if fmt.Sprint(even.sizes) != "[256 256 256 256 256]" {
		t.Errorf("keys were added and asked in batches of %v", even.sizes)
	}
}

// TestFilters asks for as many filters as hold a million keys, and for one query
// of each at least.
func TestFilters(t *testing.T) {
	nothing := func() Subject {
		return Subject{Add: func([][]byte) {}, Contains: func([]bool, [][]byte) {}}
	}
	for n, want := range map[int]int{333_333: 4, 500_000: 2, 500_001: 2, 1_000_000: 1, 1_000_001: 1} {
		r := Run(Plan{Keys: Keys{Append: func(dst []byte, _ uint64) []byte { return dst }}, N: n}, nothing)
		if r.Filters != want || r.Queries != uint64(want) || r.Keys != uint64(n*want) || r.Lost != r.Keys {
			t.Errorf("%d keys each: %+v, want %d filters", n, r, want)
		}
	}
}

// TestSigma holds the standard deviation to what is worked out by hand.
func TestSigma(t *testing.T) {
	for _, c := range []struct {
		wrong       []uint64 // of 1000 each
		mean, sigma float64
	}{
		{[]uint64{40}, 0.04, math.Sqrt(0.04 / 1000)},
		{[]uint64{40, 40}, 0.04, math.Sqrt(0.04 / 2000)},
		{[]uint64{100, 300}, 0.2, 0.1},
		{[]uint64{100, 200, 300}, 0.2, math.Sqrt(0.02 / 3 / 2)},
	} {
		r := Each(len(c.wrong), func(i uint64) (wrong, lost, asked uint64) { return c.wrong[i], 1, 1000 })
		if math.Abs(r.Mean-c.mean) > 1e-12 || math.Abs(r.Sigma-c.sigma) > 1e-9 || r.Lost != uint64(len(c.wrong)) {
			t.Errorf("%v of 1000: %+v, want a mean of %g and a sigma of %g", c.wrong, r, c.mean, c.sigma)
		}
	}
}

// TestWilson compares intervals with those of tables.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		yes, n    float64
		low, high float64
	}{
		{0, 0, 0, 1},
		{0, 100, 0, 0.036994},
		{100, 100, 0.963006, 1},
		{10, 100, 0.055229, 0.174366},
		{1, 10, 0.017876, 0.404150},
	} {
		got := Wilson(c.yes, c.n, Sigmas95)
		if math.Abs(got.Low-c.low) > 1e-5 || math.Abs(got.High-c.high) > 1e-5 {
			t.Errorf("Wilson(%v, %v) = %v, want %v to %v", c.yes, c.n, got, c.low, c.high)
		}
	}
}
