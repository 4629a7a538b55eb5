package sizing_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func ExampleCuckooSize() {
	c, err := sizing.CuckooSize(1_000_000, 0.001)
	fmt.Println(c.Buckets, "buckets,", c.Width, "bits,", err)
	fmt.Printf("%.2f bits per key, rate %.4f%%\n", float64(c.Bits())/1e6, 100*c.Rate(1e6))
	// Output:
	// 263158 buckets, 13 bits, <nil>
	// 13.68 bits per key, rate 0.0927%
}

// widths are those that CuckooSize may take for many keys.
func cuckooWidths() []int {
	widths := []int{32}
	for w := 6; w <= 30; w++ {
		widths = append(widths, w)
	}
	return widths
}

// The size takes the keys, keeps the rate, and no other width or fewer buckets
// would do with less.
func TestCuckooSizeIsSmallest(t *testing.T) {
	for _, n := range []uint64{9, 10, 63, 100, 1000, 4321, 100_000, 1_000_000, 123_456_789, 1 << 40} {
		for _, p := range []float64{0.9, 0.3, 0.05, 0.01, 0.0099, 1e-3, 1e-4, 1e-6, 1e-8, sizing.MinCuckooRate} {
			c, err := sizing.CuckooSize(n, p)
			if err != nil {
				t.Fatal(err)
			}
			if c.Valid() != nil || c.Capacity() < n || c.Rate(float64(n)) > p {
				t.Errorf("%d keys at %g: %+v has capacity %d and rate %g", n, p, c, c.Capacity(), c.Rate(float64(n)))
			}
			for _, w := range cuckooWidths() {
				less := sizing.Cuckoo{Buckets: (c.Bits() - 1) / uint64(8*w) * 2, Width: w}
				if less.Capacity() >= n && less.Rate(float64(n)) <= p {
					t.Errorf("%d keys at %g: %+v, but %+v is smaller", n, p, c, less)
				}
			}
		}
	}
}

// Few keys fit into two buckets whatever their hashes are.
func TestCuckooSizeOfFewKeys(t *testing.T) {
	for n := uint64(1); n <= 8; n++ {
		for _, p := range []float64{0.9, 0.1, 1e-3, 2e-9} {
			c, err := sizing.CuckooSize(n, p)
			if err != nil || c.Buckets != 2 || c.Rate(float64(n)) > p {
				t.Errorf("%d keys at %g: %+v, rate %g (%v), want 2 buckets", n, p, c, c.Rate(float64(n)), err)
			}
		}
	}
}

func TestCuckooBitsPerKey(t *testing.T) {
	for _, c := range []struct{ p, limit float64 }{{0.03, 8.5}, {0.01, 10.6}, {0.0019, 12.8}, {1e-3, 13.8}, {1.2e-4, 17}, {1e-6, 24.3}} {
		for n := uint64(10_000); n < 1<<40; n *= 3 {
			s, err := sizing.CuckooSize(n, c.p)
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(s.Bits()) / float64(n); got > c.limit {
				t.Errorf("n = %d, p = %g: %.3f bits per key, want at most %g", n, c.p, got, c.limit)
			}
		}
	}
}

