package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/internal/kernel"
)

// What Sample says of its own error is so: over many arrays whose lines differ
// as those of a blocked filter do, the deviations from the rate of the whole
// array, in sigmas, have a mean of 0 and a variance of 1.
func TestSample(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	const arrays, lines = 400, 40_000
	rate := func(fill float64) float64 { return math.Pow(fill, 12) }
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]uint64, lines)
	var sum, squares float64
	reads := 0
	count := func(line int) uint64 { reads++; return all[line] }
	for range arrays {
		total := 0.0
		for i := range all {
			all[i] = uint64(min(512, max(0, 240+30*rng.NormFloat64())))
			total += float64(all[i])
		}
		reads = 0
		s := kernel.Sample(lines, count, rate, 0)
		whole := rate(total / (512 * lines))
		z := (s.Rate - whole) / s.Sigma
		sum += z
		squares += z * z
		if s.Sigma > 0.03*s.Rate || math.Abs(s.Fill-total/(512*lines)) > 0.003 {
			t.Fatalf("%+v of an array with fill %v and rate %v", s, total/(512*lines), whole)
		}
		if reads > 1<<14+1<<10 {
			t.Fatalf("%d lines were read", reads)
		}
	}
	// Sigma of the mean is 1/sqrt(400), that of the variance sqrt(2/400): 4 of
	// each are allowed.
	if mean, variance := sum/arrays, squares/arrays; math.Abs(mean) > 0.2 || math.Abs(variance-1) > 0.29 {
		t.Errorf("deviations have mean %v and variance %v, want 0 and 1", mean, variance)
	}
}

func TestSampleReadsNoMoreThanNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		lines     int
		rate      func(float64) float64
		tolerance float64
		want      int
	}{
		"nothing":   {0, math.Sqrt, 0, 0},
		"a line":    {1, math.Sqrt, 0, 1},
		"64 KiB":    {1024, math.Sqrt, 0, 1024},
		"flat":      {1 << 20, math.Sqrt, 0, 1024},
		"steep":     {1 << 20, func(f float64) float64 { return math.Pow(f, 100) }, 0, 1024 + 1<<14},
		"tolerated": {1 << 20, func(f float64) float64 { return math.Pow(f, 100) }, 1, 1024},
		"all of it": {9000, func(f float64) float64 { return math.Pow(f, 100) }, 0, 1024 + 9000},
	} {
		reads, last := 0, -1
		s := kernel.Sample(c.lines, func(line int) uint64 {
			if line >= c.lines {
				t.Fatalf("%s: line %d is read", name, line)
			}
			reads++
			last = max(last, line)
			return 200 + uint64(line*7919%100)
		}, c.rate, c.tolerance)
		if reads != c.want {
			t.Errorf("%s: %d lines are read, want %d", name, reads, c.want)
		}
		if whole := c.want >= c.lines; whole && s.Sigma != 0 || !whole && s.Sigma <= 0 {
			t.Errorf("%s: sigma %v", name, s.Sigma)
		}
		if last < c.lines*9/10-1 {
			t.Errorf("%s: nothing is read behind line %d of %d", name, last, c.lines)
		}
	}
}
