package bloom_test

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

// hashes returns n hashes from a generator with this seed.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

func TestIntersect(t *testing.T) {
	const n = 10_000
	all := hashes(n, 1)
	a, b := bloom.New(n, 0.01), bloom.New(n, 0.01)
	a.AddHashes(nil, all[:n*2/3])
	b.AddHashes(nil, all[n/3:])
	if err := a.Intersect(b); err != nil {
		t.Fatal(err)
	}
	for i, h := range all[n/3 : n*2/3] {
		if !a.ContainsHash(h) {
			t.Fatalf("key %d of both sets is missing", i)
		}
	}
	wrong := 0
	for _, h := range all[:n/3] {
		if a.ContainsHash(h) {
			wrong++
		}
	}
	if wrong > n/10 {
		t.Errorf("%d of %d keys of one set are still there", wrong, n/3)
	}

	s, o := bloom.NewStandard(100, 0.01), bloom.NewStandard(100, 0.01)
	s.AddString("both")
	s.AddString("one")
	o.AddString("both")
	if err := s.Intersect(o); err != nil || !s.ContainsString("both") || s.ContainsString("one") {
		t.Errorf("standard: both %v, one %v, %v", s.ContainsString("both"), s.ContainsString("one"), err)
	}

	x, y := bloom.NewSplit(100, 0.01), bloom.NewSplit(100, 0.01)
	x.AddString("both")
	x.AddString("one")
	y.AddString("both")
	if err := x.Intersect(y); err != nil || !x.ContainsString("both") || x.ContainsString("one") {
		t.Errorf("split: both %v, one %v, %v", x.ContainsString("both"), x.ContainsString("one"), err)
	}
	p, q := bloom.NewPartitioned(100, 0.01), bloom.NewPartitioned(100, 0.01)
	p.AddString("both")
	p.AddString("one")
	q.AddString("both")
	if err := p.Intersect(q); err != nil || !p.ContainsString("both") || p.ContainsString("one") {
		t.Errorf("partitioned: both %v, one %v, %v", p.ContainsString("both"), p.ContainsString("one"), err)
	}
}

func TestIncompatible(t *testing.T) {
	base := bloom.Config{Capacity: 1000, ErrorRate: 0.01}
	same := base
	for name, c := range map[string]struct {
		config bloom.Config
		say    string
	}{
		"size":   {bloom.Config{Capacity: 5000, ErrorRate: 0.01}, " bits and "},
		"hashes": {bloom.Config{Bits: 10_240, Hashes: 3}, " hashes and "},
		"seed":   {bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: hashing.Seeded(4)}, "seed 0 and seed 4"},
		"hash":   {bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: hashing.Keyed([16]byte{})}, "xxh3 and siphash"},
	} {
		x, err := same.New()
		if err != nil {
			t.Fatal(err)
		}
		y, err := c.config.New()
		if err != nil {
			t.Fatal(err)
		}
		x.AddString("a")
		y.AddString("b")
		before, _ := x.MarshalBinary()
		_, jaccard := x.Jaccard(y)
		for op, err := range map[string]error{"union": x.Union(y), "intersect": x.Intersect(y), "jaccard": jaccard} {
			if !errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), c.say) ||
				!strings.HasPrefix(err.Error(), "bloom: "+op) {
				t.Errorf("%s of another %s: %v, want one that says %q", op, name, err, c.say)
			}
		}
		if after, _ := x.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("another %s: the refused operation changed the filter", name)
		}
	}
	x, y := bloom.NewStandard(10, 0.1), bloom.NewStandard(5000, 0.1)
	_, jaccard := x.Jaccard(y)
	for _, err := range []error{x.Union(y), x.Intersect(y), jaccard} {
		if !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("standard: %v, want ErrIncompatible", err)
		}
	}
	v, w := bloom.NewSplit(10, 0.1), bloom.NewSplit(5000, 0.1)
	_, jaccard = v.Jaccard(w)
	for _, err := range []error{v.Union(w), v.Intersect(w), jaccard} {
		if !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("split: %v, want ErrIncompatible", err)
		}
	}
	p, q := bloom.NewPartitioned(10, 0.1), bloom.NewPartitioned(5000, 0.1)
	_, jaccard = p.Jaccard(q)
	for _, err := range []error{p.Union(q), p.Intersect(q), jaccard} {
		if !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("partitioned: %v, want ErrIncompatible", err)
		}
	}
}

