package exact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/sizing"
)

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

// built returns the filter of c.
func built(tb testing.TB, c exact.Config, in, out []uint64) *exact.Filter {
	tb.Helper()
	f, err := c.Build(context.Background(), in, out)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func encoded(tb testing.TB, f *exact.Filter) []byte {
	tb.Helper()
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// wrong returns for how many hashes a filter does not answer want, asked one by one
// or in a batch.
func wrong(f bloomery.Hashed, hs []uint64, want bool) (n int) {
	dst := make([]bool, len(hs))
	f.ContainsHashes(dst, hs)
	for i, h := range hs {
		if dst[i] != want || f.ContainsHash(h) != want {
			n++
		}
	}
	return n
}

// TestNoErrors builds random universes: every key that is in is there, every key
// that is out is not, in the filter, decoded, read, viewed and from a stream, and
// all have the same bytes.
func TestNoErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := exact.Config{
			ErrorRate: rapid.SampledFrom([]float64{0, 0, 0.6, 0.01, 1e-6}).Draw(t, "p"),
			Width:     rapid.SampledFrom([]int{0, 64, 128}).Draw(t, "width"),
			Shards:    1 << rapid.IntRange(0, 2).Draw(t, "shards"),
			Workers:   rapid.IntRange(1, 3).Draw(t, "workers"),
			Overlap:   rapid.Bool().Draw(t, "overlap"),
		}
		seed := rapid.Uint64Range(0, 1000).Draw(t, "seed")
		in := hashes(rapid.SampledFrom([]int{0, 1, 10, 100, 3000}).Draw(t, "in"), 2*seed)
		out := hashes(rapid.SampledFrom([]int{0, 1, 10, 3000, 20_000}).Draw(t, "out"), 2*seed+1)
		all := out
		if c.Overlap {
			all = slices.Concat(in, out)
		}
		f, err := c.Build(t.Context(), in, all)
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, f bloomery.Hashed) {
			if a, b := wrong(f, in, true), wrong(f, out, false); a+b > 0 {
				t.Errorf("%s: %d of %d keys that are in are denied, %d of %d that are out are not", name, a, len(in), b, len(out))
			}
		}
		check("built", f)
		if s := f.Stats(); s.Items != uint64(len(in)) || !s.Exact || f.Out() != uint64(len(all)) || c.ErrorRate > 0 && s.Predicted > c.ErrorRate {
			t.Errorf("%d in, %d out: %+v, %d out", len(in), len(all), s, f.Out())
		}
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := exact.Config{}.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		check("decoded", decoded)
		read, err := exact.Config{}.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		check("read", read)
		v, err := exact.Config{}.View(data)
		if err != nil {
			t.Fatal(err)
		}
		check("view", v)
		slices.Reverse(in)
		slices.Reverse(all)
		c.Scratch, c.Memory = &disk{room: 1 << 40}, 64<<20
		streamed, err := c.BuildFrom(t.Context(), source(in), source(all))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := streamed.MarshalBinary(); !bytes.Equal(again, data) {
			t.Error("a stream in another order gives other bytes")
		}
	})
}

// source returns hashes as keys of group 0, whatever the hasher is.
func source(hs []uint64) exact.Source {
	return func(hashing.Hasher) iter.Seq2[int, uint64] {
		return func(yield func(int, uint64) bool) {
			for _, h := range hs {
				if !yield(0, h) {
					return
				}
			}
		}
	}
}

// disk is a Scratch in memory that can be full or broken.
type disk struct {
	mu      sync.Mutex
	data    []byte
	room    int64
	damaged bool
}

var errFull = errors.New("no space left on device")

func (d *disk) WriteAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := at + int64(len(b))
	if end > d.room {
		return 0, errFull
	}
	if end > int64(len(d.data)) {
		d.data = append(d.data, make([]byte, end-int64(len(d.data)))...)
	}
	return copy(d.data[at:], b), nil
}

func (d *disk) ReadAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(b, d.data[at:])
	if d.damaged {
		b[0] ^= 1
	}
	return n, nil
}

