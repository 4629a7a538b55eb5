package bloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/measuring"
)

// The rate asked for is kept at every size: with one layer, just after another
// one was made, and with many; and Stats predicts it.
func TestScalableKeepsRate(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	rates, sizes := []float64{0.2, 1e-2, 1e-3}, []int{100, 101, 1500, 10_000, 300, 2000, 100_000}
	if testing.Short() {
		rates, sizes = rates[1:2], sizes[:4]
	}
	for _, p := range rates {
		for _, n := range sizes {
			t.Run(fmt.Sprintf("p=%g/n=%d", p, n), func(t *testing.T) {
				t.Parallel()
				predicted, filters := 0.0, 0.0
				plan := measuring.Plan{
					Keys: measuring.KeyKinds()[1], N: n, Filters: max(10, 80_000/n), Queries: uint64(800 / p), Seed: 5,
				}
				r := measuring.Run(plan, func() measuring.Subject {
					s, added := bloom.NewScalable(100, p), 0
					return measuring.Subject{
						Add: func(keys [][]byte) {
							s.AddKeys(nil, keys)
							if added += len(keys); added == n {
								predicted += s.Stats().Predicted
								filters++
							}
						},
						Contains: s.ContainsKeys,
					}
				})
				if r.Lost > 0 {
					t.Errorf("%d of %d keys forgotten", r.Lost, r.Keys)
				}
				if r.Mean > p+3*r.Sigma {
					t.Errorf("rate = %.4g, asked for %g: more than 3 sigma (%.2g) above", r.Mean, p, r.Sigma)
				}
				if mean := predicted / filters; r.Mean > 1.1*mean+3*r.Sigma || r.Mean < mean/1.3-3*r.Sigma {
					t.Errorf("rate = %.4g, predicted %.4g, sigma %.2g", r.Mean, mean, r.Sigma)
				}
			})
		}
	}
}

// The same keys again, ten times: no new layer, no new item.
func TestScalableSameKeysAgain(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	hs := hashes(n, 1)
	s := bloom.NewScalable(1000, 0.01)
	s.AddHashes(nil, hs)
	want, layers := s.Stats(), s.Layers()
	for range 9 {
		s.AddHashes(nil, hs)
		for _, h := range hs[:1000] {
			if s.AddHash(h) {
				t.Fatal("a key that was there changed the filter")
			}
		}
	}
	if got := s.Stats(); got != want || s.Layers() != layers {
		t.Errorf("after ten times the same keys: %d layers, %+v, want %d layers, %+v", s.Layers(), got, layers, want)
	}
}

// A layer is made when a key comes for which there is no room, not before, and
// the bits per key stay below what the type's comment says.
func TestScalableGrows(t *testing.T) {
	for _, growth := range []int{0, 2, 3, 10} {
		s, err := bloom.Config{Capacity: 50, ErrorRate: 1e-3, Growth: growth}.NewScalable()
		if err != nil {
			t.Fatal(err)
		}
		next, capacity, layers := uint64(50), uint64(50), 1
		for _, h := range hashes(5000, 2) {
			if before := s.Stats().Items; before == capacity && !s.ContainsHash(h) {
				next *= uint64(max(growth, 2))
				capacity += next
				layers++
			}
			s.AddHash(h)
			if st := s.Stats(); s.Layers() != layers || st.Capacity != capacity {
				t.Fatalf("growth %d, %d items: %d layers for %d keys, want %d for %d", growth, st.Items, s.Layers(), st.Capacity, layers, capacity)
			}
		}
	}
	one := float64(bloom.New(1_000_000, 0.01).Shape().Bits) / 1e6
	s := bloom.NewScalable(1000, 0.01)
	for i, h := range hashes(300_000, 3) {
		s.AddHash(h)
		if n := i + 1; n == 1000 || n%4999 == 0 {
			limit := 4.3 // just after growth
			if n == 1000 {
				limit = 2
			}
			if ratio := float64(s.Stats().Bits) / float64(n) / one; ratio > limit {
				t.Errorf("%d keys take %.2f times the bits of one Filter, want at most %v", n, ratio, limit)
			}
		}
	}
}

// From 1,000 to 2 million keys at 1%: the rate is kept all the way.
func TestScalableFarBeyondTheGuess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 2 million keys")
	}
	const n, queries = 2_000_000, 1_000_000
	s, h := bloom.NewScalable(1000, 0.01), hashing.Seeded(8)
	hs, dst := make([]uint64, 4000), make([]bool, 4000)
	next := func(from int) []uint64 {
		for i := range hs {
			hs[i] = h.HashUint64(uint64(from + i))
		}
		return hs
	}
	for i := 0; i < n; i += len(hs) {
		s.AddHashes(nil, next(i))
	}
	wrong := 0
	for i := 0; i < queries; i += len(hs) {
		s.ContainsHashes(dst, next(n+i))
		for _, yes := range dst {
			if yes {
				wrong++
			}
		}
	}
	// Most of the rate is that of the first layers. They are small, and their
	// own rates vary: one sigma of the whole is some 4%, the seed is fixed.
	st := s.Stats()
	if rate := float64(wrong) / queries; rate > 0.01 || st.Predicted > 0.01 {
		t.Errorf("rate = %.4g, predicted %.4g, want at most 1%%", rate, st.Predicted)
	}
	one := float64(bloom.New(n, 0.01).Shape().Bits)
	if ratio := float64(st.Bits) / one; s.Layers() != 11 || ratio*one > 36*n {
		t.Errorf("%d layers take %.2f times the bits of one Filter", s.Layers(), ratio)
	}
}

