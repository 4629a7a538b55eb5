package bloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/sizing"
)

// maker is a Builder without the type of its filter.
type maker interface {
	AddHashes(hs []uint64)
	Full() bool
	build() (folder, error)
}

type making[F interface {
	*bloom.Filter | *bloom.Standard | *bloom.Split
}] struct{ *bloom.Builder[F] }

func (m making[F]) build() (folder, error) {
	f, err := m.Build()
	if err != nil {
		return nil, err
	}
	return any(f).(folder), nil
}

// unsizedKinds are the builders by kind, and how a filter of a size is made at once.
var unsizedKinds = []struct {
	name   string
	layout sizing.Layout
	start  func(c bloom.Config) (maker, error)
	once   func(c bloom.Config) (folder, error)
}{
	{
		"bloom", sizing.Blocked,
		func(c bloom.Config) (maker, error) { return started(c.NewBuilder()) },
		func(c bloom.Config) (folder, error) { return c.New() },
	},
	{
		"standard", sizing.Standard,
		func(c bloom.Config) (maker, error) { return started(c.NewStandardBuilder()) },
		func(c bloom.Config) (folder, error) { return c.NewStandard() },
	},
	{
		"split", sizing.Split,
		func(c bloom.Config) (maker, error) { return started(c.NewSplitBuilder()) },
		func(c bloom.Config) (folder, error) { return c.NewSplit() },
	},
}

func started[F *bloom.Filter | *bloom.Standard | *bloom.Split](b *bloom.Builder[F], err error) (maker, error) {
	if err != nil {
		return nil, err
	}
	return making[F]{b}, nil
}

// built returns the filter of hashes that come in pieces of random lengths.
func built(t *testing.T, start func(bloom.Config) (maker, error), c bloom.Config, hs []uint64, rng *rand.Rand) folder {
	t.Helper()
	b, err := start(c)
	if err != nil {
		t.Fatal(err)
	}
	for len(hs) > 0 {
		n := 1 + rng.IntN(min(len(hs), 3000))
		b.AddHashes(hs[:n])
		hs = hs[n:]
	}
	f, err := b.build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBuilder builds filters of a few and of many keys, up to Max: each must be the filter of
// that many blocks with the same keys, bit for bit, hold all keys at the rate asked for, and be
// as small as promised.
func TestBuilder(t *testing.T) {
	for _, m := range unsizedKinds {
		for _, p := range []float64{0.1, 0.01, 1e-4} {
			most := 100_000
			if p == 0.01 {
				most = 800_000 // an array of a MiB
			}
			for _, n := range []int{0, 1, 2, 300, most / 300, most / 100, most / 20, most / 9, most / 7, most / 5, most / 3, most/2 + 1, most} {
				t.Run(fmt.Sprintf("%s/p=%v/n=%d", m.name, p, n), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(33, uint64(n)))
					hs := hashes(n, uint64(n)+1)
					twice := append(slices.Clone(hs), hs[:n/2]...)
					rng.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
					f := built(t, m.start, bloom.Config{Max: most, ErrorRate: p}, twice, rng)
					holdBuilt(t, f, m.once, hs, p)
					s, err := m.layout.Size(uint64(max(n, 1)), p)
					if err != nil {
						t.Fatal(err)
					}
					ratio := float64(f.Shape().Bits) / float64(s.Bits)
					if allowed := allowedRatio(m.layout, p, most, max(n, 1)); ratio > allowed || ratio < 0.99 {
						t.Errorf("%d bits, %.3f times those for %d keys, want %.3f at most", f.Shape().Bits, ratio, n, allowed)
					}
					if m.layout == sizing.Split && f.Shape().Bits&(f.Shape().Bits-1) != 0 {
						t.Errorf("%d bits are no power of two", f.Shape().Bits)
					}
				})
			}
		}
	}
}

