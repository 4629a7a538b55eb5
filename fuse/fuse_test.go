package fuse_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
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

// built returns a filter of a copy of hs.
func built[T fuse.Fingerprint](tb testing.TB, c fuse.Config[T], hs []uint64) *fuse.Filter[T] {
	tb.Helper()
	c.Scratch, c.Memory = nil, 0 // of a Stream
	f, err := c.Build(tb.Context(), slices.Clone(hs))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func encoded(tb testing.TB, f interface{ MarshalBinary() ([]byte, error) }) []byte {
	tb.Helper()
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// holds fails if the filter has not exactly these keys.
func holds[T fuse.Fingerprint](tb testing.TB, f *fuse.Filter[T], hs []uint64) {
	tb.Helper()
	dst := make([]bool, len(hs))
	f.ContainsHashes(dst, hs)
	for i, h := range hs {
		if !dst[i] || !f.ContainsHash(h) {
			tb.Fatalf("hash %#x is forgotten", h)
		}
	}
	want := len(slices.Compact(slices.Sorted(slices.Values(hs))))
	if s := f.Stats(); s.Items != uint64(want) || !s.Exact {
		tb.Errorf("%d items, want %d", s.Items, want)
	}
}

func TestSmallSets(t *testing.T) {
	for n := range 300 {
		hs := random(n, uint64(n))
		holds(t, built(t, fuse.Config[uint8]{}, hs), hs)
		holds(t, built(t, fuse.Config[uint16]{Arity: 4}, hs), hs)
		holds(t, built(t, fuse.Config[uint32]{Shards: 8}, hs), hs)
	}
}

func TestEmpty(t *testing.T) {
	for _, shards := range []int{1, 16} {
		f := built(t, fuse.Config[uint8]{Shards: shards}, nil)
		for _, h := range random(10_000, 1) {
			if f.ContainsHash(h) {
				t.Fatal("an empty filter has a key")
			}
		}
		if s := f.Stats(); s.Items != 0 || s.Predicted != 0 || s.Bits != 0 {
			t.Errorf("empty: %+v", s)
		}
	}
	f, err := fuse.Build[uint16](nil)
	if err != nil || f.ContainsString("a") {
		t.Errorf("Build(nil): %v", err)
	}
}

// The filter follows from the set, whatever way that comes.
func TestSameSetSameBytes(t *testing.T) {
	hs := random(10_000, 2)
	for _, c := range []fuse.Config[uint8]{{}, {Arity: 4}, {Shards: 8}, {Shards: 8, Workers: 1}, {Shards: 8, Workers: 5}} {
		want := encoded(t, built(t, fuse.Config[uint8]{Arity: c.Arity, Shards: c.Shards}, hs))
		reversed := slices.Clone(hs)
		slices.Reverse(reversed)
		for what, set := range map[string][]uint64{
			"the same":        hs,
			"reversed":        reversed,
			"twice":           append(slices.Clone(hs), hs...),
			"with duplicates": append(slices.Clone(hs), slices.Repeat(hs[:1], 100)...),
		} {
			f := built(t, c, set)
			holds(t, f, set)
			if !bytes.Equal(encoded(t, f), want) {
				t.Errorf("arity %d, %d shards, %d workers: %s: other bytes", c.Arity, c.Shards, c.Workers, what)
			}
		}
	}
}

func TestDuplicates(t *testing.T) {
	for _, n := range []int{2, 3, 63, 64, 65, 1000} {
		hs := slices.Repeat([]uint64{0x123456789abcdef}, n)
		holds(t, built(t, fuse.Config[uint8]{}, hs), hs)
		holds(t, built(t, fuse.Config[uint32]{Arity: 4}, hs), hs)
	}
}

// Workers that have no shard cost nothing, however many there are.
func TestManyWorkers(t *testing.T) {
	hs := random(1000, 9)
	c := fuse.Config[uint8]{Shards: 2, Workers: math.MaxInt, Scratch: scratch(t)}
	holds(t, built(t, c, hs), hs)
	if _, err := c.Stream(t.Context(), slices.Values(hs)).WriteTo(io.Discard); err != nil {
		t.Error(err)
	}
}

// Hashes that nobody mixed are mixed by the second seed.
func TestBadHashes(t *testing.T) {
	hs := make([]uint64, 30_000)
	for name, hash := range map[string]func(i uint64) uint64{
		"counted":    func(i uint64) uint64 { return i },
		"upper bits": func(i uint64) uint64 { return i << 44 },
		"lower bits": func(i uint64) uint64 { return i<<20 | 1 },
	} {
		for i := range hs {
			hs[i] = hash(uint64(i))
		}
		holds(t, built(t, fuse.Config[uint8]{}, hs), hs)
		f := built(t, fuse.Config[uint16]{Arity: 4, Shards: 4}, hs)
		holds(t, f, hs)
		wrong := 0
		for _, h := range random(200_000, 3) {
			if f.ContainsHash(h) {
				wrong++
			}
		}
		if wrong > 20 { // 3 are expected
			t.Errorf("%s: %d of 200000 false positives", name, wrong)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]fuse.Config[uint8]{
		"arity":         {Arity: 5},
		"shards":        {Shards: 3},
		"many shards":   {Shards: 1 << 21},
		"minus shards":  {Shards: -4},
		"workers":       {Workers: -1},
		"rate NaN":      {ErrorRate: math.NaN()},
		"rate 1":        {ErrorRate: 1},
		"rate -1":       {ErrorRate: -1},
		"rate infinite": {ErrorRate: math.Inf(1)},
	} {
		if _, err := c.Build(t.Context(), []uint64{1}); !errors.Is(err, bloomery.ErrParameter) || !strings.HasPrefix(err.Error(), "fuse: build: ") {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	for p, want := range map[float64]string{1e-3: "take 16 bits", 1e-5: "take 32 bits", 1e-12: "2.3e-10"} {
		if _, err := (fuse.Config[uint8]{ErrorRate: p}).Build(t.Context(), nil); !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), want) {
			t.Errorf("rate %g: %v, want ErrParameter and %q", p, err, want)
		}
	}
}

func TestCancelAndProgress(t *testing.T) {
	hs := random(50_000, 4)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	c := fuse.Config[uint8]{Shards: 64, Workers: 1, Progress: func(_, built uint64) {
		if calls++; built > 0 && calls == 5 {
			cancel()
		}
	}}
	if _, err := c.Build(ctx, hs); !errors.Is(err, context.Canceled) || calls > 5 {
		t.Errorf("cancelled: %v after %d calls", err, calls)
	}
	var read, done uint64
	c.Workers, c.Progress = 3, func(r, b uint64) { read, done = r, b }
	if _, err := c.Build(t.Context(), hs); err != nil || read != uint64(len(hs)) || done != read {
		t.Errorf("progress ends with %d of %d (%v)", done, read, err)
	}
}

// Sizes, whole file counted: no more than those of xorfilter's BinaryFuse8,
// 1.08 of the fingerprints with four slots.
func TestBitsPerKey(t *testing.T) {
	bits := func(data []byte, n int) float64 { return float64(len(data)) * 8 / float64(n) }
	sizes := map[int]float64{10_000: 10.24, 100_000: 9.503, 1_000_000: 9.044}
	if testing.Short() {
		sizes = map[int]float64{10_000: 10.24, 100_000: 9.503}
	}
	for n, limit := range sizes {
		hs := random(n, 5)
		if got := bits(encoded(t, built(t, fuse.Config[uint8]{}, hs)), n); got > limit {
			t.Errorf("n = %d: %.3f bits per key, want at most %.3f", n, got, limit)
		}
		if n != 1_000_000 {
			continue
		}
		if got := bits(encoded(t, built(t, fuse.Config[uint8]{Arity: 4}, hs)), n) / 8; got > 1.08 {
			t.Errorf("n = %d, arity 4: %.4f of the fingerprints, want at most 1.08", n, got)
		}
	}
}

// A builder that is used again gives what a build of its own gives, whatever it built before, and
// allocates little more than the filter.
func TestReusedBuilder(t *testing.T) {
	var b fuse.Builder[uint8]
	for _, n := range []int{1000, 100_000, 10, 0, 50_000, 1000} {
		hs := random(n, uint64(n))
		got, err := b.Build(t.Context(), fuse.Config[uint8]{}, slices.Clone(hs))
		if err != nil {
			t.Fatal(err)
		}
		holds(t, got, hs)
		if !bytes.Equal(encoded(t, got), encoded(t, built(t, fuse.Config[uint8]{}, hs))) {
			t.Errorf("n = %d: the builder gives other bytes", n)
		}
	}
	hs := random(50_000, 6)
	if got := testing.AllocsPerRun(3, func() { _, _ = b.Build(t.Context(), fuse.Config[uint8]{}, hs) }); got > 16 {
		t.Errorf("a build with buffers allocates %v times", got)
	}
}

// Arrays that are not in the cache are asked for ahead of a batch, in one shard
// and in several, with three slots and with four, after a seed that failed too.
func TestLargeBatches(t *testing.T) {
	const n = 1_000_000 // 4.5 MB
	if testing.Short() {
		t.Skip("takes seconds")
	}
	hs := random(n, 10)
	asked := append(random(1000, 11), hs[:1000]...)
	for _, c := range []fuse.Config[uint32]{{}, {Arity: 4}, {Shards: 2}, {Shards: 4, Arity: 4}} {
		for _, bad := range []bool{false, true} {
			set := slices.Clone(hs)
			if bad && c.Arity == 4 {
				continue
			}
			if bad { // three keys of the same three slots
				set = append(set, hs[0]^1<<36, hs[0]^1<<37)
			}
			f := built(t, c, set)
			if got := slices.Max(f.Tries()); bad && got < 2 {
				t.Errorf("%d shards: %d try, want a second", f.Shards(), got)
			}
			for _, m := range []int{0, 1, 31, 32, 33, 64, 65, 2000} {
				dst := make([]bool, m)
				f.ContainsHashes(dst, asked[2000-m:])
				for i, yes := range dst {
					if h := asked[2000-m+i]; yes != f.ContainsHash(h) || !yes && 2000-m+i >= 1000 {
						t.Fatalf("%d shards, arity %d: %v for hash %#x in a batch of %d", f.Shards(), c.Arity, yes, h, m)
					}
				}
			}
		}
	}
}

// A build that memory cannot hold is refused before it begins, in one shard as
// in several.
func TestBuildTooLarge(t *testing.T) {
	limit := memory.Limit
	t.Cleanup(func() { memory.Limit = limit })
	memory.Limit = func() uint64 { return 1 << 20 }
	hs := random(100_000, 10)
	for _, shards := range []int{1, 4} {
		c := fuse.Config[uint8]{Shards: shards}
		if _, err := c.Build(t.Context(), hs); !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%d shards: %v, want ErrTooLarge", shards, err)
		}
	}
}

// TestContainsKeysOfEveryLength asks for no key, one, and more than are hashed at
// once.
func TestContainsKeysOfEveryLength(t *testing.T) {
	var keys [][]byte
	var hs []uint64
	for i := range 1000 {
		keys = append(keys, strconv.AppendInt(nil, int64(i), 10))
		hs = append(hs, hashing.Hasher{}.Hash(keys[i]))
	}
	f := built(t, fuse.Config[uint16]{}, hs[:999])
	for n := range keys {
		got := make([]bool, n)
		f.ContainsKeys(got, keys[:n])
		if slices.Contains(got, false) {
			t.Fatalf("of %d keys, number %d is not there", n, slices.Index(got, false))
		}
	}
	got := []bool{false, true, true}
	f.ContainsKeys(got, [][]byte{keys[0], []byte("absent")})
	if !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("a key that is there, and one that is not: %v", got)
	}
}

// TestAllocHoldsTheFilter asks that the fingerprints lie where Alloc says.
func TestAllocHoldsTheFilter(t *testing.T) {
	var given []byte
	hs := random(1000, 1)
	f := built(t, fuse.Config[uint8]{Alloc: func(bytes int) ([]byte, error) {
		given = make([]byte, bytes)
		return given, nil
	}}, hs)
	holds(t, f, hs)
	st := f.Stats()
	if uint64(len(given))*8 != st.Bits || st.Bytes < st.Bits/8 || st.Bytes > st.Bits/8+64 {
		t.Errorf("Alloc was asked for %d bytes, the filter has %d bits in %d bytes", len(given), st.Bits, st.Bytes)
	}
	clear(given)
	if wrong := slices.IndexFunc(hs, func(h uint64) bool { return !f.ContainsHash(h) }); wrong < 0 {
		t.Error("the filter does not lie in the memory of Alloc")
	}
}