// TestSize holds the size to the bound, log2 C(N, n), and the rate for keys that are
// in neither set to what Stats shows, within 5 standard deviations.
func TestSize(t *testing.T) {
	const universe = 2_000_000
	all := hashes(universe, 1)
	absent := hashes(200_000, 2)
	for share, limit := range map[float64]float64{0.01: 1.085, 0.1: 1.105} { // small sets have a larger share of edges
		n := int(share * universe)
		f := built(t, exact.Config{}, all[:n], all[n:])
		if got := wrong(f, all[:n], true) + wrong(f, all[n:], false); got != 0 {
			t.Errorf("share %v: %d errors", share, got)
		}
		least := log2Choose(universe, float64(n))
		if over := float64(f.Stats().Bits) / least; over > limit {
			t.Errorf("share %v: %v of the least possible size, want %v at most", share, over, limit)
		}
		planned, err := sizing.ExactBits(uint64(n), uint64(universe-n), 0, 128)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(f.Stats().Bits); math.Abs(got/float64(planned)-1) > 0.01 {
			t.Errorf("share %v: %v bits, %d were planned", share, got, planned)
		}
		p := f.Stats().Predicted
		got := float64(wrong(f, absent, false)) / float64(len(absent))
		if sigma := math.Sqrt(p * (1 - p) / float64(len(absent))); math.Abs(got-p) > 5*sigma {
			t.Errorf("share %v: %v of the keys of neither set are there, want %v ± %v", share, got, p, sigma)
		}
	}
}

// log2Choose returns the binary logarithm of the number of sets of k out of n.
func log2Choose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return (a - b - c) / math.Ln2
}

// TestGroups has groups of many shapes: all in, none in, empty, few of many, most of
// few. Each answers for itself without errors.
func TestGroups(t *testing.T) {
	var groups []exact.Group
	var want []uint64
	for g, size := range []struct{ in, out int }{
		{100, 10_000}, {0, 5000}, {300, 0}, {0, 0}, {1, 20_000}, {500, 100}, {1000, 1000}, {100, 10_001}, {1, 1}, {2000, 400_000},
	} {
		groups = append(groups, exact.Group{In: hashes(size.in, uint64(2*g)), Out: hashes(size.out, uint64(2*g+1))})
		want = append(want, groups[g].In...)
	}
	for name, c := range map[string]exact.Config{"smallest": {}, "rated": {ErrorRate: 0.001}} {
		f, err := c.BuildGroups(t.Context(), groups)
		if err != nil {
			t.Fatal(err)
		}
		v, err := exact.Config{}.View(encoded(t, f))
		if err != nil {
			t.Fatal(err)
		}
		asked := v.(interface {
			ContainsIn(group int, h uint64) bool
			Groups() int
			RateIn(group int) float64
			Empty(group int) bool
		})
		if asked.Groups() != len(groups) {
			t.Fatalf("%s: %d groups, want %d", name, asked.Groups(), len(groups))
		}
		errs := 0
		for g := range groups {
			for _, h := range groups[g].In {
				if !f.ContainsIn(g, h) || !asked.ContainsIn(g, h) {
					errs++
				}
			}
			for _, h := range groups[g].Out {
				if f.ContainsIn(g, h) || asked.ContainsIn(g, h) {
					errs++
				}
			}
			if asked.Empty(g) != (len(groups[g].In) == 0) {
				t.Errorf("%s: group %d of %d keys: Empty = %v", name, g, len(groups[g].In), asked.Empty(g))
			}
			if p := asked.RateIn(g); c.ErrorRate > 0 && p > c.ErrorRate || p < 0 || p > 1 {
				t.Errorf("%s: group %d has rate %v", name, g, p)
			}
		}
		if errs > 0 {
			t.Errorf("%s: %d errors", name, errs)
		}
		if got := wrong(f, want, true); got > 0 {
			t.Errorf("%s: %d keys are in no group", name, got)
		}
		if f.ContainsIn(-1, 1) || f.ContainsIn(len(groups), 1) || f.RateIn(-1) != 0 || !f.Empty(-1) || !f.Empty(len(groups)) {
			t.Errorf("%s: a group that is not there has a key", name)
		}
		if got := f.Stats().Items; got != uint64(len(want)) {
			t.Errorf("%s: %d keys, want %d", name, got, len(want))
		}
	}
}

// TestGroupsAreSmaller has two halves with shares of their own: together they take
// less than one group does.
func TestGroupsAreSmaller(t *testing.T) {
	a := exact.Group{In: hashes(100, 1), Out: hashes(100_000, 2)}
	b := exact.Group{In: hashes(20_000, 3), Out: hashes(20_000, 4)}
	f, err := exact.Config{}.BuildGroups(t.Context(), []exact.Group{a, b})
	if err != nil {
		t.Fatal(err)
	}
	one := built(t, exact.Config{}, slices.Concat(a.In, b.In), slices.Concat(a.Out, b.Out))
	if got, want := f.Stats().Bytes, one.Stats().Bytes; float64(got) > 0.8*float64(want) {
		t.Errorf("in groups it takes %d bytes, in one %d", got, want)
	}
}

