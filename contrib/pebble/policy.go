// Package pebblefilter gives the tables of a Pebble database filters of bloomery.
//
//	policy, err := pebblefilter.Config{Kind: pebblefilter.Ribbon, ErrorRate: 0.01}.New()
//	opts := &pebble.Options{}
//	for i := range opts.Levels {
//		opts.Levels[i].FilterPolicy = policy
//	}
//
// Pebble keeps one filter for each table and asks it before it reads a block of the table.
// Tables with filters of other policies stay readable: name those in Options.Filters, or
// Pebble reads such tables without their filters.
//
// All kinds have one name and are told apart by their last byte, so that each level can have
// its own, and a database can change from one to another.
package pebblefilter

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

// Kind is the kind of the filters that are written. All kinds are read.
type Kind uint8

const (
	// Blocked is a Bloom filter with all bits of a key in one cache line: the cheapest to
	// build and to ask. It takes 10 bits per key for 1%.
	Blocked Kind = iota
	// Fuse8 is a binary fuse filter: 0.39% in 9 to 10 bits per key.
	Fuse8
	// Ribbon takes the least space: 6.8 bits per key for 1%. It is built in five times the
	// time of Blocked.
	Ribbon
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Blocked:
		return "blocked"
	case Fuse8:
		return "fuse8"
	case Ribbon:
		return "ribbon"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Config describes a Policy.
//
// A field that the kind does not use must be zero: the error wraps bloomery.ErrParameter if
// it is set.
type Config struct {
	_ struct{}

	// Kind is what filters are written.
	Kind Kind
	// BitsPerKey is the size of filters of kind Blocked, in place of ErrorRate.
	BitsPerKey float64
	// ErrorRate is the false positive rate: of Blocked from 1e-6, of Ribbon from 2^-32 to
	// less than 1. That of Fuse8 is 1/256.
	ErrorRate float64
	// Hasher hashes the keys. The zero value is XXH3; with hashing.Keyed nobody without the
	// secret can choose keys that pass filters by design. It is a part of the policy's name,
	// so that no filter is asked with another hasher than it was built with: tables of
	// another hasher are read without their filters.
	Hasher hashing.Hasher
}

// Policy is a pebble.FilterPolicy. Make one with Config.New.
//
// Safe for concurrent use.
type Policy struct {
	config Config
	name   string
}

var _ pebble.FilterPolicy = (*Policy)(nil)

// New returns a Policy. The error wraps bloomery.ErrParameter.
func (c Config) New() (*Policy, error) {
	// The smallest filter shows whether the parameters are right.
	if _, err := c.build(nil, []uint64{0}); err != nil {
		return nil, fmt.Errorf("pebblefilter: new: %w", err)
	}
	if c.Kind == Fuse8 && c.ErrorRate != 0 || c.Kind != Blocked && c.BitsPerKey != 0 {
		return nil, fmt.Errorf("pebblefilter: new: %w: ErrorRate or BitsPerKey is set, which %v does not use", bloomery.ErrParameter, c.Kind)
	}
	if c.Hasher.IsKeyless() {
		return nil, fmt.Errorf("pebblefilter: new: %w: the hasher has no key and cannot hash", bloomery.ErrParameter)
	}
	p := &Policy{c, "bloomery.Bare"}
	if !c.Hasher.Equal(hashing.Hasher{}) {
		p.name += fmt.Sprintf(".%v-%016x", c.Hasher.Kind(), c.Hasher.Check())
	}
	return p, nil
}

// Name returns the name that tables keep. It is the same for all kinds, and another for each
// hasher.
func (p *Policy) Name() string { return p.name }

// MayContain reports whether a filter may hold key. Of bytes that are no filter it reports
// true: the table is read then.
func (p *Policy) MayContain(_ pebble.FilterType, filter, key []byte) bool {
	h := p.config.Hasher.Hash(key)
	if f, err := ribbon.OpenBare(filter); err == nil {
		return f.ContainsHash(h)
	}
	if f, err := bloom.OpenBare(filter); err == nil {
		return f.ContainsHash(h)
	}
	if f, err := fuse.OpenBare[uint8](filter); err == nil {
		return f.ContainsHash(h)
	}
	return true
}

// NewWriter returns a writer of filters. It keeps 8 bytes for each key.
func (p *Policy) NewWriter(pebble.FilterType) pebble.FilterWriter { return &writer{config: p.config} }

// writer collects the hashes of a table's keys.
type writer struct {
	config Config
	hashes []uint64
}

// AddKey adds a key. Versions of a key come one after the other and are added once.
func (w *writer) AddKey(key []byte) {
	h := w.config.Hasher.Hash(key)
	if n := len(w.hashes); n == 0 || w.hashes[n-1] != h {
		w.hashes = append(w.hashes, h)
	}
}

// noFilter stands for a filter that could not be built: every key may be in the table.
const noFilter = 0

// Finish appends the filter of the keys so far to dst, and begins another.
func (w *writer) Finish(dst []byte) []byte {
	filter, err := w.config.build(dst, w.hashes)
	w.hashes = w.hashes[:0]
	if err != nil {
		// Only keys that were made to collide, or more than memory holds, come here.
		return append(dst, noFilter)
	}
	return filter
}

// build appends the filter of some hashes, which it may reorder, to dst.
func (c Config) build(dst []byte, hashes []uint64) ([]byte, error) {
	switch c.Kind {
	case Blocked:
		f, err := bloom.Config{Capacity: max(1, len(hashes)), BitsPerKey: c.BitsPerKey, ErrorRate: c.ErrorRate}.New()
		if err != nil {
			return dst, err
		}
		f.AddHashes(nil, hashes)
		return f.AppendBare(dst)
	case Fuse8:
		// One worker: Pebble has goroutines of its own for flushes and compactions.
		f, err := fuse.Config[uint8]{Shards: 1, Workers: 1}.Build(context.Background(), hashes)
		if err != nil {
			return dst, err
		}
		return f.AppendBare(dst)
	case Ribbon:
		f, err := ribbon.Config{ErrorRate: c.ErrorRate, Shards: 1, Workers: 1}.Build(context.Background(), hashes)
		if err != nil {
			return dst, err
		}
		return f.AppendBare(dst)
	}
	return dst, fmt.Errorf("%w: %v", bloomery.ErrParameter, c.Kind)
}
