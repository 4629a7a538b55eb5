package bloom_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

type noisy interface {
	bloomery.Hashed
	bloomery.Adder
	AddNoise(share float64, random io.Reader) (uint64, error)
	EstimateCount() uint64
}

func noisyFilters() []noisy {
	return []noisy{bloom.New(30_000, 0.01), bloom.NewSplit(30_000, 0.01), bloom.NewStandard(30_000, 0.01), bloom.NewPartitioned(30_000, 0.01)}
}

// Noise keeps all keys, and costs the false positives that the model says.
func TestNoise(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	for _, f := range noisyFilters() {
		kind := f.Stats().Kind
		r := rand.New(rand.NewPCG(1, 1))
		keys := make([]uint64, 20_000)
		for i := range keys {
			keys[i] = r.Uint64()
		}
		f.AddHashes(nil, keys)
		before := f.EstimateCount()
		n, err := f.AddNoise(0.5, source)
		if err != nil || math.Abs(float64(n)-10_000) > 300 {
			t.Errorf("%s: AddNoise = %d, %v, want about 10,000", kind, n, err)
		}
		for _, h := range keys {
			if !f.ContainsHash(h) {
				t.Fatalf("%s: a key is not found", kind)
			}
		}
		if after := f.EstimateCount(); math.Abs(float64(after)-float64(before+n)) > 0.03*float64(after) {
			t.Errorf("%s: %d keys and %d dummies are counted as %d", kind, before, n, after)
		}
		const asked = 200_000
		yes := 0
		for range asked {
			if f.ContainsHash(r.Uint64()) {
				yes++
			}
		}
		st := f.Stats()
		if want := st.Predicted * asked; math.Abs(float64(yes)-want) > 5*math.Sqrt(want)+0.03*want {
			t.Errorf("%s: %d false positives, predicted %.0f", kind, yes, want)
		}
	}
}

func TestNoiseRefuses(t *testing.T) {
	for _, f := range noisyFilters() {
		f.AddHashes(nil, []uint64{1, 2, 3})
		before := f.Stats().Saturation
		for _, share := range []float64{-1, math.NaN(), math.Inf(1), 1e300, 1e6} {
			if n, err := f.AddNoise(share, nil); !errors.Is(err, bloomery.ErrParameter) || n != 0 {
				t.Errorf("AddNoise(%v) = %d, %v, want ErrParameter", share, n, err)
			}
		}
		if n, err := f.AddNoise(0, nil); n != 0 || err != nil {
			t.Errorf("AddNoise(0) = %d, %v", n, err)
		}
		if _, err := f.AddNoise(10, strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a source that ends: %v", err)
		}
		if f.Stats().Saturation != before {
			t.Error("the filter has changed")
		}
	}
}

// Keys that are aimed at one block of many show in Skew, while the mean fill
// predicts next to nothing; random keys never show, at any fill.
func TestSkew(t *testing.T) {
	f := bloom.New(100_000, 0.01)
	blocks := f.Shape().Bits / 512
	r := rand.New(rand.NewPCG(2, 2))
	aimed := func() uint64 { // block 5: the upper half of h * blocks
		return uint64(5.0/float64(blocks)*math.Pow(2, 64)) + 1<<50 + r.Uint64N(math.MaxUint64/blocks/2)
	}
	for range 2000 {
		f.AddHash(aimed())
	}
	yes := 0
	for range 1000 {
		if f.ContainsHash(aimed()) {
			yes++
		}
	}
	if st := f.Stats(); yes != 1000 || st.Predicted > 1e-6 || st.Skew < 100 {
		t.Errorf("%d of 1,000 aimed queries found, %d blocks, %+v", yes, blocks, st)
	}
	for _, fill := range []float64{1e-4, 0.01, 0.1, 0.5, 1, 2} {
		for seed := range uint64(20) {
			for _, g := range []noisy{bloom.New(50_000, 0.01), bloom.New(5_000, 1e-5), bloom.NewSplit(50_000, 0.01)} {
				r := rand.New(rand.NewPCG(seed, 3))
				for range int(fill * float64(g.Stats().Capacity)) {
					g.AddHash(r.Uint64())
				}
				if st := g.Stats(); st.Skew > 6 {
					t.Errorf("random keys, fill %v, seed %d: skew %.1f of %s", fill, seed, st.Skew, st.Kind)
				}
			}
		}
	}
	if st := bloom.NewStandard(100, 0.01).Stats(); st.Skew != 0 {
		t.Errorf("a Standard has skew %v", st.Skew)
	}
}

// TestNoiseOfFull refuses noise for a filter whose keys cannot be counted.
func TestNoiseOfFull(t *testing.T) {
	f, err := bloom.Config{Bits: 512, Hashes: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(20_000, 1))
	if n, err := f.AddNoise(0.5, nil); n != 0 || !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("noise for a full filter: %d dummies, %v", n, err)
	}
}