// TestBoth has a key in both sets.
func TestBoth(t *testing.T) {
	in, out := hashes(1000, 1), hashes(5000, 2)
	out = append(out, in[77])
	if _, err := exact.Build(in, out); !errors.Is(err, exact.ErrBoth) || !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a key that is in and out: %v, want ErrBoth", err)
	}
	f := built(t, exact.Config{Overlap: true}, in, out)
	if got := wrong(f, in, true) + wrong(f, out[:5000], false); got > 0 {
		t.Errorf("Overlap: %d errors", got)
	}
	c := exact.Config{Scratch: &disk{room: 1 << 40}}
	tries := map[uint64]bool{}
	counted := func(h hashing.Hasher) iter.Seq2[int, uint64] {
		tries[h.Check()] = true
		return source(out)(h)
	}
	if _, err := c.BuildFrom(t.Context(), source(in), counted); !errors.Is(err, exact.ErrBoth) || len(tries) != 2 {
		t.Errorf("a key that is in and out under every seed: %v after the seeds %v, want ErrBoth after two", err, tries)
	}
	c.Hasher = hashing.Keyed([16]byte{1})
	clear(tries)
	if _, err := c.BuildFrom(t.Context(), source(in), counted); !errors.Is(err, exact.ErrBoth) || len(tries) != 1 {
		t.Errorf("with a secret key: %v after %d hashers, want ErrBoth after one", err, len(tries))
	}
}

// TestEqualHashes has two different keys of which one seed makes one hash: another
// seed is taken, and both keys are answered right.
func TestEqualHashes(t *testing.T) {
	const first = 7
	keys := func(set string, n int) exact.Source {
		return func(h hashing.Hasher) iter.Seq2[int, uint64] {
			return func(yield func(int, uint64) bool) {
				for i := range n {
					x := h.HashString(fmt.Sprint(set, i))
					if i == 3 && h.Check() == first {
						x = 42
					}
					if !yield(0, x) {
						return
					}
				}
			}
		}
	}
	f, err := exact.Config{Hasher: hashing.Seeded(first), Scratch: &disk{room: 1 << 40}}.BuildFrom(t.Context(), keys("in", 1000), keys("out", 5000))
	if err != nil {
		t.Fatal(err)
	}
	if f.Hasher().Check() != first+1 || !f.ContainsString("in3") || f.ContainsString("out3") {
		t.Errorf("seed %d; in3: %v, out3: %v", f.Hasher().Check(), f.ContainsString("in3"), f.ContainsString("out3"))
	}
}

func TestParameters(t *testing.T) {
	scratch := &disk{room: 1 << 40}
	for name, c := range map[string]exact.Config{
		"rate 1":       {ErrorRate: 1},
		"negative":     {ErrorRate: -0.1},
		"not a number": {ErrorRate: math.NaN()},
		"too low":      {ErrorRate: 1e-12},
		"width":        {Width: 100},
		"shards":       {Shards: 3},
		"workers":      {Workers: -1},
		"a scratch":    {Scratch: scratch},
	} {
		if _, err := c.Build(t.Context(), hashes(100, 1), hashes(1000, 2)); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	if _, err := (exact.Config{}).BuildGroups(t.Context(), nil); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("no groups: %v, want ErrParameter", err)
	}
	for name, c := range map[string]exact.Config{"no scratch": {}, "little memory": {Scratch: scratch, Memory: 100}} {
		if _, err := c.BuildFrom(t.Context(), source(hashes(100, 1)), source(hashes(1000, 2))); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	for _, g := range []int{-1, exact.MaxGroups} {
		far := func(hashing.Hasher) iter.Seq2[int, uint64] {
			return func(yield func(int, uint64) bool) { yield(g, 1) }
		}
		if _, err := (exact.Config{Scratch: scratch}).BuildFrom(t.Context(), far, source(nil)); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("group %d: %v, want ErrParameter", g, err)
		}
	}
	if _, err := (exact.Config{Scratch: scratch}).BuildFrom(t.Context(), nil, source(nil)); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("no source: %v, want ErrParameter", err)
	}
}

