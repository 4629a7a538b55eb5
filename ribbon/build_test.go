package ribbon_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/ribbon"
)

var configs = []ribbon.Config{
	{ErrorRate: 1e-2},
	{ErrorRate: 1. / 256},
	{ErrorRate: 1. / 256, Shards: 4},
	{ErrorRate: 0.7},
	{ErrorRate: 1. / (1 << 32)},
	{ErrorRate: 1e-9, Shards: 8},
	{ErrorRate: 1e-2, Width: 128},
	{ErrorRate: 1. / (1 << 32), Width: 128},
	{ErrorRate: 1e-3, Width: 128, Shards: 4},
}

// No set of hashes is refused, whatever they are like.
func TestBuildNeverFails(t *testing.T) {
	spread := hashes(5_000, 1)
	sets := map[string][]uint64{
		"empty":          nil,
		"one":            {42},
		"zero":           {0},
		"two":            {0, math.MaxUint64},
		"two neighbours": {7, 8},
		"twice":          {7, 7},
		"all the same":   slices.Repeat([]uint64{1 << 63}, 3_000),
		"duplicates":     append(slices.Clone(spread), spread...),
		"small numbers":  make([]uint64, 5_000),
		"large numbers":  make([]uint64, 5_000),
		"same low bits":  make([]uint64, 5_000),
		"few high bits":  make([]uint64, 5_000),
		"spread":         spread,
	}
	for i := range uint64(5_000) {
		sets["small numbers"][i] = i
		sets["large numbers"][i] = math.MaxUint64 - i
		sets["same low bits"][i] = i << 48
		sets["few high bits"][i] = i%3<<62 | i
	}
	for name, hs := range sets {
		for _, c := range configs {
			before := slices.Clone(hs)
			f := built(t, c, hs)
			if !slices.Equal(hs, before) {
				t.Errorf("%s: Build changed the hashes", name)
			}
			if got := forgotten(f, hs); got > 0 {
				t.Errorf("%s: %+v: %d keys forgotten", name, c, got)
			}
			distinct := slices.Clone(hs)
			slices.Sort(distinct)
			distinct = slices.Compact(distinct)
			if got := f.Stats(); got.Items != uint64(len(distinct)) || !got.Exact {
				t.Errorf("%s: Stats() = %+v, want %d items", name, got, len(distinct))
			}
		}
	}
}

// One set of hashes gives one file: their order, duplicates and the number of
// workers make no difference.
func TestBuildIsDeterministic(t *testing.T) {
	hs := hashes(20_000, 2)
	for _, c := range configs {
		want := encoded(t, built(t, c, hs))
		mixed := slices.Clone(hs)
		slices.Reverse(mixed)
		mixed = append(mixed, hs[:1000]...)
		for _, workers := range []int{1, 2, 3, 7} {
			c.Workers = workers
			if !bytes.Equal(encoded(t, built(t, c, mixed)), want) {
				t.Errorf("%+v: other bytes", c)
			}
		}
	}
}

// A rate between the powers of two is mixed of them and held to what Stats
// predicts, from both sides.
func TestFractionalRates(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	const n, queries = 20_000, 400_000
	absent, dst := hashes(queries, 99), make([]bool, queries)
	for _, width := range []int{64, 128} {
		for _, p := range []float64{0.9, 0.5, 0.45, 0.3, 0.251, 0.1, 0.02, 0.01, 1. / 128, 0.005} {
			f := built(t, ribbon.Config{ErrorRate: p, Width: width, Shards: 2}, hashes(n, 4))
			s := f.Stats()
			if want := min(p, 0.5); s.Predicted > want*1.002 || s.Predicted < want*0.97 {
				t.Errorf("width %d, p = %g: predicted %g", width, p, s.Predicted)
			}
			f.ContainsHashes(dst, absent)
			wrong := 0
			for _, yes := range dst {
				if yes {
					wrong++
				}
			}
			got, sigma := float64(wrong)/queries, math.Sqrt(s.Predicted/queries)
			if math.Abs(got-s.Predicted) > 4*sigma {
				t.Errorf("width %d, p = %g: rate %g, predicted %g, 4 sigma are %g", width, p, got, s.Predicted, 4*sigma)
			}
		}
	}
}

