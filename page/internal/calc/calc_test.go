package calc_test

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/page/internal/calc"
	"github.com/bloomery/bloomery/sizing"
)

// solve answers a query that must be right.
func solve(t *testing.T, query string) *calc.Answer {
	t.Helper()
	a, faults := calc.Solve(values(t, query))
	if faults != nil {
		t.Fatalf("%s: %v", query, faults)
	}
	return a
}

func values(t *testing.T, query string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(strings.ReplaceAll(query, "%", "%25"))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestFiguresAreThoseOfSizing solves for every figure, in every way to write them.
func TestFiguresAreThoseOfSizing(t *testing.T) {
	for query, want := range map[string]sizing.Params{
		"n=1e6&p=1%":             {N: 1_000_000, P: 0.01},
		"n=1,000,000&p=1 in 100": {N: 1_000_000, P: 0.01},
		"n=10M&p=0.001":          {N: 10_000_000, P: 0.001},
		"n=1e5&m=64KiB":          {N: 100_000, M: 64 << 13},
		"p=0.1%&m=1e6":           {P: 0.001, M: 1_000_000},
		"n=1e6&p=1%&k=3":         {N: 1_000_000, P: 0.01, K: 3},
		"n=1e6&m=1e7&k=5":        {N: 1_000_000, M: 10_000_000, K: 5},
		"p=1%&m=1e7&k=5":         {P: 0.01, M: 10_000_000, K: 5},
		"n=1e6&bits=10":          {N: 1_000_000, M: 10_000_000},
		"m=1e7&bits=10":          {N: 1_000_000, M: 10_000_000},
		"bits=10":                {N: 1_000_000, M: 10_000_000},
		"bits=10&k=4":            {N: 1_000_000, M: 10_000_000, K: 4},
		"k=7":                    {N: 1_000_000, P: 1.0 / 128, K: 7},
		"n=5":                    {N: 5, P: 0.01},
		"p=1%":                   {N: 1_000_000, P: 0.01},
		"m=1MiB":                 {M: 8 << 20, P: 0.01},
		"":                       {N: 1_000_000, P: 0.01},
	} {
		solved, err := sizing.Solve(want)
		if err != nil {
			t.Fatal(err)
		}
		got := solve(t, query).Textbook
		if (sizing.Params{N: got.N, P: got.P, M: got.M, K: got.K}) != solved {
			t.Errorf("%s: %+v, want %+v", query, got, solved)
		}
		if got.Bits != float64(solved.M)/float64(solved.N) || got.Bytes != (solved.M+7)/8 {
			t.Errorf("%s: %v bits per key and %d bytes", query, got.Bits, got.Bytes)
		}
	}
}

// TestFiltersAreThoseOfSizing holds the real filters to the sizes that constructors
// take, or to the size that was given.
func TestFiltersAreThoseOfSizing(t *testing.T) {
	a := solve(t, "n=1e6&p=1%")
	for i, layout := range []sizing.Layout{sizing.Standard, sizing.Blocked} {
		want, err := layout.Size(1_000_000, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Filters[i]
		if got.M != want.Bits || got.K != want.K || got.Rate != want.Rate(1e6) || got.Fill != want.Fill(1e6) {
			t.Errorf("%s: %+v, want %+v with rate %v", layout, got, want, want.Rate(1e6))
		}
		if got.Rate > 0.01 {
			t.Errorf("%s: rate %v is above the one asked", layout, got.Rate)
		}
	}
	for i, want := range []sizing.Shape{{Layout: sizing.Standard, Bits: 1000, K: 3}, {Layout: sizing.Blocked, Bits: 512, K: 3}} {
		if got := solve(t, "n=100&m=1000&k=3").Filters[i]; got.M != want.Bits || got.K != 3 || got.Rate != want.Rate(100) {
			t.Errorf("in 1,000 bits: %+v, want %+v with rate %v", got, want, want.Rate(100))
		}
	}
	if f := solve(t, "n=1e6&p=1e-9").Filters[1]; f.Error == "" || f.M != 0 {
		t.Errorf("blocked at 1e-9: %+v, want the reason why not", f)
	}
	if b := solve(t, "n=1e6&p=1%&k=2").Better; b == nil || b.K != 7 {
		t.Errorf("a better k than 2: %+v, want 7", b)
	}
	if b := solve(t, "n=1e6&p=1%&k=7").Better; b != nil {
		t.Errorf("a better k than 7: %+v", b)
	}
}

// TestCurves holds the points to sizing and the best k to the lowest of them.
func TestCurves(t *testing.T) {
	a := solve(t, "n=1e6&p=1%")
	standard, err := sizing.Standard.Size(1_000_000, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	n := a.Curves.N
	for i, x := range n.X {
		if got, want := *n.Series[0].Y[i], standard.Rate(x); got != want {
			t.Errorf("p(n = %v) = %v, want %v", x, got, want)
		}
	}
	k := a.Curves.K
	lowest, best := math.Inf(1), 0.0
	for i, x := range k.X {
		shape := standard
		shape.K = int(x)
		y := *k.Series[0].Y[i]
		if want := shape.Rate(1e6); y != want {
			t.Errorf("p(k = %v) = %v, want %v", x, y, want)
		}
		if y < lowest {
			lowest, best = y, x
		}
	}
	if k.Series[0].Best != best || best != 7 {
		t.Errorf("the best k is %v, want %v and 7", k.Series[0].Best, best)
	}
	if last := k.Series[1].Y[len(k.X)-1]; len(k.X) > 16 && last != nil {
		t.Errorf("a blocked filter with k = %v has the rate %v, want none", k.X[len(k.X)-1], *last)
	}
	m := a.Curves.M
	for i := 1; i < len(m.X); i++ {
		if *m.Series[0].Y[i] >= *m.Series[0].Y[i-1] {
			t.Errorf("p(m = %v) is not below that of fewer bits", m.X[i])
		}
	}
	if m.X[0] > 2_500_000 || m.X[len(m.X)-1] < 38_000_000 {
		t.Errorf("m goes from %v to %v", m.X[0], m.X[len(m.X)-1])
	}
}

// TestKinds wants every kind in the comparison, those that do not serve, too, and
// the three exact sets.
func TestKinds(t *testing.T) {
	a := solve(t, "n=1e6&p=1%&needs=deletes")
	byName := map[string]calc.Choice{}
	for _, c := range a.Kinds {
		byName[c.Name] = c
	}
	for _, name := range []string{"bloom", "standard", "partitioned", "split", "scalable", "concurrent", "cuckoo", "quotient", "growing", "counting", "spectral", "stable", "window", "striped", "fuse", "ribbon"} {
		if c, ok := byName[name]; !ok || c.Bytes == 0 || c.Exact {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, name := range []string{"go map", "sorted array", "redis set"} {
		if c := byName[name]; !c.Exact || c.Bytes <= byName["bloom"].Bytes {
			t.Errorf("%s: %+v", name, c)
		}
	}
	advice, err := sizing.Advise(sizing.Needs{Keys: 1_000_000, ErrorRate: 0.01, Deletes: true})
	if err != nil {
		t.Fatal(err)
	}
	if a.Take != advice.Take() || byName[a.Take].Rank != 1 {
		t.Errorf("take %s of rank %d, want %s of rank 1", a.Take, byName[a.Take].Rank, advice.Take())
	}
	if c := byName["bloom"]; c.Serves || !strings.Contains(c.Reason, "delete") {
		t.Errorf("bloom serves where keys are deleted: %+v", c)
	}
	if a := solve(t, "n=100&p=1%"); a.Take != "go map" || a.Kind == "go map" {
		t.Errorf("100 keys: take %s, and copy %s", a.Take, a.Kind)
	}
	if a := solve(t, "n=1e6&m=1"); a.Kinds == nil || len(a.Kinds) != 0 || len(a.Warnings) == 0 || a.Take != "no filter" {
		t.Errorf("a million keys in one bit: kinds %v, warnings %v, take %s", a.Kinds, a.Warnings, a.Take)
	}
	if a := solve(t, "n=10000&m=1MB"); a.Take != "bloom" || !slices.ContainsFunc(a.Warnings, func(w calc.Warning) bool { return strings.HasPrefix(w.Text, "Oversized: of 1 MiB, ") }) {
		t.Errorf("100 times too much memory: take %s, warnings %v", a.Take, a.Warnings)
	}
	for _, query := range []string{"n=10000&m=1MB", "n=10000&m=20KB&needs=growth", "m=1MB&p=1%", "m=10000&p=0.1%&k=4", "n=1000&bits=9.7"} {
		a := solve(t, query)
		for _, c := range a.Kinds {
			if !c.Exact && c.Bytes > a.Textbook.Bytes {
				t.Errorf("%s: %s takes %d bytes of %d", query, c.Name, c.Bytes, a.Textbook.Bytes)
			}
		}
		for _, f := range a.Filters {
			if f.Bytes > a.Textbook.Bytes {
				t.Errorf("%s: %s takes %d bytes of %d", query, f.Name, f.Bytes, a.Textbook.Bytes)
			}
		}
	}
	ranks := map[int]int{}
	for i, c := range a.Kinds {
		ranks[c.Rank]++
		if i > 0 && c.Bytes < a.Kinds[i-1].Bytes {
			t.Errorf("%s stands behind %s and is smaller", c.Name, a.Kinds[i-1].Name)
		}
		if isBuilt := c.Name == "fuse" || c.Name == "ribbon"; c.Static != isBuilt {
			t.Errorf("%s: static = %t", c.Name, c.Static)
		}
	}
	if len(advice.Others) == 0 || ranks[1] != 1 || ranks[len(advice.Kinds)] != 1 {
		t.Errorf("ranks %v of %d kinds, %d others", ranks, len(advice.Kinds), len(advice.Others))
	}
}

// TestFaults holds every bad value to a message of its own field.
func TestFaults(t *testing.T) {
	for query, field := range map[string]string{
		"n=0": "n", "n=-1": "n", "n=many": "n", "n=nan": "n", "n=1e30": "n", "n=1.5": "n", "n=10MB": "n",
		"p=0": "p", "p=1": "p", "p=nan": "p", "p=inf": "p", "p=-0.1": "p", "p=100%": "p", "p=1 in 0": "p",
		"m=0": "m", "m=-5": "m", "m=2EiB": "m", "m=1e40": "m", "m=MiB": "m",
		"k=0": "k", "k=-1": "k", "k=1.5": "k", "k=1e9": "k", "k=5000": "k", "n=1e6&p=1%&k=0": "k",
		"bits=0": "bits", "bits=-1": "bits", "bits=nan": "bits", "bits=inf": "bits", "bits=1e9": "bits", "bits=1000.5": "bits",
		"n=9e18&bits=100": "bits", "m=5&bits=100": "bits", "p=1%&bits=10": "bits", "n=5&m=5&bits=10": "bits", "n=5&p=1%&m=5": "m",
		"n=10000&m=1GB": "m", "n=9e18&p=1e-300": "p", "m=1&p=1e-9": "m",
		"needs=wings": "needs", "needs=immutable,growth": "needs",
		"key_bytes=0": "key_bytes", "key_bytes=1e12": "key_bytes", "cost=0": "cost", "cost=cheap": "cost", "absent=0": "absent", "absent=200%": "absent",
		"memory=0": "memory", "memory=lots": "memory", "kind=hash": "kind", "kind=split&n=1e6&p=1e-9": "kind", "x=1": "x",
		"n=" + strings.Repeat("1", 65): "n",
	} {
		a, faults := calc.Solve(values(t, query))
		if faults[field] == "" || len(faults) != 1 {
			t.Errorf("%s: %v, %v, want a fault of %s alone", query, a, faults, field)
		}
	}
	_, faults := calc.Solve(values(t, "n=x&p=y&m=z&k=w&bits=v&absent=u"))
	for _, field := range []string{"n", "p", "m", "k", "bits", "absent"} {
		if faults[field] == "" {
			t.Errorf("no fault of %s among %v", field, faults)
		}
	}
	if _, faults := calc.Solve(url.Values{"n": {"1", "2"}}); faults["n"] == "" {
		t.Error("two values of n are taken")
	}
}

// TestFaultsAreExplained checks messages that another fault of the field would hide,
// and that an unknown field comes back whole as long as it is short.
func TestFaultsAreExplained(t *testing.T) {
	name := strings.Repeat("x", 64)
	for query, want := range map[string]string{
		"n=9e18&bits=100": "too many, at most 2^63",
		"m=5&bits=100":    "no whole key",
		"bits=1001":       "up to 1000",
		name + "=1":       name + ": there is no such field",
		name + "y=1":      name + "…: there is no such field",
	} {
		if _, faults := calc.Solve(values(t, query)); !strings.Contains(faults.Error(), want) {
			t.Errorf("%s: %v, want %q", query, faults, want)
		}
	}
	if got := solve(t, "bits=1000").Textbook.Bits; got != 1000 {
		t.Errorf("%v bits per key, want 1000", got)
	}
}

// TestShapesOfGivenBits checks the filters of a given size: the k with the lowest
// rate, and whole blocks that are never more than 2^63 bits.
func TestShapesOfGivenBits(t *testing.T) {
	for i, f := range solve(t, "n=100&m=1024").Filters {
		s := sizing.Shape{Layout: []sizing.Layout{sizing.Standard, sizing.Blocked}[i], Bits: 1024, K: f.K}
		rate := s.Rate(100)
		if f.Error != "" || f.Rate != rate {
			t.Errorf("%+v, want the rate %v", f, rate)
		}
		for s.K = 1; s.Valid() == nil; s.K++ {
			if s.Rate(100) < rate {
				t.Errorf("%s: k = %d has a lower rate than %d", f.Name, s.K, f.K)
			}
		}
	}
	if got := solve(t, "n=1e18&m=9223372036854775807").Filters[1].M; got != 1<<63-512 {
		t.Errorf("a blocked filter in 2^63 - 1 bits has %d, want 2^63 - 512", got)
	}
}

// TestCurvesEnd checks the ends of the curves, those of a given k, and what there is
// where no filter can be made.
func TestCurvesEnd(t *testing.T) {
	c := solve(t, "n=1e6&p=1%").Curves
	if first, last := c.M.X[0], c.M.X[len(c.M.X)-1]; math.Abs(first/c.M.Mark-0.25) > 1e-6 || math.Abs(last/c.M.Mark-4) > 1e-6 {
		t.Errorf("the curve over bits goes from %v to %v, want a fourth to four times %v", first, last, c.M.Mark)
	}
	if last := c.N.X[len(c.N.X)-1]; last != 2e6 {
		t.Errorf("the curve over keys ends at %v, want twice as many", last)
	}
	if last := c.K.X[len(c.K.X)-1]; last != 14 {
		t.Errorf("the curve over hashes ends at %v, want 14", last)
	}
	for query, want := range map[string]float64{"n=1e6&p=50%": 10, "n=1e6&p=1e-9": 40} {
		if k := solve(t, query).Curves.K; k.X[len(k.X)-1] != want {
			t.Errorf("%s: the curve over hashes ends at %v, want %v", query, k.X[len(k.X)-1], want)
		}
	}
	if c := solve(t, "n=1&m=4").Curves.M; c.X[0] != 1 {
		t.Errorf("the curve over bits starts at %v, want 1", c.X[0])
	}
	for i, layout := range []sizing.Layout{sizing.Standard, sizing.Blocked} {
		given := solve(t, "n=1e4&m=512000&k=3").Curves.M
		for j, x := range given.X {
			s := sizing.Shape{Layout: layout, Bits: uint64(x), K: 3}
			s.Bits += -s.Bits % layout.Unit()
			if y := given.Series[i].Y[j]; y == nil || *y != s.Rate(1e4) {
				t.Errorf("%s: p(m = %v) = %v with k = 3, want %v", layout, x, y, s.Rate(1e4))
			}
		}
		for j, y := range c.M.Series[i].Y {
			if y == nil {
				t.Errorf("%s: no rate in %v bits", layout, c.M.X[j])
			}
		}
	}
	// The textbook's k grows with the array, that of a filter ends at 64.
	most := solve(t, "n=10&m=800").Curves.M
	last := len(most.X) - 1
	s := sizing.Shape{Layout: sizing.Standard, Bits: uint64(most.X[last]), K: 64}
	if y := most.Series[0].Y[last]; y == nil || *y != s.Rate(10) {
		t.Errorf("p(m = %v) = %v, want that of k = 64: %v", most.X[last], y, s.Rate(10))
	}
	// Where every rate is 1, the fewest hashes are the best.
	if best := solve(t, "n=1e6&m=512").Curves.K.Series[0].Best; best != 1 {
		t.Errorf("the best k of a full filter is %v, want 1", best)
	}
	a := solve(t, "n=1e4&m=1e7&k=65")
	data, err := json.Marshal(a.Curves)
	if err != nil || strings.Contains(string(data), `"series":null`) || len(a.Curves.N.Series) != 0 {
		t.Errorf("curves without filters: %v, %s", err, data)
	}
}

func FuzzSolve(f *testing.F) {
	f.Add("1e6", "1%", "", "", "", "", "", "")
	f.Add("", "", "64KiB", "3", "10", "growth,deletes", "1k", "cuckoo")
	f.Add("9e18", "1e-300", "8EiB", "1048576", "1000", "adversary", "never", "fuse")
	f.Fuzz(func(t *testing.T, n, p, m, k, bits, needs, cost, kind string) {
		q := url.Values{"n": {n}, "p": {p}, "m": {m}, "k": {k}, "bits": {bits}, "needs": {needs}, "cost": {cost}, "kind": {kind}}
		a, faults := calc.Solve(q)
		if (a == nil) == (faults == nil) {
			t.Fatalf("an answer and faults, or neither: %v, %v", a, faults)
		}
		if faults != nil {
			if faults.Error() == "" {
				t.Fatal("faults without a message")
			}
			return
		}
		data, err := json.Marshal(a)
		if err != nil { // NaN and Inf have no encoding
			t.Fatal(err)
		}
		if len(data) > 64<<10 {
			t.Fatalf("an answer of %d bytes", len(data))
		}
		if n := a.Textbook.N; n == 0 || a.Textbook.M == 0 || a.Textbook.K == 0 {
			t.Fatalf("figures %+v", a.Textbook)
		}
	})
}