// TestBuildFails has a scratch that is full, one that gives back other bytes, and
// sources that fail.
func TestBuildFails(t *testing.T) {
	in, out := hashes(50_000, 1), hashes(500_000, 2)
	for name, x := range map[string]struct {
		disk *disk
		want error
	}{
		"full":    {&disk{room: 1 << 16}, errFull},
		"damaged": {&disk{room: 1 << 40, damaged: true}, bloomery.ErrCorrupt},
	} {
		if _, err := (exact.Config{Scratch: x.disk, Memory: 1 << 20}).BuildFrom(t.Context(), source(in), source(out)); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
	}
	broken := errors.New("broken")
	for _, after := range []int{1, 2} { // while it is counted, and while it is asked for
		ctx, cancel := context.WithCancelCause(t.Context())
		reads := 0
		failing := func(h hashing.Hasher) iter.Seq2[int, uint64] {
			reads++
			return func(yield func(int, uint64) bool) {
				for i, h := range out {
					if reads == after && i == 1000 {
						cancel(broken)
						return
					}
					if !yield(0, h) {
						return
					}
				}
			}
		}
		if _, err := (exact.Config{Scratch: &disk{room: 1 << 40}}).BuildFrom(ctx, source(in), failing); !errors.Is(err, broken) {
			t.Errorf("a source that fails when it is read for the %d. time: %v", after, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (exact.Config{}).Build(ctx, in, out); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBuildFromInLittleMemory has 1 MiB for a universe of a million keys.
func TestBuildFromInLittleMemory(t *testing.T) {
	scratch, err := file.NewScratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	in, out := hashes(100_000, 1), hashes(900_000, 2)
	var read, done uint64
	c := exact.Config{Scratch: scratch, Memory: 1 << 20, Progress: func(r, b uint64) { read, done = r, b }}
	f, err := c.BuildFrom(t.Context(), source(in), source(out))
	if err != nil {
		t.Fatal(err)
	}
	if got := wrong(f, in, true) + wrong(f, out, false); got > 0 {
		t.Errorf("%d errors", got)
	}
	if read != 1_000_000 || done != read {
		t.Errorf("progress ends with %d, %d", read, done)
	}
}

func TestGolden(t *testing.T) {
	keyed := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	for name, x := range map[string]struct {
		config  exact.Config
		in, out int
	}{
		"v1-exact-empty":     {exact.Config{}, 0, 0},
		"v1-exact-none-out":  {exact.Config{}, 5, 0},
		"v1-exact-bit-only":  {exact.Config{}, 300, 200},
		"v1-exact-few":       {exact.Config{}, 3, 50},
		"v1-exact-1-percent": {exact.Config{}, 1000, 99_000},
		"v1-exact-64-rated":  {exact.Config{Width: 64, ErrorRate: 0.001, Shards: 2}, 1000, 9000},
		"v1-exact-keyed":     {exact.Config{Hasher: keyed}, 100, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			var hs []uint64
			for i := range x.in + x.out {
				hs = append(hs, x.config.Hasher.HashUint64(uint64(i)))
			}
			golden.Filter(t, name, built(t, x.config, hs[:x.in], hs[x.in:]), built(t, x.config, nil, nil), hs[:x.in])
		})
	}
	t.Run("v1-exact-groups", func(t *testing.T) {
		groups := []exact.Group{{hashes(50, 1), hashes(5000, 2)}, {nil, hashes(10, 3)}, {hashes(10, 4), nil}, {hashes(100, 5), hashes(100, 6)}}
		f, err := exact.Config{}.BuildGroups(t.Context(), groups)
		if err != nil {
			t.Fatal(err)
		}
		golden.Filter(t, "v1-exact-groups", f, new(exact.Filter), groups[0].In)
	})
}

// TestAllocates asks for lookups that allocate nothing.
func TestAllocates(t *testing.T) {
	in, out := hashes(5000, 1), hashes(50_000, 2)
	dst := make([]bool, len(in))
	one := built(t, exact.Config{}, in, out)
	two, err := exact.Config{}.BuildGroups(t.Context(), []exact.Group{{in, out}, {hashes(10, 3), hashes(10, 4)}})
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("alice")
	for name, f := range map[string]*exact.Filter{"one group": one, "two groups": two} {
		for call, ask := range map[string]func(){
			"Contains": func() { f.Contains(key) }, "ContainsString": func() { f.ContainsString("alice") },
			"ContainsHash": func() { f.ContainsHash(in[7]) }, "ContainsIn": func() { f.ContainsIn(0, in[7]) },
			"ContainsHashes": func() { f.ContainsHashes(dst, in) },
		} {
			if n := testing.AllocsPerRun(10, ask); n != 0 {
				t.Errorf("%s: %s allocates %v times", name, call, n)
			}
		}
	}
}
