package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

func TestTDigestParameters(t *testing.T) {
	for compression, want := range map[int64]error{
		0: bloomery.ErrParameter, -1: bloomery.ErrParameter, math.MinInt64: bloomery.ErrParameter,
		1 << 36: bloomery.ErrTooLarge, 384307168202282316: bloomery.ErrTooLarge, math.MaxInt64: bloomery.ErrTooLarge,
	} {
		p := redisbloom.TDigestParams{Compression: compression}
		if _, err := redisbloom.NewTDigest(p); !errors.Is(err, want) {
			t.Errorf("NewTDigest(%d): %v, want %v", compression, err, want)
		}
		if _, err := p.Bytes(); !errors.Is(err, want) {
			t.Errorf("Bytes of %d: %v, want %v", compression, err, want)
		}
	}
	d := newTDigest(t, 100)
	if n, err := (redisbloom.TDigestParams{Compression: 100}).Bytes(); n != d.Bytes() || n != 128+610*16 || err != nil {
		t.Errorf("Bytes() = %d, %v before and %d after", n, err, d.Bytes())
	}
	if d.Size() != 9840 || d.GrowBytes() != 0 {
		t.Errorf("Size() = %d, GrowBytes() = %d", d.Size(), d.GrowBytes())
	}
}

// TestTDigestAccuracy asks digests of values whose quantiles are known. The
// error of a rank is at most 1/compression, and a tenth of that near the ends.
func TestTDigestAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"uniform":     rng.Float64,
		"normal":      rng.NormFloat64,
		"exponential": rng.ExpFloat64,
		"integers":    func() float64 { return float64(rng.IntN(1000)) },
	} {
		const n = 100000
		d := newTDigest(t, 100)
		values := make([]float64, n)
		for i := range values {
			values[i] = draw()
		}
		if err := d.Add(values...); err != nil {
			t.Fatal(err)
		}
		slices.Sort(values)
		if d.Min() != values[0] || d.Max() != values[n-1] {
			t.Errorf("%s: from %v to %v, want %v to %v", name, d.Min(), d.Max(), values[0], values[n-1])
		}
		for _, q := range []float64{0.0001, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999} {
			limit := 0.01
			if q < 0.02 || q > 0.98 {
				limit = 0.001
			}
			v := d.Quantile(q)
			low, _ := slices.BinarySearch(values, v)
			high, _ := slices.BinarySearch(values, math.Nextafter(v, math.Inf(1)))
			if float64(low)/n > q+limit || float64(high)/n < q-limit {
				t.Errorf("%s: Quantile(%v) = %v, which has the ranks %d to %d", name, q, v, low, high)
			}
			if c := d.CDF(v); c > float64(high)/n+limit || c < float64(low)/n-limit {
				t.Errorf("%s: CDF(%v) = %v, ranks %d to %d", name, v, c, low, high)
			}
		}
		if s := d.Stats(); s.MergedNodes > 100 || d.Observations() != n || s.UnmergedNodes != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestTDigestOne: what is known of a single value, also after a dump, which
// does not have it.
func TestTDigestOne(t *testing.T) {
	d := newTDigest(t, 100)
	if err := d.Add(5); err != nil {
		t.Fatal(err)
	}
	loaded, err := d.Dump().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*redisbloom.TDigest{d, loaded} {
		if d.Min() != 5 || d.Max() != 5 || d.ByRank(0) != 5 || d.Rank(5) != math.MinInt64 || d.RevRank(5) != math.MinInt64 {
			t.Errorf("from %v to %v, ByRank(0) = %v, Rank(5) = %d", d.Min(), d.Max(), d.ByRank(0), d.Rank(5))
		}
		if !math.IsNaN(d.CDF(5)) || !math.IsNaN(d.Quantile(0.5)) || !math.IsNaN(d.TrimmedMean(0, 1)) {
			t.Errorf("CDF(5) = %v, Quantile(0.5) = %v", d.CDF(5), d.Quantile(0.5))
		}
		_ = d.Add(7)
		if d.Quantile(0) != 5 || d.Quantile(1) != 7 || d.Rank(7) != 1 {
			t.Errorf("quantiles from %v to %v, Rank(7) = %d", d.Quantile(0), d.Quantile(1), d.Rank(7))
		}
	}
}

func TestTDigestBadValues(t *testing.T) {
	d := newTDigest(t, 10)
	_ = d.Add(1, 2)
	before, _ := d.MarshalBinary()
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := d.Add(3, v); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("Add(3, %v): %v", v, err)
		}
	}
	if err := d.Merge(d); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("Merge with itself: %v", err)
	}
	if after, _ := d.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("refused values changed the digest")
	}
	for _, v := range []float64{
		d.CDF(math.NaN()), d.Quantile(-0.1), d.Quantile(1.1), d.Quantile(math.NaN()), d.ByRank(-1), d.ByRevRank(-1),
		d.TrimmedMean(0.5, 0.5), d.TrimmedMean(-1, 1), d.TrimmedMean(0, math.NaN()),
	} {
		if !math.IsNaN(v) {
			t.Errorf("a bad question has the answer %v", v)
		}
	}
}