// allowedRatio is the size that a Builder promises over that for n keys.
func allowedRatio(layout sizing.Layout, p float64, most, n int) float64 {
	f := most / n
	switch {
	case layout == sizing.Split:
		return 2
	case f >= 7 && p <= 0.01:
		return 1.15
	case layout == sizing.Blocked && p > 0.01:
		return 1.3 * (1 + 1/float64(f)) // 8 bits a key are too many there
	}
	return 1.07 * (1 + 1/float64(f)) // a size with divisors is 1/16 larger at most
}

// holdBuilt asks a filter for all keys, for its rate, and for the bits that a filter of its
// size made at once has.
func holdBuilt(t *testing.T, f folder, once func(bloom.Config) (folder, error), hs []uint64, p float64) {
	t.Helper()
	g, err := once(bloom.Config{Bits: f.Shape().Bits, Hashes: f.Shape().K})
	if err != nil {
		t.Fatal(err)
	}
	g.AddHashes(nil, hs)
	if !bytes.Equal(payload(t, f), payload(t, g)) {
		t.Fatalf("%v is not the filter of that size", f.Stats())
	}
	found := make([]bool, len(hs))
	f.ContainsHashes(found, hs)
	if i := slices.Index(found, false); i >= 0 {
		t.Fatalf("key %#x is lost", hs[i])
	}
	st := f.Stats()
	if st.Asked != p || st.Capacity < uint64(len(hs)) || f.Shape().Rate(float64(st.Capacity)) > p {
		t.Errorf("%+v for %d keys, rate %v at the capacity", st, len(hs), f.Shape().Rate(float64(st.Capacity)))
	}
	// The fill of a filter varies, and the rate of small ones by 5% with it: 4 sigma.
	if rate := f.Shape().Rate(float64(len(hs))); rate > 1.005*p || st.Predicted > 1.2*p+4*st.PredictedSigma {
		t.Errorf("rate %v, predicted %v, asked for %v", rate, st.Predicted, p)
	}
}

// TestBuilderRate measures folded filters: absent keys are found as often as asked for, or
// less often, within 4 sigma.
func TestBuilderRate(t *testing.T) {
	const most, queries, filters = 40_000, 50_000, 8
	for _, m := range unsizedKinds {
		for _, n := range []int{most / 3, most / 12} {
			rng := rand.New(rand.NewPCG(33, 8))
			const p = 0.01
			wrong := 0
			for i := range filters {
				f := built(t, m.start, bloom.Config{Max: most, ErrorRate: p}, hashes(n, uint64(i)), rng)
				for range queries {
					if f.ContainsHash(rng.Uint64()) {
						wrong++
					}
				}
			}
			asked := p * queries * filters
			if sigma := math.Hypot(math.Sqrt(asked), 0.03*asked/math.Sqrt(filters)); float64(wrong) > asked+4*sigma {
				t.Errorf("%s of %d keys: %d false positives, asked for %.0f, sigma %.1f", m.name, n, wrong, asked, sigma)
			}
		}
	}
}

// TestBuilderMemory counts what a build takes beside the words of the array that it touches:
// both together are at most the array, but for 1%.
func TestBuilderMemory(t *testing.T) {
	const most = 1_000_000
	for _, m := range unsizedKinds {
		for _, p := range []float64{0.01, 1e-6} {
			for _, n := range []int{most, most / 3, most / 6, most / 9, most / 200} {
				hs := hashes(n, 5)
				var array []byte
				c := bloom.Config{Max: most, ErrorRate: p, Alloc: func(bytes int) ([]byte, error) {
					made := make([]byte, bytes)
					if array == nil {
						array = made
					}
					return made, nil
				}}
				b, err := m.start(c)
				if err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				b.AddHashes(hs)
				written := touched(array)
				f, err := b.build()
				if err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				beside := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(array))
				if both := written + beside; both > 1.01 {
					t.Errorf("%s at %v, %d keys: the build takes %.3f of the array of %d bytes, %.3f beside it", m.name, p, n, both, len(array), beside)
				}
				if !f.ContainsHash(hs[n-1]) {
					t.Errorf("%s: a key is lost", m.name)
				}
			}
		}
	}
}

