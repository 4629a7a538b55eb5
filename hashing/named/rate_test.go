package named_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
	"github.com/bloomery/bloomery/internal/measuring"
)

var table = flag.Bool("table", false, "measure the table of the package doc, see TestFNVTable")

// layouts make filters of both layouts as the measurement wants them.
var layouts = []struct {
	name  string
	fresh func(t *testing.T, c bloom.Config) measuring.Subject
}{
	{"bloom", func(t *testing.T, c bloom.Config) measuring.Subject {
		t.Helper()
		f, err := c.New()
		if err != nil {
			t.Fatal(err)
		}
		return measuring.Subject{Add: func(keys [][]byte) { f.AddKeys(nil, keys) }, Contains: f.ContainsKeys}
	}},
	{"standard", func(t *testing.T, c bloom.Config) measuring.Subject {
		t.Helper()
		f, err := c.NewStandard()
		if err != nil {
			t.Fatal(err)
		}
		return measuring.Subject{Add: func(keys [][]byte) { f.AddKeys(nil, keys) }, Contains: f.ContainsKeys}
	}},
}

// measure returns the rate of filters of n keys, 100,000 keys or more in all,
// asked for as many absent keys as give a thousand wrong answers with -table. Without
// it 15,000 keys and 250 wrong answers will do: 4 sigma are 25% of the rate then, and what
// filters differ by adds little. With -short it is less.
func measure(t *testing.T, h hashing.Hasher, keys measuring.Keys, layout, n int, p float64) measuring.Rate {
	t.Helper()
	plan := measuring.Plan{Keys: keys, N: n, Filters: max(1, 100_000/n), Queries: uint64(1000 / p), Seed: 3}
	if !*table {
		plan.Filters, plan.Queries = max(1, 15_000/n), plan.Queries/4
	}
	if testing.Short() {
		plan.Filters, plan.Queries = max(1, plan.Filters/3), plan.Queries/5
	}
	r := measuring.Run(plan, func() measuring.Subject {
		return layouts[layout].fresh(t, bloom.Config{Capacity: n, ErrorRate: p, Hasher: h})
	})
	if r.Lost > 0 {
		t.Errorf("%d keys forgotten", r.Lost)
	}
	return r
}

// TestKeepsRate holds every function but bare FNV-1a to the rate asked, for
// all kinds of keys, within 4 sigma: one of 128 rows would fail at random
// with a chance of 0.4%. The seed is fixed. With -short there are 32 rows.
func TestKeepsRate(t *testing.T) {
	for _, h := range named.All() {
		if h.Name == "fnv1a" || h.Digests {
			continue
		}
		hasher, err := h.Hasher(secretFor(h))
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range measuring.KeyKinds() {
			t.Run("hash="+h.Name+"/keys="+keys.Name, func(t *testing.T) {
				t.Parallel()
				holdRate(t, hasher, keys)
			})
		}
	}
}

// holdRate measures 1% in both layouts.
func holdRate(t *testing.T, h hashing.Hasher, keys measuring.Keys) {
	t.Helper()
	const p = 1e-2
	rows, sizes := layouts, []int{1000, 30_000}
	if testing.Short() {
		rows, sizes = rows[:1], sizes[:1]
	}
	for layout := range rows {
		for _, n := range sizes {
			r := measure(t, h, keys, layout, n, p)
			if r.Mean > p+4*r.Sigma {
				t.Errorf("%s of %d keys: rate %.4g, asked for %g: more than 4 sigma (%.2g) above",
					layouts[layout].name, n, r.Mean, p, r.Sigma)
			}
		}
	}
}