// TestTDigestFull merges digests until the number of values does not fit into
// 63 bits. Nothing is lost on the way, whatever the compression: weights that
// span all powers of two do not fit into the nodes of a low one by themselves.
func TestTDigestFull(t *testing.T) {
	for _, compression := range []int64{1, 2, 100} {
		d := newTDigest(t, compression)
		_ = d.Add(1, 2, 3)
		other := newTDigest(t, compression)
		var err error
		for i := 0; err == nil; i++ {
			if i > 100 {
				t.Fatal("no end")
			}
			_ = other.Merge(d) // its last may be refused
			want := d.Observations() + other.Observations() + 1
			if err = d.Merge(other); err != nil {
				break
			}
			if err = d.Add(float64(i)); err == nil && d.Observations() != want {
				t.Fatalf("%d values, want %d", d.Observations(), want)
			}
			if v := d.Quantile(0.5); v < 0 || v > 100 {
				t.Fatalf("median %v", v)
			}
		}
		if !errors.Is(err, bloomery.ErrFull) || d.Observations() < 0 {
			t.Errorf("Merge: %v with %d values", err, d.Observations())
		}
	}
}

// TestTDigestLopsided adds nodes of weights 1, 2, 4, … to a digest of the lowest
// compression, which keeps more of them apart than it has room for.
func TestTDigestLopsided(t *testing.T) {
	for _, shift := range []int{1, 2, 3} {
		dump := redisbloom.TDigestDump{Compression: 10, Capacity: 70, Min: 0, Max: 100}
		for i := 0; i < 62; i += shift {
			dump.Means = append(dump.Means, float64(i))
			dump.Weights = append(dump.Weights, math.Ldexp(1, i))
			dump.MergedWeight += math.Ldexp(1, i)
			dump.Merged++
		}
		from, err := dump.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		d := newTDigest(t, 1)
		if err := d.Merge(from); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if err := d.Add(float64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if want := from.Observations() + 100; d.Observations() != want {
			t.Errorf("%d values, want %d", d.Observations(), want)
		}
		data, _ := d.MarshalBinary()
		if again, err := redisbloom.DecodeTDigest(data, nil); err != nil || again.Observations() != d.Observations() {
			t.Errorf("weights of nodes do not add up to %d: %v", d.Observations(), err)
		}
		if loaded, err := d.Dump().New(nil); err != nil || loaded.Stats().MergedNodes >= 16 {
			t.Errorf("New of a dump: %v", err)
		}
	}
}

// TestTDigestHugeValues overflows the differences of means: nothing hangs.
func TestTDigestHugeValues(t *testing.T) {
	d := newTDigest(t, 5)
	for i := range 10000 {
		_ = d.Add(math.MaxFloat64, -math.MaxFloat64, float64(i))
	}
	d.Compress()
	data, _ := d.MarshalBinary()
	var again redisbloom.TDigest
	if err := again.UnmarshalBinary(data); err != nil || again.Observations() != 30000 {
		t.Errorf("UnmarshalBinary: %v, %d values", err, again.Observations())
	}
	_ = again.Add(1)
	d.Quantile(0.3)
	d.CDF(7)
}

// quickSort is the sort of the reference restated literally.
func quickSort(nodes [][2]uint64, lo, hi int) {
	mean := func(i int) float64 { return math.Float64frombits(nodes[i][0]) }
	swap := func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] }
	switch {
	case lo >= hi:
		return
	case lo+1 == hi:
		if mean(lo) > mean(hi) {
			swap(lo, hi)
		}
		return
	}
	swap((lo+hi)/2, hi)
	pivot, front := mean(hi), lo
	for j := lo; j < hi; j++ {
		if mean(j) < pivot {
			swap(front, j)
			front++
		}
	}
	swap(front, hi)
	quickSort(nodes, lo, front-1)
	quickSort(nodes, front+1, hi)
}

