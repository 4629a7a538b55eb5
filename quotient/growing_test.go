package quotient_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/sizing"
)

// measured returns the share of random hashes that g finds.
func measured(g *quotient.Growing, queries int, rng *rand.Rand) float64 {
	hs, found := make([]uint64, 4096), make([]bool, 4096)
	wrong := 0
	for n := 0; n < queries; n += len(hs) {
		for i := range hs {
			hs[i] = rng.Uint64()
		}
		g.ContainsHashes(found, hs)
		for _, yes := range found {
			if yes {
				wrong++
			}
		}
	}
	return float64(wrong) / float64((queries+4095)/4096*4096)
}

// TestGrowingFormula holds the rate to the formula, a sum over generations, with
// fingerprints of 3 to 8 bits, over growth by 2 to 2^12: as far as the formula
// gives less than 25%. Where fingerprints are used up and where not it is the
// same, so that it gives the rate after 2^40-fold growth, too. A key is found by
// chance with 1 - exp(-sum), since prefixes cover each other; that must be
// measured within 4 deviations and 2%. The rate predicted counts what is covered
// twice as twice, and must not be less than what is measured.
func TestGrowingFormula(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics are done once, without -short")
	}
	keys := 1 << 18
	if testing.Short() {
		keys = 1 << 16
	}
	for l := 3; l <= 8; l++ {
		plan := sizing.Growing{Slots: 64, Bits: l}
		rng := rand.New(rand.NewPCG(uint64(l), 3))
		g := quotient.GrowingOf(60, plan)
		checked := 0
		for n := range keys + 1 {
			if n >= 64 && n&(n-1) == 0 {
				_, sum := plan.Grown(60, uint64(n))
				if sum > 0.25 {
					break
				}
				const queries = 200_000
				want, predicted := -math.Expm1(-sum), g.Stats().Predicted
				sigma := math.Sqrt(want * (1 - want) / queries)
				// With few keys the filters differ: their number in each generation
				// is off by its root.
				got, spread := measured(g, queries, rng), want/math.Sqrt(float64(n))
				if math.Abs(got-want) > 4*math.Hypot(sigma, spread)+0.02*want || got > predicted+4*sigma {
					t.Errorf("%d bits, %d keys: measured %.4g, formula %.4g, predicted %.4g, sigma %.2g", l, n, got, want, predicted, sigma)
				}
				checked++
			}
			if err := g.InsertHash(rng.Uint64()); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, elders := quotient.Segments(g); checked < 2 || l >= 5 && elders == 0 {
			t.Errorf("%d bits: %d checks, %d elders", l, checked, elders)
		}
	}
}

// TestGrowingKeepsRate grows from 1,000 to 300,000 keys and holds rate and
// memory to what is promised just before and after every growth.
func TestGrowingKeepsRate(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics are done once, without -short")
	}
	for _, c := range []struct {
		p           float64
		expected    int
		mean, worst float64 // bits per key, from 50,000 keys on
	}{{0.01, 0, 19, 22}, {0.001, 0, 23, 26}, {0.01, 300_000, 17, 20}, {0.1, 0, 16, 18}} {
		g, err := quotient.Config{Capacity: 1000, ErrorRate: c.p, Expected: c.expected}.NewGrowing()
		if err != nil {
			t.Fatal(err)
		}
		hs := hashes(300_000, 9)
		sum, worst, before := 0.0, 0.0, uint64(0)
		for i, h := range hs {
			if err := g.InsertHash(h); err != nil {
				t.Fatal(err)
			}
			if i%100 > 0 {
				continue
			}
			s := g.Stats()
			if s.Predicted > c.p || s.Bits < before {
				t.Fatalf("%g, %d keys: predicted %g, %d bits after %d", c.p, i, s.Predicted, s.Bits, before)
			}
			before = s.Bits
			if i >= 50_000 {
				perKey := float64(s.Bits) / float64(i)
				sum, worst = sum+perKey*100, max(worst, perKey)
			}
		}
		if mean := sum / 250_000; mean > c.mean || worst > c.worst {
			t.Errorf("%g, %d expected: mean %.2f bits per key, worst %.2f, want %g and %g", c.p, c.expected, mean, worst, c.mean, c.worst)
		}
		for _, h := range hs {
			if !g.ContainsHash(h) || g.CountHash(h) == 0 {
				t.Fatalf("%g: key %#x is lost", c.p, h)
			}
		}
		size, rate := g.Shape().Grown(1000, 300_000)
		if s := g.Stats(); math.Abs(s.Predicted/rate-1) > 0.03 || math.Abs(float64(s.Bits)/float64(size)-1) > 0.05 {
			t.Errorf("%g, %d expected: predicted %g in %d bits, model %g in %d", c.p, c.expected, s.Predicted, s.Bits, rate, size)
		}
	}
}