// The spread of the count estimate at capacity is well below 1/sqrt(n) of it;
// the limits are 5 of that.
func TestEstimateCount(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		for _, share := range []float64{0.1, 1, 3} {
			hs := hashes(int(math.Ceil(float64(n)*share)), 2)
			f, s, p := bloom.New(n, 0.01), bloom.NewStandard(n, 0.01), bloom.NewSplit(n, 0.01)
			f.AddHashes(nil, hs)
			f.AddHashes(nil, hs) // again: nothing changes
			s.AddHashes(nil, hs)
			p.AddHashes(nil, hs)
			part, grown := bloom.NewPartitioned(n, 0.01), bloom.NewScalable(n, 0.01)
			part.AddHashes(nil, hs)
			grown.AddHashes(nil, hs)
			limit := 5*math.Sqrt(float64(len(hs))) + 1
			if want := (bloomery.Stats{Items: f.EstimateCount()}).String(); !strings.Contains(f.String(), strings.Split(want, " key")[0]) {
				t.Errorf("%d of %d keys: %q, want the count of %q", len(hs), n, f, want)
			}
			for kind, got := range map[string]uint64{
				"bloom": f.EstimateCount(), "standard": s.EstimateCount(), "split": p.EstimateCount(),
				"partitioned": part.EstimateCount(), "scalable": grown.EstimateCount(),
			} {
				if math.Abs(float64(got)-float64(len(hs))) > limit {
					t.Errorf("%s for %d with %d keys: EstimateCount() = %d, want within %.0f", kind, n, len(hs), got, limit)
				}
			}
		}
	}
}

// A full filter knows nothing: it must say so, not wrap around.
func TestFullFilter(t *testing.T) {
	f := bloom.New(10, 0.1)
	s := bloom.NewStandard(10, 0.1)
	p, q := bloom.NewSplit(10, 0.1), bloom.NewPartitioned(10, 0.1)
	hs := hashes(100_000, 3)
	f.AddHashes(nil, hs)
	s.AddHashes(nil, hs)
	p.AddHashes(nil, hs)
	q.AddHashes(nil, hs)
	for kind, x := range map[string]interface {
		bloomery.Hashed
		EstimateCount() uint64
	}{"bloom": f, "standard": s, "split": p, "partitioned": q} {
		if got := x.EstimateCount(); got != math.MaxUint64 {
			t.Errorf("%s: EstimateCount() = %d, want the largest number", kind, got)
		}
		st := x.Stats()
		if st.Saturation != 1 || st.Predicted != 1 || st.Items != math.MaxUint64 {
			t.Errorf("%s: %+v, want saturation and rate 1", kind, st)
		}
	}
	if j, err := f.Jaccard(f.Clone()); err != nil || j != 0 {
		t.Errorf("Jaccard of full filters = %v, %v, want 0: nothing is known", j, err)
	}
}

func TestJaccard(t *testing.T) {
	const n = 50_000
	all := hashes(2*n, 4)
	for _, overlap := range []int{0, n / 10, n / 2, n} {
		want := float64(overlap) / float64(2*n-overlap)
		a, b := bloom.New(n, 0.01), bloom.New(n, 0.01)
		a.AddHashes(nil, all[:n])
		b.AddHashes(nil, all[n-overlap:2*n-overlap])
		s, o := bloom.NewStandard(n, 0.01), bloom.NewStandard(n, 0.01)
		s.AddHashes(nil, all[:n])
		o.AddHashes(nil, all[n-overlap:2*n-overlap])
		x, y := bloom.NewSplit(n, 0.01), bloom.NewSplit(n, 0.01)
		x.AddHashes(nil, all[:n])
		y.AddHashes(nil, all[n-overlap:2*n-overlap])
		got1, err1 := a.Jaccard(b)
		got2, err2 := s.Jaccard(o)
		got3, err3 := x.Jaccard(y)
		p, q := bloom.NewPartitioned(n, 0.01), bloom.NewPartitioned(n, 0.01)
		p.AddHashes(nil, all[:n])
		q.AddHashes(nil, all[n-overlap:2*n-overlap])
		got4, err4 := p.Jaccard(q)
		err := errors.Join(err1, err2, err3, err4)
		for kind, got := range map[string]float64{"bloom": got1, "standard": got2, "split": got3, "partitioned": got4} {
			// Three counts, each off by less than 0.3% (sigma).
			if math.Abs(got-want) > 0.03 || err != nil {
				t.Errorf("%s: Jaccard = %.4f, want %.4f within 0.03 (%v)", kind, got, want, err)
			}
		}
	}
	if j, err := bloom.New(10, 0.1).Jaccard(bloom.New(10, 0.1)); j != 1 || err != nil {
		t.Errorf("Jaccard of empty filters = %v, %v, want 1", j, err)
	}
}