// TestSortNodes compares with the literal sort: also the order of equal means.
func TestSortNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		nodes := make([][2]uint64, rng.IntN(300))
		values := 1 + rng.IntN(40)
		var flat []uint64
		for i := range nodes {
			v := float64(rng.IntN(values))
			if rng.IntN(50) == 0 {
				v = math.NaN()
			}
			nodes[i] = [2]uint64{math.Float64bits(v), uint64(i)}
			flat = append(flat, nodes[i][:]...)
		}
		redisbloom.SortNodes(flat)
		quickSort(nodes, 0, len(nodes)-1)
		for i := range nodes {
			if flat[2*i] != nodes[i][0] || flat[2*i+1] != nodes[i][1] {
				t.Fatalf("node %d of %d differs", i, len(nodes))
			}
		}
	}
}

// TestSortNodesIsBounded sorts many nodes of few different means, and one whose
// pivots are the worst: each takes well under a second, not minutes.
func TestSortNodesIsBounded(t *testing.T) {
	const n = 100000
	for name, mean := range map[string]func(i int) float64{
		"one":   func(int) float64 { return 7 },
		"two":   func(i int) float64 { return float64(i / (n - 1)) },
		"pipe":  func(i int) float64 { return float64(min(i, n-i)) },
		"three": func(i int) float64 { return float64(i % 3) },
	} {
		flat := make([]uint64, 0, 2*n)
		for i := range n {
			flat = append(flat, math.Float64bits(mean(i)), 1)
		}
		start := time.Now()
		redisbloom.SortNodes(flat)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		for i := 2; i < len(flat); i += 2 {
			if math.Float64frombits(flat[i-2]) > math.Float64frombits(flat[i]) {
				t.Fatalf("%s: not sorted at %d", name, i/2)
			}
		}
	}
}

