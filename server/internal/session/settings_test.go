package session

import (
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestDefaultsCheck moves every parameter to the ends of its range and past them.
func TestDefaultsCheck(t *testing.T) {
	for name, p := range map[string]struct {
		of        func(*Defaults) *int64
		low, high int64
	}{
		"bf-initial-size":     {func(d *Defaults) *int64 { return &d.BloomCapacity }, 1, redisbloom.MaxCapacity},
		"bf-expansion-factor": {func(d *Defaults) *int64 { return &d.BloomExpansion }, 0, redisbloom.MaxExpansion},
		"cf-bucket-size":      {func(d *Defaults) *int64 { return &d.CuckooBucket }, 1, 255},
		"cf-initial-size":     {func(d *Defaults) *int64 { return &d.CuckooCapacity }, 4, redisbloom.MaxCapacity},
		"cf-max-iterations":   {func(d *Defaults) *int64 { return &d.CuckooKicks }, 1, 65535},
		"cf-expansion-factor": {func(d *Defaults) *int64 { return &d.CuckooExpansion }, 0, redisbloom.MaxExpansion},
		"cf-max-expansions":   {func(d *Defaults) *int64 { return &d.CuckooMost }, 1, 65536},
	} {
		for value, good := range map[int64]bool{p.low: true, p.high: true, p.low - 1: false, p.high + 1: false, math.MinInt64: false} {
			d := RedisBloomDefaults()
			*p.of(&d) = value
			err := d.Check()
			if (err == nil) != good || err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("%s = %d: %v", name, value, err)
			}
		}
	}
	for rate, want := range map[float64]float64{
		0: 0, 1: 0, -0.1: 0, math.Inf(1): 0, math.NaN(): 0,
		1e-300: 1e-300, 0.01: 0.01, redisbloom.MaxErrorRate: redisbloom.MaxErrorRate, 0.999: redisbloom.MaxErrorRate,
	} {
		d := RedisBloomDefaults()
		d.BloomError = rate
		if err := d.Check(); (err == nil) != (want != 0) || err == nil && d.BloomError != want {
			t.Errorf("bf-error-rate = %v becomes %v: %v", rate, d.BloomError, err)
		}
	}
}

// TestSettingsChange asks that a change is put in force as a whole, or not at all.
func TestSettingsChange(t *testing.T) {
	s := NewSettings(RedisBloomDefaults(), "secret")
	before := s.Defaults()
	s.Change(func(d *Defaults) bool { d.CuckooMost = 7; return false })
	if s.Defaults() != before || s.MaxExpansions() != 32 {
		t.Errorf("a change that is not wanted: at most %d sub-filters", s.MaxExpansions())
	}
	s.Change(func(d *Defaults) bool {
		*d = Defaults{BloomError: 0.5, BloomCapacity: 1, BloomExpansion: 3, CuckooBucket: 4, CuckooCapacity: 5, CuckooKicks: 6, CuckooExpansion: 8, CuckooMost: 7}
		return true
	})
	if before.CuckooMost != 32 {
		t.Error("a change changes what others look at")
	}
	if got := s.Bloom(); got != (redisbloom.BloomParams{ErrorRate: 0.5, Capacity: 1, Expansion: 3}) {
		t.Errorf("a Bloom filter gets %+v", got)
	}
	if got := s.Cuckoo(); got != (redisbloom.CuckooParams{Capacity: 5, BucketSize: 4, MaxIterations: 6, Expansion: 8}) || s.MaxExpansions() != 7 {
		t.Errorf("a cuckoo filter gets %+v, at most %d", got, s.MaxExpansions())
	}
	if s.Password() != "secret" {
		t.Errorf("the password is %q", s.Password())
	}
	if s.MaxClients.Load() != 10_000 || s.MaxTransaction.Load() != 250_000 || s.Timeout.Load() != 0 {
		t.Errorf("%d clients, transactions of %d, a timeout of %d", s.MaxClients.Load(), s.MaxTransaction.Load(), s.Timeout.Load())
	}
}