// TestGrowingRateFalls deletes what was inserted: the rate goes down with it.
func TestGrowingRateFalls(t *testing.T) {
	g := quotient.NewGrowing(1000, 0.001)
	hs := hashes(20_000, 10)
	if n, err := g.InsertHashes(hs); n != len(hs) || err != nil {
		t.Fatal(n, err)
	}
	full := g.Stats().Predicted
	for _, h := range hs[:15_000] {
		if !g.DeleteHash(h) {
			t.Fatal("a key that is there was not deleted")
		}
	}
	if got := g.Stats(); got.Predicted > full/3 || got.Items != 5000 {
		t.Errorf("%d items, predicted %g, before %g", got.Items, got.Predicted, full)
	}
}

func TestGrowingRefuses(t *testing.T) {
	huge := uint64(1) << 44
	for _, c := range []struct {
		config quotient.Config
		want   error
		say    string
	}{
		{quotient.Config{ErrorRate: 0.01}, bloomery.ErrParameter, "capacity 0"},
		{quotient.Config{Capacity: -1, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -1"},
		{quotient.Config{Capacity: 10}, bloomery.ErrParameter, "rate 0"},
		{quotient.Config{Capacity: 10, ErrorRate: math.NaN()}, bloomery.ErrParameter, "NaN"},
		{quotient.Config{Capacity: 10, ErrorRate: 1}, bloomery.ErrParameter, "rate 1"},
		{quotient.Config{Capacity: 10, ErrorRate: 1e-18}, bloomery.ErrParameter, "more bits than a hash has"},
		{quotient.Config{Capacity: 10, ErrorRate: 0.01, Expected: -1}, bloomery.ErrParameter, "-1 keys expected"},
		{quotient.Config{Capacity: 10, ErrorRate: 0.01, Doublings: 1}, bloomery.ErrParameter, "Doublings is set"},
		{quotient.Config{Capacity: 10, ErrorRate: 0.01, Alloc: func(int) ([]byte, error) { return nil, nil }}, bloomery.ErrParameter, "Alloc"},
		{quotient.Config{Capacity: math.MaxInt, ErrorRate: 0.01}, bloomery.ErrTooLarge, "2^48"},
		{quotient.Config{Capacity: int(huge), ErrorRate: 0.9}, bloomery.ErrTooLarge, "memory"},
	} {
		if strconv.IntSize == 32 && c.want == bloomery.ErrTooLarge {
			continue // an int holds no such number
		}
		g, err := c.config.NewGrowing()
		if g != nil || !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "quotient: new growing: ") || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want %v with %q", c.config, err, c.want, c.say)
		}
	}
	if _, err := (quotient.Config{Capacity: 10, ErrorRate: 0.01, Expected: 100}).New(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a Filter with a hint of growth: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("NewGrowing(0, 0.01) did not panic")
		}
	}()
	quotient.NewGrowing(0, 0.01)
}

// TestGrowingSkew inserts hashes that all begin with the same bits, as a bad hash
// or an attacker makes them. In the end they are refused, and neither memory nor
// directory have grown out of proportion.
func TestGrowingSkew(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for _, same := range []int{8, 20, 40, 63} {
		g := quotient.NewGrowing(100, 0.01)
		var in []uint64
		var err error
		for range 100_000 {
			h := uint64(0xfedcba9876543210)
			h = h>>(64-same)<<(64-same) | rng.Uint64()>>same
			if err = g.InsertHash(h); err != nil {
				break
			}
			in = append(in, h)
		}
		if err != nil && (!errors.Is(err, bloomery.ErrFull) || same < 10) {
			t.Errorf("%d bits: %v after %d", same, err, len(in))
		}
		if n := quotient.Directory(g); n > 1<<14 || g.Stats().Bytes > 4<<20 {
			t.Errorf("%d bits: a directory of %d entries, %d bytes for %d keys", same, n, g.Stats().Bytes, len(in))
		}
		for _, h := range in {
			if !g.ContainsHash(h) {
				t.Fatalf("%d bits: a key is lost", same)
			}
		}
		if err := quotient.CheckGrowing(g); err != nil {
			t.Errorf("%d bits: %v", same, err)
		}
	}
}