// As the union saturates Jaccard becomes inexact, and then 0, as its doc says.
func TestJaccardSaturates(t *testing.T) {
	const n = 50_000
	for _, c := range []struct {
		over int
		want float64 // a third is in both
		off  float64
	}{{1, 1. / 3, 0.01}, {6, 1. / 3, 0.01}, {10, 1. / 3, 0.1}, {16, 0, 0}} {
		a, b := bloom.New(n, 0.01), bloom.New(n, 0.01)
		m := c.over * n
		hs := hashes(3*m/2, 9)
		a.AddHashes(nil, hs[:m])
		b.AddHashes(nil, hs[m/2:])
		if got, err := a.Jaccard(b); math.Abs(got-c.want) > c.off || err != nil {
			t.Errorf("%d times the capacity: Jaccard = %.4f, want %.4f within %v (%v)", c.over, got, c.want, c.off, err)
		}
	}
}

// A Scalable estimates, too, how many keys seemed to be there when they came:
// at high rates that are many.
func TestScalableEstimateCount(t *testing.T) {
	for _, c := range []struct{ p, off float64 }{{0.01, 0.01}, {0.2, 0.02}, {0.6, 0.05}} {
		s := bloom.NewScalable(1000, c.p)
		const n = 100_000
		s.AddHashes(nil, hashes(n, 11))
		got := float64(s.EstimateCount())
		if math.Abs(got/n-1) > c.off {
			t.Errorf("p = %v: EstimateCount() = %.0f of %d keys, want within %v", c.p, got, n, c.off)
		}
		if items := float64(s.Stats().Items); c.p > 0.5 && items > 0.94*n {
			t.Errorf("p = %v: %.0f keys changed the filter: the test shows nothing", c.p, items)
		}
	}
	empty := bloom.NewScalable(1000, 0.01)
	if got := empty.EstimateCount(); got != 0 {
		t.Errorf("an empty filter: EstimateCount() = %d", got)
	}
}

// All spellings of add and contains mean the same.
func TestSpellings(t *testing.T) {
	var keys [][]byte
	for i := range 1000 {
		keys = append(keys, []byte(strings.Repeat("k", i%50)+string(rune('a'+i%26))+string(rune('0'+i/26))))
	}
	type adds interface {
		bloomery.Hashed
		bloomery.Adder
		Add([]byte) bool
		AddString(string) bool
		AddKeys([]bool, [][]byte)
		ContainsString(string) bool
		ContainsKeys([]bool, [][]byte)
		AddSeq(iter.Seq[[]byte])
		MarshalBinary() ([]byte, error)
	}
	for kind, make2 := range map[string]func() adds{
		"bloom":       func() adds { return bloom.New(2000, 0.01) },
		"standard":    func() adds { return bloom.NewStandard(2000, 0.01) },
		"split":       func() adds { return bloom.NewSplit(2000, 0.01) },
		"partitioned": func() adds { return bloom.NewPartitioned(2000, 0.01) },
		"scalable":    func() adds { return bloom.NewScalable(20, 0.01) },
	} {
		one := make2()
		for _, key := range keys {
			one.Add(key)
		}
		want, _ := one.MarshalBinary()
		for spelling, fill := range map[string]func(adds){
			"AddString": func(f adds) {
				for _, key := range keys {
					f.AddString(string(key))
				}
			},
			"AddHash": func(f adds) {
				for _, key := range keys {
					f.AddHash(f.Hash(key))
				}
			},
			"AddKeys":             func(f adds) { f.AddKeys(nil, keys) },
			"AddKeys with answer": func(f adds) { f.AddKeys(make([]bool, len(keys)), keys) },
			"AddSeq":              func(f adds) { f.AddSeq(slices.Values(keys)) },
		} {
			f := make2()
			fill(f)
			if got, _ := f.MarshalBinary(); !bytes.Equal(got, want) {
				t.Errorf("%s: %s gives another filter than Add", kind, spelling)
			}
			got := make([]bool, len(keys))
			f.ContainsKeys(got, keys)
			for i, key := range keys {
				if !got[i] || !f.ContainsString(string(key)) || !f.Contains(key) {
					t.Fatalf("%s: %s: key %q is missing", kind, spelling, key)
				}
			}
		}
		// Answers of AddKeys are those of Add, one by one.
		f, g := make2(), make2()
		answers := make([]bool, len(keys))
		f.AddKeys(answers, keys)
		for i, key := range keys {
			if want := g.Add(key); answers[i] != want {
				t.Fatalf("%s: AddKeys answers %v for key %d, Add %v", kind, answers[i], i, want)
			}
		}
	}
}

