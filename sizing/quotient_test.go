package sizing_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// bitsTheory is what a quotient filter takes by the book: 2.125 bits per slot
// beside the remainder, at a load of 95%.
func bitsTheory(p float64) float64 { return (math.Log2(1/p) + 2.125) / 0.95 }

// Every size keeps its rate and its load. From 100,000 keys on, every rate up
// to 0.475 takes at most 1.03 times what the book says: a remainder has whole bits, the
// fraction comes from the slots of a block.
func TestQuotientSize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	worst := 0.0
	for i := range 60_000 {
		n := uint64(math.Pow(10, r.Float64()*7))
		p := math.Pow(10, -r.Float64()*9) * 0.9
		if i%2 == 0 {
			n = uint64(math.Pow(10, 5+r.Float64()*2))
		}
		if i%5 == 0 {
			p = math.Ldexp(1, -1-i%30)
		}
		q, err := sizing.QuotientSize(n, p)
		if err != nil {
			t.Fatalf("n = %d, p = %g: %v", n, p, err)
		}
		if got := q.Rate(float64(n)); got > p {
			t.Fatalf("n = %d, p = %g: rate %g of %+v", n, p, got, q)
		}
		if float64(n) > sizing.MaxQuotientLoad*float64(q.Blocks*uint64(q.Slots)) || n > q.Limit() {
			t.Fatalf("n = %d, p = %g: overloaded %+v", n, p, q)
		}
		if n < 100_000 {
			continue
		}
		over := float64(q.Bits()) / float64(n) / bitsTheory(p)
		if p > 0.475 { // a remainder has at least one bit
			continue
		}
		worst = max(worst, over)
		if limit := 1.03; over > limit {
			t.Fatalf("n = %d, p = %g: %.4f bits per key, %.4f times the theory, want at most %g: %+v",
				n, p, float64(q.Bits())/float64(n), over, limit, q)
		}
	}
	t.Logf("at most %.4f times the theory", worst)
	for _, p := range []float64{1e-2, 1e-3, 1e-4, 1.0 / 256, 1.0 / 65536} {
		q, _ := sizing.QuotientSize(1_000_000, p)
		perKey := float64(q.Bits()) / 1e6
		t.Logf("n = 1e6, p = %.3g: %.3f bits per key, %.4f times the theory: %+v", p, perKey, perKey/bitsTheory(p), q)
	}
}

// The model of the rate is the share of fingerprints that are in use: it is
// held to as many keys thrown at as many fingerprints.
func TestQuotientRate(t *testing.T) {
	q := sizing.Quotient{Blocks: 4, Slots: 64, Remainder: 3}
	const trials = 400
	r := rand.New(rand.NewPCG(2, 7))
	for _, n := range []int{1, 100, 1000, 5000} {
		used := 0
		for range trials {
			seen := map[uint64]bool{}
			for range n {
				seen[r.Uint64N(q.Fingerprints())] = true
			}
			used += len(seen)
		}
		got := float64(used) / trials / float64(q.Fingerprints())
		// The number of used fingerprints varies by less than sqrt(n).
		sigma := math.Sqrt(float64(n)/trials) / float64(q.Fingerprints())
		if want := q.Rate(float64(n)); math.Abs(got-want) > 4*sigma+1e-12 {
			t.Errorf("n = %d: rate %g, predicted %g", n, got, want)
		}
	}
	for _, c := range []struct{ n, want float64 }{{0, 0}, {-1, 0}, {math.Inf(1), 1}, {math.NaN(), 1}} {
		if got := q.Rate(c.n); got != c.want {
			t.Errorf("Rate(%v) = %v, want %v", c.n, got, c.want)
		}
	}
	if got := (sizing.Quotient{}).Rate(1); got != 1 {
		t.Errorf("rate of no size = %v, want 1", got)
	}
}

func TestQuotientSizeRefuses(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		p    float64
		want error
	}{
		{0, 0.1, bloomery.ErrParameter},
		{1, 0, bloomery.ErrParameter},
		{1, 1, bloomery.ErrParameter},
		{1, -1, bloomery.ErrParameter},
		{1, math.NaN(), bloomery.ErrParameter},
		{1, math.Inf(1), bloomery.ErrParameter},
		{1, 1e-300, bloomery.ErrParameter},
		{1 << 40, 1e-9, bloomery.ErrParameter},
		{math.MaxUint64, 0.1, bloomery.ErrTooLarge},
		{1, 5e-324, bloomery.ErrParameter},
	} {
		if q, err := sizing.QuotientSize(c.n, c.p); !errors.Is(err, c.want) || q != (sizing.Quotient{}) {
			t.Errorf("QuotientSize(%d, %g) = %+v, %v, want %v", c.n, c.p, q, err, c.want)
		}
	}
	for _, p := range []float64{0.999, 0.5, 1e-15} {
		for _, n := range []uint64{1, 2, 10, 100} {
			if _, err := sizing.QuotientSize(n, p); err != nil {
				t.Errorf("QuotientSize(%d, %g): %v", n, p, err)
			}
		}
	}
}

// TestQuotientGrown checks the last doubling: it leaves remainders of one bit.
func TestQuotientGrown(t *testing.T) {
	q := sizing.Quotient{Blocks: 1, Slots: 64, Remainder: 2}
	if g, err := q.Grown(121); err != nil || g.Blocks != 2 || g.Remainder != 1 {
		t.Errorf("Grown(121) = %+v, %v, want two blocks with remainders of 1 bit", g, err)
	}
	if g, err := q.Grown(122); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("Grown(122) = %+v, %v, want ErrTooLarge", g, err)
	}
}

// TestQuotientSpill checks that what runs over the end is bounded by the keys, too:
// with 960 of them 116 slots are enough, sqrt(14 * 960), however full the table is.
func TestQuotientSpill(t *testing.T) {
	q, err := sizing.Quotient{Blocks: 8, Slots: 64, Remainder: 8}.Grown(960)
	if err != nil || q.Blocks != 16 || q.Spill != 2 {
		t.Errorf("%+v, %v, want 2 of 16 blocks behind the last", q, err)
	}
}