func TestBatchAgrees(t *testing.T) {
	hs, more := hashes(10_000, 5), hashes(10_000, 6)
	for _, c := range configs {
		f := built(t, c, hs)
		for _, asked := range [][]uint64{hs[:0], hs[:1], hs[:63], more[:64], more[:65], append(more, hs...)} {
			dst := make([]bool, len(asked)+1)
			dst[len(asked)] = true
			f.ContainsHashes(dst, asked)
			for i, h := range asked {
				if got := f.ContainsHash(h); got != dst[i] {
					t.Fatalf("%+v: ContainsHash = %v, ContainsHashes = %v", c, got, dst[i])
				}
			}
			if !dst[len(asked)] {
				t.Error("ContainsHashes wrote behind the last answer")
			}
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []ribbon.Config{
		{},
		{ErrorRate: -0.1},
		{ErrorRate: 1},
		{ErrorRate: math.NaN()},
		{ErrorRate: math.Inf(1)},
		{ErrorRate: 1e-10},
		{ErrorRate: 0.1, Width: 32},
		{ErrorRate: 0.1, Width: -64},
		{ErrorRate: 0.1, Shards: 3},
		{ErrorRate: 0.1, Shards: -1},
		{ErrorRate: 0.1, Shards: 1 << 21},
		{ErrorRate: 0.1, Workers: -1},
	} {
		if _, err := c.Build(context.Background(), hashes(10, 1)); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v, want ErrParameter", c, err)
		}
	}
	if _, err := ribbon.Build(nil, 0); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("Build at rate 0: %v, want ErrParameter", err)
	}
}

// Workers that have no shard cost nothing, however many there are.
func TestManyWorkers(t *testing.T) {
	hs := hashes(1000, 9)
	c := ribbon.Config{ErrorRate: 0.01, Shards: 2, Workers: math.MaxInt, Scratch: newDisk()}
	if got := forgotten(built(t, c, hs), hs); got > 0 {
		t.Errorf("%d keys forgotten", got)
	}
	if _, err := c.Stream(t.Context(), slices.Values(hs)).WriteTo(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestBuildTellsProgress(t *testing.T) {
	var last [2]uint64
	c := ribbon.Config{ErrorRate: 0.01, Shards: 16, Progress: func(read, built uint64) {
		if read < last[0] || built < last[1] || built > read {
			t.Errorf("progress %d, %d after %v", read, built, last)
		}
		last = [2]uint64{read, built}
	}}
	built(t, c, hashes(10_000, 7))
	if want := [2]uint64{10_000, 10_000}; last != want {
		t.Errorf("progress ends with %v, want %v", last, want)
	}
}

func TestBuildStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	reports := 0
	c := ribbon.Config{ErrorRate: 0.01, Shards: 64, Workers: 1, Progress: func(_, _ uint64) {
		if reports++; reports == 5 {
			cancel()
		}
	}}
	f, err := c.Build(ctx, hashes(20_000, 8))
	if f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Build = %v, %v, want context.Canceled", f, err)
	}
	if reports > 6 {
		t.Errorf("%d reports after the context was cancelled", reports-5)
	}
}

func TestZeroFilter(t *testing.T) {
	var f ribbon.Filter
	if f.ContainsString("a") || f.ContainsHash(0) {
		t.Error("a zero Filter contains a key")
	}
	f.ContainsHashes(make([]bool, 3), []uint64{1, 2, 3})
	if s := f.Stats(); s.Items != 0 || s.Predicted != 0 {
		t.Errorf("Stats() = %+v", s)
	}
}

// A build that memory cannot hold is refused before it begins.
func TestBuildTooLarge(t *testing.T) {
	limit := memory.Limit
	t.Cleanup(func() { memory.Limit = limit })
	memory.Limit = func() uint64 { return 1 << 20 }
	for _, shards := range []int{1, 4} {
		c := ribbon.Config{ErrorRate: 0.01, Shards: shards, Workers: 1}
		if _, err := c.Build(t.Context(), hashes(100_000, 10)); !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%d shards: %v, want ErrTooLarge", shards, err)
		}
	}
}
