// Package admission keeps one-hit wonders out of caches: of what is asked for, half or more is
// asked for once and never again, and a cache that stores it drops something better for it.
//
//	door, err := admission.Config{Requests: 1_000_000}.New()
//	http.Handle("/", door.Handler(origin))
//
// A Door remembers what was asked for lately, in a Bloom filter of 2.5 bytes for each
// request. Its handler stands between a shared cache and the origin. The first response for an
// address is marked as private, so that no shared cache stores it; browsers may. From the
// second request on, responses pass as they are. Requests that the cache answers itself never
// come here. For a cache that is asked by Go code and not by HTTP, there is Door.Seen.
//
// A false positive admits what was asked for once: the cache stores it, as it would have without
// a door. Nothing is wrong then, and nothing is ever kept out that was asked for twice within
// the window.
package admission

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
)

// Config describes a Door.
type Config struct {
	_ struct{}

	// Requests is the window: how many different ones are remembered, at least 1. A request
	// counts as seen if no more than so many others came in between, repeated ones included;
	// it may count longer. Take some times the number of objects that the cache holds.
	Requests int
	// ErrorRate is the share of new requests that count as seen; 0 stands for 1%.
	ErrorRate float64
	// Key appends what identifies a request to dst: what the cache stores it by. Nil stands
	// for the host and the address with its query.
	Key func(dst []byte, r *http.Request) []byte
	// Hasher hashes the keys. The zero value is XXH3; with hashing.Keyed nobody without the
	// secret can choose addresses that count as seen.
	Hasher hashing.Hasher
}

// generations is into how many parts a window is cut, of which the oldest is forgotten at once.
const generations = 2

// Door knows what was asked for before. Make one with Config.New.
//
// Safe for concurrent use.
type Door struct {
	key  func(dst []byte, r *http.Request) []byte
	hash hashing.Hasher
	each uint64 // different requests of a generation

	mu     sync.Mutex // guards window and before
	window *compose.Window
	before uint64 // what was added before the present generation began, and is still there
}

// New returns a Door. The error wraps bloomery.ErrParameter or bloomery.ErrTooLarge.
func (c Config) New() (*Door, error) {
	if c.ErrorRate == 0 {
		c.ErrorRate = 0.01
	}
	if c.Key == nil {
		c.Key = address
	}
	// Generations are closed by count, so that none takes more than its share.
	w, err := compose.WindowConfig{
		Capacity: c.Requests, ErrorRate: c.ErrorRate, Generations: generations, Burst: 1, Hasher: c.Hasher,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("admission: new: %w", err)
	}
	// One more than their share: what closes a generation is remembered for the next ones only,
	// which together must be longer than the window.
	return &Door{key: c.Key, hash: c.Hasher, each: uint64(c.Requests)/generations + 1, window: w}, nil
}

// address is the default of Config.Key.
func address(dst []byte, r *http.Request) []byte {
	return append(append(dst, r.Host...), r.URL.RequestURI()...)
}

// Seen reports whether key was asked for before, within the window, and notes that it is asked
// for now.
func (d *Door) Seen(key []byte) bool {
	h := d.hash.Hash(key)
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := !d.window.AddHash(h)
	if d.window.Added()-d.before >= d.each {
		d.window.Advance(d.window.Generation() + 1)
		d.before = d.window.Added()
	}
	return seen
}

// Handler returns a handler that answers as next does, and marks the responses that no shared
// cache is to store: those to the first GET for an address. They get "private" in place of
// "public" and "s-maxage" in Cache-Control, see RFC 9111. Of other methods nothing is noted.
func (d *Door) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || d.Seen(d.key(nil, r)) {
			next.ServeHTTP(w, r)
			return
		}
		m := &marked{ResponseWriter: w}
		next.ServeHTTP(m, r)
		m.mark() // of a handler that has written nothing
	})
}
