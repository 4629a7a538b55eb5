package redisbloom_test

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// downloads is a popularity curve of the real world: the share of all downloads
// that npm packages of some ranks had, from the package download-counts of
// March 2026 (3,771,841 packages). Between two ranks the curve is a straight
// line on logarithmic scales.
var downloads = []struct{ rank, share float64 }{
	{1, 4.596e-3}, {10, 2.906e-3}, {50, 1.307e-3}, {100, 1.003e-3}, {200, 7.387e-4}, {500, 4.253e-4}, {1000, 2.630e-4},
	{2000, 1.078e-4}, {5000, 2.210e-5}, {10000, 5.219e-6}, {20000, 1.040e-6}, {100000, 1.507e-8},
}

// drawDownloads returns a function that draws ranks from the curve, from 0.
func drawDownloads(rng *rand.Rand) func() int {
	var sums []float64
	sum := 0.0
	for i, p := range downloads[:len(downloads)-1] {
		next := downloads[i+1]
		slope := math.Log(next.share/p.share) / math.Log(next.rank/p.rank)
		for r := p.rank; r < next.rank; r++ {
			sum += p.share * math.Pow(r/p.rank, slope)
			sums = append(sums, sum)
		}
	}
	return func() int {
		i, _ := slices.BinarySearch(sums, rng.Float64()*sum)
		return min(i, len(sums)-1)
	}
}

// TestTopKOfDownloads draws from the curve of downloads: a sketch of 86 KB finds
// at least 95 of the 100 most frequent packages, with counts within 1%.
func TestTopKOfDownloads(t *testing.T) {
	draws := 2_000_000
	if testing.Short() {
		draws = 1_000_000
	}
	draw := drawDownloads(rand.New(rand.NewPCG(1, 2)))
	k := newTopK(t, redisbloom.TopKParams{K: 100, Width: 2000, Depth: 5, Decay: 0.9})
	names := map[int][]byte{}
	truth := map[string]uint32{}
	for range draws {
		rank := draw()
		if names[rank] == nil {
			names[rank] = item(rank)
		}
		k.Add(names[rank])
		truth[string(names[rank])]++
	}
	most := slices.SortedFunc(maps.Keys(truth), func(a, b string) int { return cmp.Compare(truth[b], truth[a]) })[:100]
	found, worst := 0, 0.0
	for it, count := range k.All() {
		if slices.Contains(most, string(it)) {
			found++
		}
		n := float64(truth[string(it)])
		worst = max(worst, math.Abs(float64(count)-n)/n)
	}
	t.Logf("%d draws of %d packages: %d of 100 found in %d bytes, counts within %.2f%%", draws, len(truth), found, k.Bytes(), 100*worst)
	if found < 95 || worst > 0.01 {
		t.Errorf("%d of the 100 most frequent found, want 95; counts within %.2f%%, want 1%%", found, 100*worst)
	}
}

func BenchmarkTopKAdd(b *testing.B) {
	draw := drawDownloads(rand.New(rand.NewPCG(1, 2)))
	items := make([][]byte, 1<<16)
	for i := range items {
		items[i] = item(draw())
	}
	k := newTopK(b, redisbloom.TopKParams{K: 100, Width: 2000, Depth: 5, Decay: 0.9})
	i := 0
	for b.Loop() {
		k.Add(items[i&(1<<16-1)])
		i++
	}
	b.ReportAllocs()
}