func TestTDigestAllocs(t *testing.T) {
	d := newTDigest(t, 100)
	values := make([]float64, 1000)
	rng := rand.New(rand.NewPCG(5, 6))
	if got := testing.AllocsPerRun(100, func() {
		for i := range values {
			values[i] = rng.Float64()
		}
		_ = d.Add(values...)
		d.Quantile(0.5)
		d.CDF(0.5)
		d.Rank(0.5)
		d.ByRank(100)
		d.TrimmedMean(0.1, 0.9)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkTDigestAdd(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 1000} {
		for name, draw := range map[string]func() float64{
			"uniform": rng.Float64, "integers": func() float64 { return float64(rng.IntN(100)) }, "one": func() float64 { return 1 },
		} {
			b.Run(fmt.Sprintf("values=%d/of=%s", n, name), func(b *testing.B) {
				d := newTDigest(b, 100)
				values := make([]float64, 1<<16)
				for i := range values {
					values[i] = draw()
				}
				at := 0
				for b.Loop() {
					if at+n > len(values) {
						at = 0
					}
					_ = d.Add(values[at : at+n]...)
					at += n
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
				b.ReportAllocs()
			})
		}
	}
}

// TestTDigestInParts makes digests of the header and the nodes of others.
func TestTDigestInParts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 50, 2000} {
		for _, compression := range []int64{100, 30} {
			d, got := newTDigest(t, 100), newTDigest(t, compression)
			_ = got.Add(7, 8, 9) // to be forgotten
			for i := range n {
				_ = d.Add(float64(i * i % 1009))
			}
			want, _ := d.MarshalBinary()
			merged, waiting := d.Nodes()
			if err := got.Begin(d.AppendHeader(nil)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(got.LoadNodes(merged, false), got.LoadNodes(waiting, true)); err != nil {
				t.Fatalf("%d values: %v", n, err)
			}
			if data, _ := got.MarshalBinary(); !bytes.Equal(data, want) {
				t.Errorf("%d values, of compression %d before: another digest", n, compression)
			}
		}
	}
}

// TestTDigestBadNodes refuses nodes, and nothing changes.
func TestTDigestBadNodes(t *testing.T) {
	node := func(mean float64, weight int64) []byte {
		b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(mean))
		return binary.LittleEndian.AppendUint64(b, uint64(weight))
	}
	d := newTDigest(t, 1) // 16 nodes
	if err := errors.Join(d.LoadNodes(node(1, 2), false), d.LoadNodes(node(5, math.MaxInt64-10), true)); err != nil {
		t.Fatal(err)
	}
	before, _ := d.MarshalBinary()
	for name, c := range map[string]struct {
		data    []byte
		waiting bool
	}{
		"half a node":              {node(1, 1)[:8], true},
		"merged behind waiting":    {node(1, 1), false},
		"too many":                 {bytes.Repeat(node(1, 1), 15), true},
		"no weight":                {node(1, 0), true},
		"negative weight":          {node(1, -1), true},
		"more weight than fits in": {node(1, 9), true},
	} {
		if err := d.LoadNodes(c.data, c.waiting); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if after, _ := d.MarshalBinary(); !bytes.Equal(after, before) {
			t.Errorf("%s: the digest has changed", name)
		}
	}
	if err := d.LoadNodes(node(1, 8), true); err != nil || d.Observations() != math.MaxInt64 {
		t.Errorf("what fits in: %v, %d values", err, d.Observations())
	}
}

// TestTDigestHeavyEnds asks for values within the first and the last node of
// known weights, and in the only one.
func TestTDigestHeavyEnds(t *testing.T) {
	digest := func(least, largest float64, means, weights []float64) *redisbloom.TDigest {
		t.Helper()
		d := newTDigest(t, 100).Dump()
		d.Min, d.Max, d.Merged, d.Means, d.Weights = least, largest, uint64(len(means)), means, weights
		for _, w := range weights {
			d.MergedWeight += w
		}
		loaded, err := d.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	d := digest(5, 40, []float64{10, 20, 30}, []float64{10, 2, 20})
	for x, want := range map[float64]float64{
		1: 5, 2: 6.25, 3: 7.5, 4: 8.75, // from the least to the mean of the first, which has ranks 1 to 5
		22: 30, 26.5: 35, 31: 40, // from the mean of the last to the largest
	} {
		if got := d.Quantile(x / 32); math.Abs(got-want) > 1e-9 {
			t.Errorf("Quantile(%v/32) = %v, want %v", x, got, want)
		}
	}
	if got := digest(5, 40, []float64{10}, []float64{10}).Quantile(0.5); got != 10 {
		t.Errorf("Quantile of one node = %v, want its mean, 10", got)
	}
}

// TestTDigestLargest asks for the memory of the largest digest.
func TestTDigestLargest(t *testing.T) {
	if math.MaxInt < 1<<40 {
		t.Skip("addresses of 32 bits")
	}
	largest := int64(1<<40)/(6*16) - 16
	if n, err := (redisbloom.TDigestParams{Compression: largest}).Bytes(); err != nil || n > 1<<40 {
		t.Errorf("Bytes of compression %d: %d, %v", largest, n, err)
	}
	if _, err := (redisbloom.TDigestParams{Compression: largest + 1}).Bytes(); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("Bytes of compression %d: %v, want ErrTooLarge", largest+1, err)
	}
}