// touched is the part of an array whose pages were written to.
func touched(array []byte) float64 {
	zero := make([]byte, 4096)
	touched := 0
	for page := range slices.Chunk(array, len(zero)) {
		if !bytes.Equal(page, zero[:len(page)]) {
			touched += len(page)
		}
	}
	return float64(touched) / float64(len(array))
}

// TestBuilderHeadroom leaves room for keys that come later.
func TestBuilderHeadroom(t *testing.T) {
	for _, m := range unsizedKinds {
		for _, n := range []int{100, 30_000} {
			f := built(t, m.start, bloom.Config{Max: 100_000, ErrorRate: 0.01, Headroom: 50}, hashes(n, 3), rand.New(rand.NewPCG(1, 1)))
			if s := f.Stats(); float64(s.Capacity) < 1.49*float64(n) || f.Shape().Rate(1.49*float64(n)) > 0.01 {
				t.Errorf("%s: %+v", m.name, s)
			}
		}
	}
}

// TestBuilderOverMax adds more keys than there can be: none is lost, and Stats shows the rate.
func TestBuilderOverMax(t *testing.T) {
	for _, m := range unsizedKinds {
		for _, most := range []int{1, 5000} {
			hs := hashes(40_000, 4)
			f := built(t, m.start, bloom.Config{Max: most, ErrorRate: 0.01}, hs, rand.New(rand.NewPCG(1, 2)))
			found := make([]bool, len(hs))
			f.ContainsHashes(found, hs)
			if slices.Contains(found, false) {
				t.Errorf("%s: a key is lost", m.name)
			}
			if s := f.Stats(); s.Predicted < 0.1 || s.Asked != 0.01 {
				t.Errorf("%s for %d: %+v", m.name, most, s)
			}
		}
	}
}