// TestKeepsLowRates holds every function but bare FNV-1a to 0.1% and 0.01%:
// each key is hashed once and asked of a filter of either layout and rate. 200,000
// absent keys give 200 and 20 wrong answers, so 4 sigma are 28% and 89% of the
// rate; a hash with structure in it is off by much more.
func TestKeepsLowRates(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a quarter of a million hashes of each function")
	}
	for _, h := range named.All() {
		if h.Name == "fnv1a" || h.Digests {
			continue
		}
		hasher, err := h.Hasher(secretFor(h))
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range measuring.KeyKinds() {
			t.Run("hash="+h.Name+"/keys="+keys.Name, func(t *testing.T) {
				t.Parallel()
				holdLowRates(t, hasher, keys)
			})
		}
	}
}

func holdLowRates(t *testing.T, h hashing.Hasher, keys measuring.Keys) {
	t.Helper()
	const n, queries, absent = 50_000, 200_000, 1 << 40
	hash := func(first, n uint64) []uint64 {
		var key []byte
		hs := make([]uint64, n)
		for i := range hs {
			key = keys.Append(key[:0], first+uint64(i))
			hs[i] = h.Hash(key)
		}
		return hs
	}
	members, others := hash(0, n), hash(absent, queries)
	dst := make([]bool, queries)
	for _, p := range []float64{1e-3, 1e-4} {
		c := bloom.Config{Capacity: n, ErrorRate: p, Hasher: h}
		blocked, err := c.New()
		if err != nil {
			t.Fatal(err)
		}
		standard, err := c.NewStandard()
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]interface {
			bloomery.Adder
			bloomery.Hashed
		}{"bloom": blocked, "standard": standard} {
			f.AddHashes(nil, members)
			f.ContainsHashes(dst, others)
			wrong := 0
			for _, yes := range dst {
				if yes {
					wrong++
				}
			}
			if sigma := math.Sqrt(p * queries); float64(wrong) > p*queries+4*sigma {
				t.Errorf("%s: %d wrong answers of %d, asked for %g: more than 4 sigma (%.0f) above", name, wrong, queries, p, sigma)
			}
		}
	}
}

// TestFNVTable measures FNV-1a, bare and mixed, and asks that the package doc
// has the figures to the letter: so nobody need believe what it says of it.
func TestFNVTable(t *testing.T) {
	if !*table {
		t.Skip("the table has filters of a million keys: go test -run FNVTable -table")
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range measuring.KeyKinds() {
		for layout := range layouts {
			line := fmt.Appendf(nil, "//\t%-10s  %-8s", keys.Name, layouts[layout].name)
			for _, n := range []int{1000, 100_000, 1_000_000} {
				bare := measure(t, named.FNV1a(), keys, layout, n, 1e-2)
				line = fmt.Appendf(line, "  %9.2f%%", 100*bare.Mean)
				mixed := measure(t, named.FNV1aMixed(), keys, layout, n, 1e-2)
				if mixed.Mean > 1e-2+4*mixed.Sigma {
					t.Errorf("mixed: %s %d keys in %s: rate %.4g", keys.Name, n, layouts[layout].name, mixed.Mean)
				}
			}
			t.Logf("%s", line)
			if !bytes.Contains(doc, append(line, '\n')) {
				t.Errorf("the package doc has no line %q", line)
			}
		}
	}
}

// TestFiles writes a filter with each function and opens it by a Hasher that
// was made apart: right ones open and unite, others are refused.
func TestFiles(t *testing.T) {
	fresh := func(name string) *bloom.Filter {
		h, err := named.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		hasher, err := h.Hasher(secretFor(h))
		if err != nil {
			t.Fatal(err)
		}
		f, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: hasher}.New()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for i, h := range named.All() {
		f := fresh(h.Name)
		f.AddString("alice")
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		g := fresh(h.Name)
		if err := g.UnmarshalBinary(data); err != nil || !g.ContainsString("alice") {
			t.Errorf("%s: opened by the same function: %v", h.Name, err)
		}
		if err := g.Union(f); err != nil {
			t.Errorf("%s: united with the same function: %v", h.Name, err)
		}
		other := fresh(named.All()[(i+1)%len(named.All())].Name)
		if err := other.UnmarshalBinary(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("%s: opened by another function: %v, want ErrKey", h.Name, err)
		}
	}
}
