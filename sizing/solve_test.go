package sizing_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func TestSolve(t *testing.T) {
	for _, c := range []struct{ in, want sizing.Params }{
		{sizing.Params{N: 1_000_000, P: 0.001}, sizing.Params{N: 1_000_000, P: 0.001, M: 14_377_588, K: 10}},
		{sizing.Params{N: 1_000_000, P: 0.01}, sizing.Params{N: 1_000_000, P: 0.01, M: 9_585_059, K: 7}},
		{sizing.Params{N: 10_000, P: 0.01}, sizing.Params{N: 10_000, P: 0.01, M: 95_851, K: 7}},
		{sizing.Params{N: 1_000, P: 0.01}, sizing.Params{N: 1_000, P: 0.01, M: 9_586, K: 7}},
		{sizing.Params{N: 1_000_000, M: 9_585_059}, sizing.Params{N: 1_000_000, P: 0.010039, M: 9_585_059, K: 7}},
		{sizing.Params{N: 1_000_000, M: 8_000_000}, sizing.Params{N: 1_000_000, P: 0.021577, M: 8_000_000, K: 6}},
		{sizing.Params{N: 1_000_000, M: 8_000_000, K: 3}, sizing.Params{N: 1_000_000, P: 0.030579, M: 8_000_000, K: 3}},
		{sizing.Params{N: 10, M: 1}, sizing.Params{N: 10, P: 0.999955, M: 1, K: 1}},
		{sizing.Params{N: 1_000_000, P: 0.01, K: 7}, sizing.Params{N: 1_000_000, P: 0.01, M: 9_592_955, K: 7}},
		{sizing.Params{N: 1_000_000, P: 0.01, K: 4}, sizing.Params{N: 1_000_000, P: 0.01, M: 10_522_705, K: 4}},
		{sizing.Params{P: 0.01, M: 9_585_059}, sizing.Params{N: 1_000_000, P: 0.01, M: 9_585_059, K: 7}},
		{sizing.Params{P: 0.01, M: 9_585_058}, sizing.Params{N: 999_999, P: 0.01, M: 9_585_058, K: 7}},
		{sizing.Params{P: 0.01, M: 9_592_955, K: 7}, sizing.Params{N: 1_000_000, P: 0.01, M: 9_592_955, K: 7}},
	} {
		got, err := sizing.Solve(c.in)
		near := math.Abs(got.P/c.want.P-1) < 1e-4
		if err != nil || got.N != c.want.N || got.M != c.want.M || got.K != c.want.K || !near {
			t.Errorf("Solve(%+v) = %+v, %v, want %+v", c.in, got, err, c.want)
		}
	}
}

func TestSolveBadInput(t *testing.T) {
	for _, c := range []struct {
		in   sizing.Params
		want error
		says string
	}{
		{sizing.Params{}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{N: 1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{P: 0.1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{M: 1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{K: 1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{N: 1, K: 1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{P: 0.1, K: 1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{M: 1, K: 1}, bloomery.ErrParameter, "under-determined"},
		{sizing.Params{N: 1, P: 0.1, M: 5}, bloomery.ErrParameter, "over-determined"},
		{sizing.Params{N: 1, P: 0.1, M: 5, K: 3}, bloomery.ErrParameter, "over-determined"},
		{sizing.Params{N: 1, P: 1}, bloomery.ErrParameter, "rate 1"},
		{sizing.Params{N: 1, P: -1}, bloomery.ErrParameter, "rate -1"},
		{sizing.Params{N: 1, P: math.NaN()}, bloomery.ErrParameter, "rate NaN"},
		{sizing.Params{N: 1, P: math.Inf(1)}, bloomery.ErrParameter, "rate +Inf"},
		{sizing.Params{N: 1, P: math.Inf(-1)}, bloomery.ErrParameter, "rate -Inf"},
		{sizing.Params{N: 1, P: 0.1, K: -1}, bloomery.ErrParameter, "k = -1"},
		{sizing.Params{M: 5, P: 0.01}, bloomery.ErrParameter, "hold no key"},
		{sizing.Params{M: 100, P: 1e-9, K: 1}, bloomery.ErrParameter, "hold no key"},
		{sizing.Params{N: 1, M: 1 << 40}, bloomery.ErrParameter, "oversized: 128 GiB for 1 keys"},
		{sizing.Params{N: math.MaxUint64, M: 5}, bloomery.ErrTooLarge, "keys"},
		{sizing.Params{N: 5, M: math.MaxUint64}, bloomery.ErrTooLarge, "bits"},
		{sizing.Params{N: 1 << 62, P: 0.01}, bloomery.ErrTooLarge, "bits"},
		{sizing.Params{N: 1, P: 1e-300, K: 1}, bloomery.ErrTooLarge, "bits"},
		{sizing.Params{M: 1 << 63, P: 1 - 1e-16}, bloomery.ErrTooLarge, "keys"},
	} {
		got, err := sizing.Solve(c.in)
		if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "sizing: solve: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Solve(%+v) = %v, want %v that says %q", c.in, err, c.want, c.says)
		}
		if got != (sizing.Params{}) {
			t.Errorf("Solve(%+v) = %+v beside an error", c.in, got)
		}
	}
}

// FuzzSolve asks that an answer keeps what was given, and that the figures
// that came out make the rate that went in.
func FuzzSolve(f *testing.F) {
	f.Add(uint64(1_000_000), 0.01, uint64(0), 0)
	f.Add(uint64(1_000_000), 0.0, uint64(9_585_059), 7)
	f.Add(uint64(0), 1e-300, uint64(1)<<63, 1)
	f.Add(uint64(1), 1-1e-16, uint64(0), math.MaxInt)
	f.Add(uint64(1)<<62, 0.0, uint64(1), math.MaxInt)
	f.Add(uint64(1_000_000), 0.8, uint64(0), 0) // less than one bit per key would do
	f.Fuzz(func(t *testing.T, n uint64, p float64, m uint64, k int) {
		in := sizing.Params{N: n, P: p, M: m, K: k}
		got, err := sizing.Solve(in)
		if err != nil {
			if !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Fatalf("Solve(%+v): %v wraps no error of the package", in, err)
			}
			return
		}
		if got.N == 0 || got.N > sizing.MaxBits || got.M == 0 || got.M > sizing.MaxBits || got.K < 1 || !(got.P > 0 && got.P <= 1) {
			t.Fatalf("Solve(%+v) = %+v is out of range", in, got)
		}
		if (n != 0 && got.N != n) || (p != 0 && got.P != p) || (m != 0 && got.M != m) || (k != 0 && got.K != k) {
			t.Fatalf("Solve(%+v) = %+v changes what was known", in, got)
		}
		back, err := sizing.Solve(sizing.Params{N: got.N, M: got.M, K: got.K})
		if err != nil {
			if got.P > 1e-300 {
				t.Fatalf("Solve(%+v) = %+v, and back: %v", in, got, err)
			}
			return
		}
		// Rounding k costs up to a tenth of the rate; a given k costs nothing
		// but the rounding of floats.
		slack := 1.1
		if k != 0 {
			slack = 1 + 1e-9
		}
		if back.P > got.P*slack {
			t.Fatalf("Solve(%+v) = %+v, which has rate %v", in, got, back.P)
		}
	})
}
