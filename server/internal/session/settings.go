package session

// Settings that commands read and change.

import (
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// Defaults are RedisBloom's parameters: what a filter gets that is made without
// saying.
type Defaults struct {
	BloomError      float64
	BloomCapacity   int64
	BloomExpansion  int64
	CuckooBucket    int64
	CuckooCapacity  int64
	CuckooKicks     int64
	CuckooExpansion int64
	CuckooMost      int64 // sub-filters from which on a filter takes no more
}

// RedisBloomDefaults returns the parameters of RedisBloom as it comes.
func RedisBloomDefaults() Defaults {
	return Defaults{
		BloomError: 0.01, BloomCapacity: 100, BloomExpansion: 2,
		CuckooBucket: 2, CuckooCapacity: 1024, CuckooKicks: 20, CuckooExpansion: 1, CuckooMost: 32,
	}
}

// Check returns an error that names the first parameter out of its range. A
// larger error rate than RedisBloom takes is lowered, as CONFIG SET does.
func (d *Defaults) Check() error {
	for _, p := range []struct {
		name      string
		value     int64
		low, high int64
	}{
		{"bf-initial-size", d.BloomCapacity, 1, redisbloom.MaxCapacity},
		{"bf-expansion-factor", d.BloomExpansion, 0, redisbloom.MaxExpansion},
		{"cf-bucket-size", d.CuckooBucket, 1, 255},
		{"cf-initial-size", d.CuckooCapacity, 2 * d.CuckooBucket, redisbloom.MaxCapacity},
		{"cf-max-iterations", d.CuckooKicks, 1, 65535},
		{"cf-expansion-factor", d.CuckooExpansion, 0, redisbloom.MaxExpansion},
		{"cf-max-expansions", d.CuckooMost, 1, 65536},
	} {
		if p.value < p.low || p.value > p.high {
			return fmt.Errorf("%s: %d is not in the range [%d, %d]", p.name, p.value, p.low, p.high)
		}
	}
	if !(d.BloomError > 0 && d.BloomError < 1) {
		return fmt.Errorf("bf-error-rate: %v is not in the range (0, 1)", d.BloomError)
	}
	d.BloomError = min(d.BloomError, redisbloom.MaxErrorRate)
	return nil
}

// Digest returns a number by which servers of a cluster see whether they have the same
// parameters.
func (d *Defaults) Digest() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, d.BloomError, d.BloomCapacity, d.BloomExpansion,
		d.CuckooBucket, d.CuckooCapacity, d.CuckooKicks, d.CuckooExpansion, d.CuckooMost)
	return h.Sum64()
}

// Settings is what CONFIG SET can change. Make it with NewSettings.
//
// Safe for concurrent use.
type Settings struct {
	defaults atomic.Pointer[Defaults]
	password atomic.Pointer[string]
	change   sync.Mutex // makes CONFIG SET atomic

	// Server is what the server was started with and CONFIG GET shows, by
	// name. It is not written to after NewSettings.
	Server map[string]string

	// Timeout is after how many seconds an idle client is sent away, 0 for
	// never; MaxClients how many there may be.
	Timeout    atomic.Int64
	MaxClients atomic.Int64
	// MaxTransaction bounds what one transaction does: see words.
	MaxTransaction atomic.Int64
}

// DefaultMaxTransaction is MaxTransaction where nothing is said.
const DefaultMaxTransaction = 250_000

// NewSettings returns settings with these defaults and password.
func NewSettings(d Defaults, password string) *Settings {
	s := &Settings{Server: map[string]string{}}
	s.defaults.Store(&d)
	s.password.Store(&password)
	s.MaxClients.Store(10000)
	s.MaxTransaction.Store(DefaultMaxTransaction)
	return s
}

// Password returns the password that the user default was given by the settings, ""
// for none. ACL SETUSER does not change it.
func (s *Settings) Password() string { return *s.password.Load() }

// Defaults returns the parameters of filters made without saying. They must not
// be changed; see Change.
func (s *Settings) Defaults() *Defaults { return s.defaults.Load() }

// Change changes settings, one caller at a time: change gets a copy of the
// defaults to work on, and reports whether that is to be put in force.
func (s *Settings) Change(change func(next *Defaults) bool) {
	s.change.Lock()
	defer s.change.Unlock()
	next := *s.defaults.Load()
	if change(&next) {
		s.defaults.Store(&next)
	}
}

// MaxExpansions returns the number of sub-filters from which on a cuckoo filter
// takes no more items.
func (s *Settings) MaxExpansions() uint64 { return uint64(s.defaults.Load().CuckooMost) }

// Bloom returns the parameters of a Bloom filter made without saying.
func (s *Settings) Bloom() redisbloom.BloomParams {
	d := s.defaults.Load()
	return redisbloom.BloomParams{
		ErrorRate: d.BloomError, Capacity: uint64(d.BloomCapacity), Expansion: uint32(d.BloomExpansion),
	}
}

// Cuckoo returns the parameters of a cuckoo filter made without saying.
func (s *Settings) Cuckoo() redisbloom.CuckooParams {
	d := s.defaults.Load()
	return redisbloom.CuckooParams{
		Capacity: uint64(d.CuckooCapacity), BucketSize: uint16(d.CuckooBucket),
		MaxIterations: uint16(d.CuckooKicks), Expansion: uint16(d.CuckooExpansion),
	}
}