func TestCuckooErrors(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		p    float64
		want error
		say  string
	}{
		{0, 0.01, bloomery.ErrParameter, "n = 0"},
		{10, 0, bloomery.ErrParameter, "rate 0"},
		{10, -1, bloomery.ErrParameter, "rate -1"},
		{10, 1, bloomery.ErrParameter, "rate 1"},
		{10, math.NaN(), bloomery.ErrParameter, "NaN"},
		{10, math.Inf(1), bloomery.ErrParameter, "Inf"},
		{10, 1.9e-9, bloomery.ErrParameter, "2e-09"},
		{1 << 62, 0.01, bloomery.ErrTooLarge, "2^63"},
		{math.MaxUint64, 0.9, bloomery.ErrTooLarge, "2^63"},
	} {
		if s, err := sizing.CuckooSize(c.n, c.p); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("CuckooSize(%d, %v) = %+v, %v, want %v with %q", c.n, c.p, s, err, c.want, c.say)
		}
	}
	for _, c := range []sizing.Cuckoo{{}, {2, 3}, {2, 31}, {2, 33}, {2, -1}, {0, 8}, {3, 8}, {1 << 60, 8}, {math.MaxUint64 - 1, 32}} {
		if err := c.Valid(); !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%+v is valid: %v", c, err)
		}
	}
	var zero sizing.Cuckoo
	if zero.Rate(1) != 1 || zero.Rate(0) != 0 || zero.Capacity() != 0 || zero.Bits() != 0 {
		t.Errorf("zero: rate %g, capacity %d, bits %d", zero.Rate(1), zero.Capacity(), zero.Bits())
	}
	c := sizing.Cuckoo{Buckets: 100, Width: 8}
	if c.Rate(math.NaN()) != 1 || c.Rate(-1) != 0 || c.Rate(math.Inf(1)) != 1 {
		t.Errorf("rates of no number of keys: %g, %g, %g", c.Rate(math.NaN()), c.Rate(-1), c.Rate(math.Inf(1)))
	}
}

// TestCuckooRateSimulated holds the rate to that of true random keys: each has
// one of the pairs of buckets that belong together, and a fingerprint.
func TestCuckooRateSimulated(t *testing.T) {
	const trials = 400
	rng := rand.New(rand.NewPCG(13, 2))
	for _, c := range []struct {
		shape sizing.Cuckoo
		keys  int
	}{
		{sizing.Cuckoo{Buckets: 2, Width: 4}, 8},
		{sizing.Cuckoo{Buckets: 2, Width: 6}, 3},
		{sizing.Cuckoo{Buckets: 10, Width: 6}, 12},
		{sizing.Cuckoo{Buckets: 36, Width: 8}, 100},
		{sizing.Cuckoo{Buckets: 100, Width: 10}, 380},
	} {
		var rates sample
		classes := int(c.shape.Buckets/2) * (1<<c.shape.Width - 1)
		for range trials {
			taken := map[int]bool{}
			for range c.keys {
				taken[rng.IntN(classes)] = true
			}
			rates.add(float64(len(taken)) / float64(classes))
		}
		rates.check(t, c.shape.Rate(float64(c.keys)), "rate of %d keys in %+v", c.keys, c.shape)
	}
}

// More buckets never take fewer keys, and full tables are as full as promised.
func TestCuckooCapacityGrows(t *testing.T) {
	for _, w := range cuckooWidths() {
		last := uint64(0)
		for m := uint64(2); m < 1<<50; m += 2 + m/8*2 {
			c := sizing.Cuckoo{Buckets: m, Width: w}
			got := c.Capacity()
			if got < last || got > c.Slots() {
				t.Fatalf("%+v takes %d keys, a smaller one %d", c, got, last)
			}
			if load := float64(got) / float64(c.Slots()); w >= 8 && m > 2600 && m < 1<<30 && load < 0.9499 {
				t.Errorf("%+v takes %d keys, load %.3f", c, got, load)
			}
			last = got
		}
	}
}

// TestCuckooWithoutTable checks the rate of shapes that are none, and that the
// narrowest fingerprints take 8 keys however many buckets there are.
func TestCuckooWithoutTable(t *testing.T) {
	for _, c := range []sizing.Cuckoo{{}, {Width: 8}, {Buckets: 2}} {
		if got := c.Rate(1); got != 1 {
			t.Errorf("rate of %+v = %v, want 1", c, got)
		}
	}
	for width, isMore := range map[int]bool{4: false, 5: false, 6: true} {
		if got := (sizing.Cuckoo{Buckets: 1 << 10, Width: width}).Capacity(); (got > 8) != isMore {
			t.Errorf("1024 buckets with fingerprints of %d bits take %d keys", width, got)
		}
	}
}
