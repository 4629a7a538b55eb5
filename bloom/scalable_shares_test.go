package bloom_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// After growth by 10, 100 and 1,000 a Scalable at 1% takes at most 1.05 of the bytes
// that RedisBloom's rule takes, at 0.1% from growth by 100 on, and the rates of its
// layers add up to no more than the one asked.
func TestScalableBytesOfGrowth(t *testing.T) {
	for _, c := range []struct {
		first, times int
		rate         float64
	}{{1000, 10, 0.01}, {1000, 100, 0.01}, {1000, 1000, 0.01}, {100_000, 10, 0.01}, {1000, 100, 0.001}, {100, 1000, 0.001}} {
		s := bloom.NewScalable(c.first, c.rate)
		r, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: c.rate, Capacity: uint64(c.first), Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		keys := hashes(c.first*c.times, 9)
		s.AddHashes(nil, keys)
		var key [8]byte
		for i := range keys {
			for j := range key {
				key[j] = byte(i >> (8 * j))
			}
			if _, err := r.Add(key[:]); err != nil {
				t.Fatal(err)
			}
		}
		if ratio := float64(s.Stats().Bytes) / float64(r.Bytes()); s.Layers() != r.Layers() || ratio > 1.05 {
			t.Errorf("%d keys at %v, %d times as many: %.3f of the bytes of RedisBloom's rule, %d and %d layers",
				c.first, c.rate, c.times, ratio, s.Layers(), r.Layers())
		}
		if sum, got := bloom.LayerRates(s), s.Stats().Predicted; sum > c.rate || got > c.rate {
			t.Errorf("%d keys at %v, %d times as many: rates of %.4g, predicted %.4g", c.first, c.rate, c.times, sum, got)
		}
	}
}

// The rates of layers never add up to more than what was asked, however many there are,
// for a filter that was made to grow and for one that has become so.
func TestScalableRatesOfManyLayers(t *testing.T) {
	full := bloom.New(10, 0.01)
	full.AddHashes(nil, hashes(10, 1))
	grown, err := full.Scalable(0)
	if err != nil {
		t.Fatal(err)
	}
	for asked, s := range map[float64]*bloom.Scalable{0.01: bloom.NewScalable(1, 0.01), 0.02: grown} {
		s.AddHashes(nil, hashes(200_000, 2))
		if sum := bloom.LayerRates(s); sum > asked || s.Layers() < 14 || s.Stats().Asked != asked {
			t.Errorf("%d layers have rates of %v, asked for %v", s.Layers(), sum, asked)
		}
		if s.Clear(); s.Stats().Asked != asked {
			t.Errorf("cleared: %v, want %v asked", s, asked)
		}
	}
}

// A filter that is over its rate becomes the first layer only of one whose rate is
// higher than it has: no layer can make up for it.
func TestFilterScalableOverRate(t *testing.T) {
	f := bloom.New(1000, 0.01)
	f.AddHashes(nil, hashes(2500, 3))
	now := f.Stats().Predicted
	if now < 0.2 || now > 0.5 {
		t.Fatalf("rate %v of a filter with 2.5 times its keys", now)
	}
	for _, p := range []float64{0, 0.02, now} {
		if s, err := f.Scalable(p); s != nil || !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), "that of the filter, 0.") {
			t.Errorf("Scalable(%v) of a filter of rate %v: %v", p, now, err)
		}
	}
	s, err := f.Scalable(now + 0.05)
	if err != nil {
		t.Fatal(err)
	}
	s.AddHashes(nil, hashes(50_000, 4))
	if st := s.Stats(); st.Predicted > st.Asked || math.Abs(st.Asked-now-0.05) > 1e-12 {
		t.Errorf("grown: %v", st)
	}
	again := new(bloom.Scalable)
	if data, err := s.MarshalBinary(); err != nil || again.UnmarshalBinary(data) != nil || again.Stats() != s.Stats() {
		t.Errorf("it does not come back from its encoding: %v", err)
	}
	f.AddHashes(nil, hashes(100_000, 5)) // all bits are set
	if _, err := f.Scalable(0.999); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("Scalable of a filter of %v: %v", f, err)
	}
}