// TestGrowingInserts asks the batch forms, Clone and Clear.
func TestGrowingInserts(t *testing.T) {
	g := quotient.NewGrowing(10, 0.01)
	keys := [][]byte{[]byte("alice"), []byte("bob"), []byte("alice")}
	if n, err := g.InsertKeys(keys); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := g.InsertSeq(slices.Values(keys)); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if got := g.CountString("alice"); got != 4 {
		t.Errorf("alice is there %d times, want 4", got)
	}
	c := g.Clone()
	if !c.DeleteString("bob") || !c.Delete(keys[1]) || c.ContainsString("bob") || !g.Contains(keys[1]) {
		t.Error("a clone shares its memory")
	}
	g.Clear()
	if s := g.Stats(); s.Items != 0 || s.Saturation != 0 || s.Predicted != 0 || c.CountString("alice") != 4 {
		t.Errorf("cleared: %+v", s)
	}
	if got, want := encoded(t, g), encoded(t, quotient.NewGrowing(10, 0.01)); !slices.Equal(got, want) {
		t.Error("a cleared filter is not a new one")
	}
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	k, err := quotient.Config{Capacity: 10, ErrorRate: 0.01, Hasher: key}.NewGrowing()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (quotient.Config{}).DecodeGrowing(encoded(t, k)); !errors.Is(err, bloomery.ErrKey) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := (quotient.Config{Hasher: key}).DecodeGrowing(encoded(t, k)); err != nil {
		t.Errorf("with the key: %v", err)
	}
}

// TestGrowingCountsInLanes puts two keys of one quotient beside each other, the
// first so often that its count has digits: 0 among them, and such as look like
// the slots of other keys. Lookups compare all slots of a run at once and must not
// take digits for slots, nor lose what comes behind them.
func TestGrowingCountsInLanes(t *testing.T) {
	const l = 3
	for a := range uint64(1 << l) {
		for b := range uint64(1 << l) {
			g := quotient.GrowingOf(1, sizing.Growing{Slots: 64, Bits: l})
			hash := func(r uint64) uint64 { return 5<<58 | r<<(58-l) }
			if err := g.InsertHash(hash(b)); err != nil {
				t.Fatal(err)
			}
			for n := uint64(1); n < 40; n++ {
				if err := g.InsertHash(hash(a)); err != nil {
					t.Fatal(err)
				}
				for r := range uint64(1 << l) {
					h := hash(r) | 1<<54 // bits that no slot has
					if got, want := g.ContainsHash(h), r == a || r == b; got != want || (g.CountHash(h) > 0) != want {
						t.Fatalf("%d beside %d, %d times: %d is found: %v, counted %d times", a, b, n, r, got, g.CountHash(h))
					}
				}
			}
		}
	}
}