func TestScalableRefuses(t *testing.T) {
	for _, c := range []struct {
		config bloom.Config
		want   error
		say    string
	}{
		{bloom.Config{}, bloomery.ErrParameter, "error rate 0 "},
		{bloom.Config{ErrorRate: 0.1}, bloomery.ErrParameter, "capacity 0"},
		{bloom.Config{Capacity: -4, ErrorRate: 0.1}, bloomery.ErrParameter, "capacity -4"},
		{bloom.Config{Capacity: 10, ErrorRate: math.NaN()}, bloomery.ErrParameter, "NaN"},
		{bloom.Config{Capacity: 10, ErrorRate: 1}, bloomery.ErrParameter, "error rate 1 "},
		{bloom.Config{Capacity: 10, ErrorRate: math.Inf(-1)}, bloomery.ErrParameter, "-Inf"},
		{bloom.Config{Capacity: 10, ErrorRate: 5e-324}, bloomery.ErrParameter, "error rate 5e-324"},
		{bloom.Config{Capacity: 10, ErrorRate: 0.1, Growth: 1}, bloomery.ErrParameter, "growth 1 "},
		{bloom.Config{Capacity: 10, ErrorRate: 0.1, Growth: -2}, bloomery.ErrParameter, "growth -2"},
		{bloom.Config{Capacity: 10, ErrorRate: 0.1, Growth: 256}, bloomery.ErrParameter, "growth 256"},
		{bloom.Config{Capacity: 10, Bits: 1024, Hashes: 3}, bloomery.ErrParameter, "Bits is set, which NewScalable does not use"},
		{bloom.Config{Capacity: math.MaxInt, ErrorRate: 1e-15}, bloomery.ErrTooLarge, ""},
	} {
		s, err := c.config.NewScalable()
		if s != nil || !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "bloom: new scalable: ") || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want %v with %q", c.config, err, c.want, c.say)
		}
	}
}

// An Alloc that refuses a third layer: nothing is lost, Stats shows the rate,
// Alloc is not asked for every key; when there is memory again it is taken.
func TestScalableAllocRefuses(t *testing.T) {
	refuse := errors.New("no more")
	calls, allowed := 0, 2
	s, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Alloc: func(n int) ([]byte, error) {
		if calls++; calls > allowed {
			return nil, refuse
		}
		return make([]byte, n), nil
	}}.NewScalable()
	if err != nil {
		t.Fatal(err)
	}
	hs := hashes(2000, 4)
	s.AddHashes(nil, hs[:1000])
	for _, h := range hs[1000:1500] {
		s.AddHash(h)
	}
	for i, h := range hs[:1500] {
		if !s.ContainsHash(h) {
			t.Fatalf("key %d is forgotten", i)
		}
	}
	if st := s.Stats(); s.Layers() != 2 || st.Predicted < 2*st.Asked {
		t.Errorf("%d layers, %+v, want 2 and a rate above that asked for", s.Layers(), st)
	}
	if calls < 4 || calls > 60 {
		t.Errorf("Alloc was called %d times", calls)
	}
	if err := s.Union(bloom.NewScalable(10, 0.1)); err != nil || s.Layers() != 2 {
		t.Errorf("union with an empty filter: %v, %d layers", err, s.Layers())
	}
	other := bloom.NewScalable(10, 0.1)
	other.AddString("x")
	before := s.Stats()
	if err := s.Union(other); !errors.Is(err, refuse) || s.Stats() != before {
		t.Errorf("union without memory: %v, want the error of Alloc and no change", err)
	}
	allowed = math.MaxInt
	s.AddHashes(nil, hs[1500:])
	if s.Layers() < 3 {
		t.Errorf("%d layers after Alloc has memory again", s.Layers())
	}
}