func TestKeysDoNotEscape(t *testing.T) {
	f, s, x := bloom.New(1000, 0.01), bloom.NewStandard(1000, 0.01), bloom.NewSplit(1000, 0.01)
	p, g := bloom.NewPartitioned(1000, 0.01), bloom.NewScalable(1000, 0.01)
	keys := [][]byte{[]byte("one"), []byte("two")}
	dst := make([]bool, 2)
	for name, run := range map[string]func(){
		"Filter.Add":               func() { var k [16]byte; k[0]++; f.Add(k[:]) },
		"Filter.Contains":          func() { var k [16]byte; k[0]++; f.Contains(k[:]) },
		"Filter.AddString":         func() { f.AddString("a string key") },
		"Filter.ContainsString":    func() { f.ContainsString("a string key") },
		"Filter.AddKeys":           func() { f.AddKeys(dst, keys); f.AddKeys(nil, keys) },
		"Filter.ContainsKeys":      func() { f.ContainsKeys(dst, keys) },
		"Standard.Add":             func() { var k [16]byte; k[0]++; s.Add(k[:]) },
		"Standard.Contains":        func() { var k [16]byte; k[0]++; s.Contains(k[:]) },
		"Standard.AddKeys":         func() { s.AddKeys(dst, keys); s.AddKeys(nil, keys) },
		"Standard.ContainsKeys":    func() { s.ContainsKeys(dst, keys) },
		"Split.Add":                func() { var k [16]byte; k[0]++; x.Add(k[:]) },
		"Split.Contains":           func() { var k [16]byte; k[0]++; x.Contains(k[:]) },
		"Split.AddString":          func() { x.AddString("a string key") },
		"Split.ContainsString":     func() { x.ContainsString("a string key") },
		"Split.AddKeys":            func() { x.AddKeys(dst, keys); x.AddKeys(nil, keys) },
		"Split.ContainsKeys":       func() { x.ContainsKeys(dst, keys) },
		"Partitioned.Add":          func() { var k [16]byte; k[0]++; p.Add(k[:]) },
		"Partitioned.Contains":     func() { var k [16]byte; k[0]++; p.Contains(k[:]) },
		"Partitioned.AddKeys":      func() { p.AddKeys(dst, keys); p.AddKeys(nil, keys) },
		"Partitioned.ContainsKeys": func() { p.ContainsKeys(dst, keys) },
		"Scalable.Add":             func() { var k [16]byte; k[0]++; g.Add(k[:]) },
		"Scalable.Contains":        func() { var k [16]byte; k[0]++; g.Contains(k[:]) },
		"Scalable.AddString":       func() { g.AddString("a string key") },
		"Scalable.ContainsString":  func() { g.ContainsString("a string key") },
		"Scalable.AddKeys":         func() { g.AddKeys(dst, keys); g.AddKeys(nil, keys) },
		"Scalable.ContainsKeys":    func() { g.ContainsKeys(dst, keys) },
	} {
		if got := testing.AllocsPerRun(100, run); got != 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
}

// Large arrays are sampled: Stats must stay close to a full scan.
func TestStatsSample(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	f, s, p := bloom.New(2_000_000, 0.01), bloom.NewStandard(2_000_000, 0.01), bloom.NewSplit(2_000_000, 0.01)
	hs := hashes(1_500_000, 5)
	f.AddHashes(nil, hs)
	s.AddHashes(nil, hs)
	p.AddHashes(nil, hs)
	for kind, c := range map[string][2]float64{
		"bloom":    {f.Stats().Saturation, f.Shape().Fill(float64(f.EstimateCount()))},
		"standard": {s.Stats().Saturation, s.Shape().Fill(float64(s.EstimateCount()))},
		"split":    {p.Stats().Saturation, p.Shape().Fill(float64(p.EstimateCount()))},
	} {
		// 524,288 bits in blocks of 512: sigma of the mean is below 0.0015.
		if math.Abs(c[0]-c[1]) > 0.006 {
			t.Errorf("%s: sampled saturation %.4f, scanned %.4f", kind, c[0], c[1])
		}
	}
}
