package kernel

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestAllocs(t *testing.T) {
	hs := hashes(rand.New(rand.NewPCG(4, 4)), 100)
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			// The slices do not escape only if no stub lets them.
			for name, f := range map[string]func(){
				"Has":                func() { var b [4]Block; Has(b[:], 6, 1) },
				"Set":                func() { var b [4]Block; Set(b[:], 6, 1) },
				"HasAll":             func() { var b [4]Block; var d [100]bool; HasAll(d[:], b[:], 6, hs) },
				"SetAll":             func() { var b [4]Block; var d [100]bool; SetAll(d[:], b[:], 6, hs) },
				"SetAll without dst": func() { var b [4]Block; SetAll(nil, b[:], 6, hs) },
			} {
				if n := testing.AllocsPerRun(20, f); n != 0 {
					t.Errorf("%s: %v allocations, want 0", name, n)
				}
			}
		})
	}
}

func TestPanics(t *testing.T) {
	const noBlock = "index out of range [0] with length 0"
	hs := make([]uint64, 30)
	full := make([]Block, 3)
	for _, tier := range tiers() {
		use(t, tier)
		for _, c := range []struct {
			name   string
			blocks []Block
			k      int
			want   string
		}{
			{"k=0", full, 0, badK},
			{"k=17", full, 17, badK},
			{"k=-1", full, -1, badK},
			{"k=MinInt", full, math.MinInt, badK},
			{"no blocks", nil, 6, noBlock},
			{"no blocks, but capacity", full[:0], 6, noBlock},
		} {
			name := tier + " " + c.name
			dst := make([]bool, 30)
			panics(t, name+": Has", c.want, func() { Has(c.blocks, c.k, 1) })
			panics(t, name+": Set", c.want, func() { Set(c.blocks, c.k, 1) })
			panics(t, name+": HasAll", c.want, func() { HasAll(dst, c.blocks, c.k, hs) })
			panics(t, name+": SetAll", c.want, func() { SetAll(dst, c.blocks, c.k, hs) })
			panics(t, name+": SetAll(nil)", c.want, func() { SetAll(nil, c.blocks, c.k, hs) })
			panics(t, name+": HasAll of nothing", c.want, func() { HasAll(nil, c.blocks, c.k, nil) })
			panics(t, name+": SetAll of nothing", c.want, func() { SetAll(nil, c.blocks, c.k, nil) })
		}
		dst := make([]bool, 30)
		panics(t, tier+" HasAll, short dst", badDst, func() { HasAll(dst[:29], full, 6, hs) })
		panics(t, tier+" HasAll, nil dst", badDst, func() { HasAll(nil, full, 6, hs) })
		panics(t, tier+" SetAll, short dst", badDst, func() { SetAll(dst[:29], full, 6, hs) })
		panics(t, tier+" SetAll, empty dst", badDst, func() { SetAll(dst[:0], full, 6, hs) })
		if slices.Contains(dst, true) {
			t.Errorf("%s: dst was written before a panic", tier)
		}
		for i, b := range full {
			if b != (Block{}) {
				t.Errorf("%s: block %d = %x after panics, want 0", tier, i, b)
			}
		}
	}
}

func panics(t *testing.T, name, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		got := recover()
		if err, ok := got.(runtime.Error); ok {
			got = err.Error()
		}
		if s, _ := got.(string); !strings.Contains(s, want) {
			t.Errorf("%s: panic %v, want %q", name, got, want)
		}
	}()
	f()
}

// TestRate compares the share of absent keys that are found with the exact
// rate of the layout, within 3 standard deviations.
func TestRate(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	for _, c := range []struct {
		bits, k int
		want    float64
	}{
		{10, 6, 9.7267e-3},
		{16, 9, 8.5845e-4},
	} {
		r := rand.New(rand.NewPCG(5, uint64(c.k)))
		const n, absent = 1 << 20, 1 << 22
		blocks := make([]Block, n*c.bits/512)
		hs := make([]uint64, chunk)
		dst := make([]bool, chunk)
		for range n / chunk {
			for i := range hs {
				hs[i] = r.Uint64()
			}
			SetAll(nil, blocks, c.k, hs)
		}
		found := 0
		for range absent / chunk {
			for i := range hs {
				hs[i] = r.Uint64()
			}
			HasAll(dst, blocks, c.k, hs)
			for _, ok := range dst {
				if ok {
					found++
				}
			}
		}
		got := float64(found) / absent
		// Over 250 arrays the standard deviation was that of the binomial for
		// 10 bits per key, and 1.07 times as much for 16.
		sigma := 1.1 * math.Sqrt(c.want/absent)
		if math.Abs(got-c.want) > 3*sigma {
			t.Errorf("%d bits per key, k=%d: rate %.4g, want %.4g ± %.2g", c.bits, c.k, got, c.want, 3*sigma)
		}
	}
}

// TestTier holds the choice to the best tier there is.
func TestTier(t *testing.T) {
	all := tiers()
	if got, want := Tier(), all[len(all)-1]; got != want {
		t.Errorf("Tier() = %q, want %q", got, want)
	}
}