func TestScalableUnion(t *testing.T) {
	a, b := bloom.NewScalable(100, 0.01), bloom.NewScalable(1000, 0.002)
	hs := hashes(6000, 5)
	a.AddHashes(nil, hs[:2000])
	b.AddHashes(nil, hs[1500:4000])
	layers, theirs := a.Layers()+b.Layers(), b.Stats()
	if err := a.Union(b); err != nil {
		t.Fatal(err)
	}
	if got := a.Stats(); a.Layers() != layers || math.Abs(got.Asked-0.012) > 1e-15 {
		t.Errorf("%d layers, asked %v, want %d and the sum of both rates", a.Layers(), got.Asked, layers)
	}
	a.AddHashes(nil, hs[4000:])
	for i, h := range hs {
		if !a.ContainsHash(h) {
			t.Fatalf("key %d is forgotten", i)
		}
	}
	if b.Stats() != theirs {
		t.Error("adding to the union changed the other filter")
	}
	wrong, queries := 0, hashes(1_000_000, 6)
	for _, h := range queries {
		if a.ContainsHash(h) {
			wrong++
		}
	}
	// One small filter: its rate is off by some 10% (sigma) from the mean.
	if rate := float64(wrong) / float64(len(queries)); rate > 1.3*a.Stats().Predicted || rate > 0.012*1.3 {
		t.Errorf("rate of the union = %.4g, predicted %.4g", rate, a.Stats().Predicted)
	}
	data, _ := a.MarshalBinary()
	c := bloom.NewScalable(1, 0.5)
	if err := c.UnmarshalBinary(data); err != nil || c.Stats() != a.Stats() {
		t.Errorf("the union does not come back: %v", err)
	}
	a.Clear()
	if st := a.Stats(); a.Layers() != 1 || st.Asked != 0.01 || st.Capacity != 100 || st.Items != 0 {
		t.Errorf("after Clear: %d layers, %+v", a.Layers(), st)
	}
	if err := c.Union(c); err != nil || c.Layers() != 2*layers+2*(c.Layers()/2-layers) {
		t.Errorf("union with itself: %v, %d layers", err, c.Layers())
	}
	keyed, err := bloom.Config{Capacity: 10, ErrorRate: 0.1, Hasher: hashing.Seeded(9)}.NewScalable()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Union(keyed); !errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), "seed 0 and seed 9") {
		t.Errorf("union with another seed: %v, want ErrIncompatible", err)
	}
}

// Unions double the layers until there are too many.
func TestScalableTooManyLayers(t *testing.T) {
	s := bloom.NewScalable(1, 0.5)
	s.AddString("a")
	for range 12 {
		if err := s.Union(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Union(s); !errors.Is(err, bloomery.ErrTooLarge) || s.Layers() != 4096 {
		t.Errorf("%d layers, union with itself: %v, want ErrTooLarge", s.Layers(), err)
	}
	s.AddHashes(nil, hashes(1000, 7)) // goes on in the layers that there are
	if s.Layers() != 4096 {
		t.Errorf("%d layers, want no more than 4096", s.Layers())
	}
}

// TestScalableLayer asks that the layers together are the filter.
func TestScalableLayer(t *testing.T) {
	f := bloom.NewScalable(1000, 0.01)
	for i := range 20_000 {
		f.AddString(fmt.Sprint(i))
	}
	all := f.Stats()
	var items, capacity, bits uint64
	for i := range f.Layers() {
		l := f.Layer(i)
		items, capacity, bits = items+l.Items, capacity+l.Capacity, bits+l.Bits
		if l.Asked <= 0 || l.Asked >= all.Asked || !(l.Saturation > 0 && l.Saturation < 1) || l.Predicted > 1.1*l.Asked {
			t.Errorf("layer %d: %v", i, l)
		}
	}
	if f.Layers() < 4 || items != all.Items || capacity != all.Capacity || bits != all.Bits {
		t.Errorf("%d layers with %d items of %d and %d bits, the filter has %v", f.Layers(), items, capacity, bits, all)
	}
}

// TestSigmaOfLayers has layers that are sampled: variances are added up, and the sum
// for one layer is its own.
func TestSigmaOfLayers(t *testing.T) {
	s := bloom.NewScalable(1_000_000, 0.01)
	s.AddHashes(nil, hashes(200_000, 1))
	one, all := s.Layer(0).PredictedSigma, s.Stats().PredictedSigma
	if one == 0 || math.Abs(all-one) > 1e-6*one {
		t.Errorf("sigma %v, that of the only layer is %v", all, one)
	}
}

// TestMostLayers decodes 4096 layers, and refuses one more.
func TestMostLayers(t *testing.T) {
	s, err := bloom.Config{Capacity: 1, ErrorRate: 0.5}.NewScalable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	one := sealed.Words()
	for n, want := range map[int]error{4096: nil, 4097: bloomery.ErrCorrupt} {
		words := append([]uint64(nil), one[:8]...)
		for range n {
			words = append(words, one[8:16]...)
		}
		for range n {
			words = append(words, one[16:]...)
		}
		h := sealed.Header
		h.Extra, h.Size, h.Payload = uint32(n), h.Size*uint64(n), uint64(8*len(words))
		_, err := bloom.Config{}.Read(bytes.NewReader(envelope.Append(nil, h, words)))
		if !errors.Is(err, want) {
			t.Errorf("%d layers: %v, want %v", n, err, want)
		}
	}
}
