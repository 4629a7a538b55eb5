package shards_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/shards"
)

// random returns n hashes; different seeds give different ones.
func random(n int, seed uint64) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = rng.Uint64()
	}
	return hs
}

func TestBits(t *testing.T) {
	for _, c := range []struct {
		n, each uint64
		want    uint
	}{
		{0, 10, 0},
		{10, 10, 0},
		{11, 10, 1},
		{20, 10, 1},
		{21, 10, 2},
		{40, 10, 2},
		{41, 10, 3},
		{1 << 40, 1 << 30, 10},
		{5, 0, 3},
		{math.MaxUint64, 1, shards.MaxBits},
	} {
		if got := shards.Bits(c.n, c.each); got != c.want {
			t.Errorf("Bits(%d, %d) = %d, want %d", c.n, c.each, got, c.want)
		}
	}
}

func TestPartition(t *testing.T) {
	hs := random(10_000, 1)
	for _, b := range []uint{0, 1, 3, 8} {
		dst := make([]uint64, len(hs))
		ends := shards.Partition(dst, hs, b)
		if len(ends) != 1<<b+1 || ends[1<<b] != len(hs) {
			t.Fatalf("b = %d: ends %v", b, ends)
		}
		for i := range 1 << b {
			want := slices.DeleteFunc(slices.Clone(hs), func(h uint64) bool { return bloomery.Route(h, b) != i })
			if got := dst[ends[i]:ends[i+1]]; !slices.Equal(got, want) {
				t.Errorf("b = %d: shard %d has %d hashes, want %d, or another order", b, i, len(got), len(want))
			}
		}
	}
}

func TestDedupe(t *testing.T) {
	for name, hs := range map[string][]uint64{
		"none":         nil,
		"one":          {7},
		"random":       random(100_000, 2),
		"all the same": slices.Repeat([]uint64{42}, 1000),
		"twice":        slices.Repeat(random(5000, 3), 2),
		"ends":         slices.Repeat([]uint64{0, math.MaxUint64, 1, 1 << 63}, 100),
	} {
		want := slices.Compact(slices.Sorted(slices.Values(hs)))
		given := slices.Clone(hs)
		if got := shards.Dedupe(given); !slices.Equal(got, want) {
			t.Errorf("%s: %d of %d hashes are left, want %d in order", name, len(got), len(hs), len(want))
		}
		if !slices.Equal(slices.Sorted(slices.Values(given)), slices.Sorted(slices.Values(hs))) {
			t.Errorf("%s: the slice holds other hashes than before", name)
		}
	}
	low := random(3000, 4) // nothing to see in the upper digits
	for i := range low {
		low[i] &= 0xfff
	}
	want := slices.Compact(slices.Sorted(slices.Values(low)))
	if got := shards.Dedupe(low); !slices.Equal(got, want) {
		t.Errorf("12-bit hashes: %d are left, want %d", len(got), len(want))
	}
}

func TestEach(t *testing.T) {
	for _, workers := range []int{1, 2, 7, 100} {
		const n = 50
		var calls [n]atomic.Int32
		busy := make([]atomic.Bool, workers)
		err := shards.Each(t.Context(), n, workers, func(worker, i int) error {
			if busy[worker].Swap(true) {
				t.Errorf("worker %d has two calls at once", worker)
			}
			calls[i].Add(1)
			busy[worker].Store(false)
			return nil
		})
		if err != nil {
			t.Errorf("%d workers: %v", workers, err)
		}
		for i := range calls {
			if got := calls[i].Load(); got != 1 {
				t.Errorf("%d workers: %d calls for %d", workers, got, i)
			}
		}
	}
	if err := shards.Each(t.Context(), 0, 4, nil); err != nil {
		t.Errorf("no shards: %v", err)
	}
}

func TestEachStops(t *testing.T) {
	broken := errors.New("broken")
	for _, workers := range []int{1, 3} {
		var calls atomic.Int32
		err := shards.Each(t.Context(), 1000, workers, func(_, i int) error {
			calls.Add(1)
			if i == 5 {
				return fmt.Errorf("shard %d: %w", i, broken)
			}
			return nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("%d workers: %v, want the error of shard 5", workers, err)
		}
		if workers == 1 && calls.Load() != 6 {
			t.Errorf("%d calls, want 6", calls.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls.Store(0)
		err = shards.Each(ctx, 1000, workers, func(int, int) error {
			if calls.Add(1) == 3 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || workers == 1 && calls.Load() != 3 {
			t.Errorf("cancelled: %v after %d calls", err, calls.Load())
		}
	}
}

func BenchmarkSort(b *testing.B) {
	const n = 1_000_000
	hs, work := random(n, 5), make([]uint64, n)
	for b.Loop() {
		copy(work, hs)
		shards.Sort(work)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
}