// Deleting all keys gives no memory back and leaves copies of the oldest ones, as the
// comment of Growing says; Stats shows it, and Clear starts again.
func TestGrowingDoesNotShrink(t *testing.T) {
	const n, asked = 100_000, 200_000
	h := hashing.Seeded(1)
	g := quotient.NewGrowing(1, 0.1)
	small := g.Stats().Bytes
	for i := range uint64(n) {
		if err := g.InsertHash(h.HashUint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	full := g.Stats()
	for i := range uint64(n) {
		if !g.DeleteHash(h.HashUint64(i)) {
			t.Fatalf("key %d is not there", i)
		}
	}
	found := 0
	for i := range uint64(asked) {
		if g.ContainsHash(h.HashUint64(n + i)) {
			found++
		}
	}
	st, rate := g.Stats(), float64(found)/asked
	if st.Items != 0 || found == 0 || math.Abs(rate-st.Predicted) > 4*math.Sqrt(st.Predicted/asked) || rate > 0.1 {
		t.Errorf("all keys deleted: %d of %d absent keys found, %v", found, asked, st)
	}
	if st.Bits != full.Bits {
		t.Errorf("%d bits after the deletes, %d before", st.Bits, full.Bits)
	}
	if g.Clear(); g.Stats().Bytes != small || g.Stats().Predicted != 0 {
		t.Errorf("cleared: %v, want %d bytes", g.Stats(), small)
	}
}

// TestZeroGrowing checks that a filter that was not made holds nothing, and that one
// that cannot be changed names its constructor.
func TestZeroGrowing(t *testing.T) {
	var g quotient.Growing
	if g.CountHash(1) != 0 || g.ContainsHash(1) || g.Stats().Saturation != 0 {
		t.Errorf("a zero filter: count %d, %+v", g.CountHash(1), g.Stats())
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "make it with New") {
			t.Errorf("deleting from a zero filter: %q, want its constructor", text)
		}
	}()
	new(quotient.Filter).DeleteHash(1)
}

// TestGrowingStats checks load and memory of a filter of several segments: each has
// an array and something beside it.
func TestGrowingStats(t *testing.T) {
	g := quotient.NewGrowing(1000, 0.01)
	if _, err := g.InsertHashes(hashes(50_000, 2)); err != nil {
		t.Fatal(err)
	}
	s := g.Stats()
	n, _, _ := quotient.Segments(g)
	if least := s.Bits/8 + n*256; n < 2 || s.Bytes < least || s.Bytes > least+n*256 {
		t.Errorf("%d segments of %d bits take %d bytes", n, s.Bits, s.Bytes)
	}
	if s.Saturation < 0.5 || s.Saturation > 0.96 {
		t.Errorf("a share of %v of the slots is in use", s.Saturation)
	}
}

// TestGrowingInsertsUntilFull checks how many keys the batch forms report when one is
// refused: fingerprints of 52 bits leave few for addresses.
func TestGrowingInsertsUntilFull(t *testing.T) {
	var keys [][]byte
	for i := range 5000 {
		keys = append(keys, strconv.AppendInt(nil, int64(i), 10))
	}
	for name, insert := range map[string]func(*quotient.Growing) (int, error){
		"keys":     func(g *quotient.Growing) (int, error) { return g.InsertKeys(keys) },
		"sequence": func(g *quotient.Growing) (int, error) { return g.InsertSeq(slices.Values(keys)) },
	} {
		g := quotient.GrowingOf(1, sizing.Growing{Slots: 64, Bits: 52})
		if n, err := insert(g); !errors.Is(err, bloomery.ErrFull) || uint64(n) != g.Stats().Items {
			t.Errorf("%s: %d keys, %v, the filter has %d", name, n, err, g.Stats().Items)
		}
	}
}

// TestGrowingFork forks a filter, changes both, and asks that neither sees what the other does: they are
// equal, to the byte, to filters of their own memory.
func TestGrowingFork(t *testing.T) {
	for changes, c := range map[int]quotient.Config{400_000: {Capacity: 1, ErrorRate: 0.5}, 40_000: {Capacity: 1000, ErrorRate: 0.01}} {
		r := rand.New(rand.NewPCG(12, 7))
		g, err := c.NewGrowing()
		if err != nil {
			t.Fatal(err)
		}
		var in []uint64
		change := func(n int, filters ...*quotient.Growing) {
			for range n {
				h := r.Uint64()
				if len(in) > 0 && r.IntN(3) == 0 {
					h = in[r.IntN(len(in))]
				}
				remove := len(in) > 0 && r.IntN(3) == 0
				for _, f := range filters {
					if remove {
						f.DeleteHash(in[len(in)-1])
					} else if err := f.InsertHash(h); err != nil {
						t.Fatal(err)
					}
				}
				if remove {
					in = in[:len(in)-1]
				} else {
					in = append(in, h)
				}
			}
		}
		change(changes, g)
		clone := g.Clone()
		fork := g.Fork()
		before := encoded(t, clone)
		change(10_000, g, clone)
		if !bytes.Equal(encoded(t, g), encoded(t, clone)) {
			t.Error("after a fork a filter changes as one that was not forked does not")
		}
		if !bytes.Equal(encoded(t, fork), before) {
			t.Error("a fork has seen changes")
		}
		second := fork.Fork()
		after := encoded(t, g)
		change(10_000, fork)
		if !bytes.Equal(encoded(t, g), after) || !bytes.Equal(encoded(t, second), before) {
			t.Error("a change of a fork is seen by others")
		}
		for _, f := range []*quotient.Growing{g, fork, second} {
			if err := quotient.CheckGrowing(f); err != nil {
				t.Error(err)
			}
		}
		fork.Clear()
		if !bytes.Equal(encoded(t, second), before) {
			t.Error("Clear of a fork is seen by others")
		}
		if _, _, elders := quotient.Segments(g); c.ErrorRate == 0.5 && elders <= 4096 {
			t.Errorf("%d elders: not so many that there are several shelves", elders)
		}
	}
}

// TestForkCopiesLittle counts what a fork of a large filter and the next change allocate: what is
// copied at once does not grow with the arrays.
func TestForkCopiesLittle(t *testing.T) {
	g := quotient.NewGrowing(1000, 0.01)
	for i := range uint64(500_000) {
		if err := g.InsertHash(i * 0x9e3779b97f4a7c15); err != nil {
			t.Fatal(err)
		}
	}
	segments, _, _ := quotient.Segments(g)
	var fork *quotient.Growing
	if n := bytesOf(func() { fork = g.Fork() }); n > 64*segments+8192 {
		t.Errorf("Fork of %d segments of %d bytes copies %d", segments, g.Stats().Bytes, n)
	}
	if n := bytesOf(func() { _ = g.InsertHash(1) }); n > 4*g.Stats().Bytes/segments {
		t.Errorf("the next change copies %d bytes of %d", n, g.Stats().Bytes)
	}
	runtime.KeepAlive(fork)
}

// bytesOf returns how many bytes do allocates.
func bytesOf(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestGrowingIsLazy: a filter for many keys takes memory when they come, and no fork takes any of what is empty.
func TestGrowingIsLazy(t *testing.T) {
	var g *quotient.Growing
	if n := bytesOf(func() { g = quotient.NewGrowing(10_000_000, 0.01) }); n > g.Stats().Bytes/20 {
		t.Errorf("an empty filter of %d bytes takes %d bytes at once", g.Stats().Bytes, n)
	}
	fork := g.Fork()
	if err := g.InsertHash(7); err != nil || !g.ContainsHash(7) || g.ContainsHash(1<<63) || g.Copied() != 0 || fork.ContainsHash(7) {
		t.Errorf("%v: found is %v, another key %v, and by a fork %v; %d bytes are copied", err, g.ContainsHash(7), g.ContainsHash(1<<63), fork.ContainsHash(7), g.Copied())
	}
	if !bytes.Equal(encoded(t, fork), encoded(t, quotient.NewGrowing(10_000_000, 0.01))) {
		t.Error("the fork is not empty")
	}
	g.Clear()
	if n := bytesOf(g.Clear); n > g.Stats().Bytes/20 || !bytes.Equal(encoded(t, g), encoded(t, fork)) {
		t.Errorf("to empty it takes %d bytes of %d, or it is another one", n, g.Stats().Bytes)
	}
}

// TestGrowSegments adds keys to a filter, all over it, in one place and again and again, and asks that no
// more segments grow than GrowSegments has said, and that it says little of random keys.
func TestGrowSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 7))
	g := quotient.NewGrowing(1000, 0.01)
	insert := func(h uint64) {
		if err := g.InsertHash(h); err != nil {
			t.Fatal(err)
		}
	}
	for range 150_000 {
		insert(r.Uint64())
	}
	grown := 0
	for range 1500 {
		n, shift, same := 1+r.IntN(200), r.IntN(12), r.IntN(4) == 0
		place := r.Uint64() &^ (math.MaxUint64 >> shift)
		said := g.GrowSegments(n)
		one := r.Uint64()
		now := quotient.GrowingSegments(g, func() {
			for range n {
				if !same {
					one = r.Uint64()
				}
				insert(place | one>>shift)
			}
		})
		if grown += now; now > said {
			t.Fatalf("%d keys whose hashes share %d bits have %d segments grow, GrowSegments said %d", n, shift, now, said)
		}
	}
	segments, _, _ := quotient.Segments(g)
	if said := g.GrowSegments(500); said > int(segments)*3/4 || grown < 20 {
		t.Errorf("GrowSegments(500) = %d of %d segments, and %d have grown", said, segments, grown)
	}
}

// TestForkAtOnce encodes forks while their filter is changed by another goroutine: for the race detector, and
// to see that each is what the filter was.
func TestForkAtOnce(t *testing.T) {
	g := quotient.NewGrowing(10, 0.3)
	r := rand.New(rand.NewPCG(14, 7))
	var wg sync.WaitGroup
	for range 20 {
		want, fork := encoded(t, g), g.Fork()
		wg.Go(func() {
			if got, err := fork.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("a fork is another, %v", err)
			}
			if err := fork.InsertHash(1); err != nil || !fork.ContainsHash(1) {
				t.Errorf("a fork takes no key: %v", err)
			}
		})
		for range 3000 {
			h := r.Uint64()
			if err := g.InsertHash(h); err != nil {
				t.Fatal(err)
			}
			if h%3 == 0 {
				g.DeleteHash(h)
			}
		}
	}
	wg.Wait()
	if err := quotient.CheckGrowing(g); err != nil {
		t.Error(err)
	}
}