// TestBuilderOfBits bounds the array instead of the keys: it uses what it may, but for what
// makes it divisible, and is full when it holds more keys than it can at the rate.
func TestBuilderOfBits(t *testing.T) {
	for _, m := range unsizedKinds {
		for _, p := range []float64{0.1, 0.01, 1e-5} {
			for _, limit := range []uint64{4096, 100_000, 8 << 20, 9_999_999} {
				array := 0
				b, err := m.start(bloom.Config{Bits: limit, ErrorRate: p, Alloc: func(bytes int) ([]byte, error) {
					array = max(array, bytes)
					return make([]byte, bytes), nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				least := limit * 9 / 10
				if m.layout == sizing.Split || limit < 100_000 {
					least = limit / 2
				}
				if bits := 8 * uint64(array); bits > limit+63 || bits < least {
					t.Errorf("%s at %v: an array of %d bits, at most %d", m.name, p, bits, limit)
				}
				n := 0
				for ; !b.Full(); n += 100 {
					b.AddHashes(hashes(100, uint64(n)))
				}
				if f, err := b.build(); err != nil || f.Shape().Rate(float64(n)*1.02) < p || f.Stats().Asked != p {
					t.Errorf("%s at %v: full with %d keys: %v, %v", m.name, p, n, f, err)
				}
			}
		}
	}
}

// TestBuilderOfBadHashes builds from hashes that are not mixed at all: of one block, the first
// or the last, in order, or all the same. No key is lost.
func TestBuilderOfBadHashes(t *testing.T) {
	const n, most = 20_000, 60_000
	for name, hash := range map[string]func(i uint64) uint64{
		"first": func(i uint64) uint64 { return i },
		"last":  func(i uint64) uint64 { return math.MaxUint64 - i },
		"order": func(i uint64) uint64 { return i << 44 },
		"same":  func(uint64) uint64 { return 7 },
		"ends":  func(i uint64) uint64 { return i ^ -(i & 1) },
	} {
		hs := make([]uint64, n)
		for i := range hs {
			hs[i] = hash(uint64(i))
		}
		for _, m := range unsizedKinds {
			f := built(t, m.start, bloom.Config{Max: most, ErrorRate: 0.01}, hs, rand.New(rand.NewPCG(1, 3)))
			g, err := m.once(bloom.Config{Bits: f.Shape().Bits, Hashes: f.Shape().K})
			if err != nil {
				t.Fatal(err)
			}
			g.AddHashes(nil, hs)
			if !bytes.Equal(payload(t, f), payload(t, g)) {
				t.Errorf("%s of %s is not the filter of that size", m.name, name)
			}
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	for _, m := range unsizedKinds {
		for _, c := range []bloom.Config{
			{},
			{ErrorRate: 0.01},
			{Max: -1, ErrorRate: 0.01},
			{Max: 100},
			{Max: 100, ErrorRate: 1},
			{Max: 100, ErrorRate: -1},
			{Max: 100, ErrorRate: math.NaN()},
			{Max: 100, ErrorRate: 0.01, Capacity: 10},
			{Max: 100, ErrorRate: 0.01, Headroom: -1},
			{Max: 100, ErrorRate: 0.01, Headroom: 1001},
			{Max: 100, ErrorRate: 0.01, Foldable: true},
			{Max: 100, Bits: 512, Hashes: 8},
			{Max: 100, Bits: 1 << 20, ErrorRate: 0.01},
			{Bits: 1, ErrorRate: 0.01},
			{Bits: 1 << 20},
			{Bits: 1 << 20, ErrorRate: math.NaN()},
		} {
			if _, err := m.start(c); !errors.Is(err, bloomery.ErrParameter) || !strings.HasPrefix(err.Error(), "bloom: new builder: bad parameter: ") {
				t.Errorf("%s, %+v: %v", m.name, c, err)
			}
		}
		if _, err := m.start(bloom.Config{Max: math.MaxInt, ErrorRate: 0.01}); !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s for all keys: %v", m.name, err)
		}
		broken := errors.New("no memory today")
		if _, err := m.start(bloom.Config{Max: 10, ErrorRate: 0.01, Alloc: func(int) ([]byte, error) { return nil, broken }}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if _, err := (bloom.Config{Capacity: 10, ErrorRate: 0.01, Max: 100}).New(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("New with Max: %v", err)
	}
	b, err := bloom.Config{Max: 10, ErrorRate: 0.01, Hasher: hashing.Seeded(7)}.NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	b.AddString("alice")
	b.Add([]byte("bob"))
	f, err := b.Build()
	if err != nil || !f.ContainsString("alice") || !f.ContainsString("bob") || f.ContainsString("carol") {
		t.Errorf("%v: %v", f, err)
	}
	if _, err := b.Build(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a second Build: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a key after Build is not refused")
		}
	}()
	b.AddString("late")
}

// FuzzBuilder builds from any hashes, in any order and as often as they come.
func FuzzBuilder(f *testing.F) {
	f.Add(uint8(0), uint16(100), []byte("some hashes of eight bytes each"))
	f.Add(uint8(1), uint16(1), binary.LittleEndian.AppendUint64(nil, math.MaxUint64))
	f.Add(uint8(5), uint16(3), bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 2000))
	f.Fuzz(func(t *testing.T, kind uint8, most uint16, data []byte) {
		m := unsizedKinds[int(kind)%len(unsizedKinds)]
		b, err := m.start(bloom.Config{Max: int(most) + 1, ErrorRate: 0.02})
		if err != nil {
			t.Fatal(err)
		}
		var hs []uint64
		for ; len(data) >= 8; data = data[8:] {
			hs = append(hs, binary.LittleEndian.Uint64(data))
		}
		for from := 0; from < len(hs); {
			to := min(len(hs), from+1+int(hs[from]%97))
			b.AddHashes(hs[from:to])
			from = to
		}
		g, err := b.build()
		if err != nil {
			t.Fatal(err)
		}
		once, err := m.once(bloom.Config{Bits: g.Shape().Bits, Hashes: g.Shape().K})
		if err != nil {
			t.Fatal(err)
		}
		once.AddHashes(nil, hs)
		if !bytes.Equal(payload(t, g), payload(t, once)) {
			t.Fatalf("%v is not the filter of that size", g.Stats())
		}
	})
}
