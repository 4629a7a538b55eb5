// Package leveldbfilter gives the tables of a goleveldb database filters of bloomery.
//
//	f, err := leveldbfilter.Config{BitsPerKey: 10}.New()
//	db, err := leveldb.OpenFile(path, &opt.Options{Filter: f})
//
// goleveldb makes a filter for every block of a table, of 20 to 50 keys each, and asks it
// before it reads the block. That is too few for the static kinds of bloomery, whose tables
// have a part that does not shrink: these filters are blocked Bloom filters in their bare
// form, one or two cache lines and a byte.
//
// Tables with other filters stay readable: name those in opt.Options.AltFilters, or such
// tables are read without their filters.
package leveldbfilter

import (
	"fmt"

	"github.com/syndtr/goleveldb/leveldb/filter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

// Config describes a Filter.
type Config struct {
	_ struct{}

	// BitsPerKey is the least size of filters, which are whole blocks of 512 bits.
	BitsPerKey float64
	// ErrorRate is the false positive rate, in place of BitsPerKey: 1e-6 to less than 1.
	ErrorRate float64
	// Hasher hashes the keys. The zero value is XXH3; with hashing.Keyed nobody without the
	// secret can choose keys that pass filters by design. It is a part of the filter's name,
	// so that no filter is asked with another hasher than it was built with: tables of
	// another hasher are read without their filters.
	Hasher hashing.Hasher
}

// Filter is a filter.Filter of goleveldb. Make one with Config.New.
//
// Safe for concurrent use.
type Filter struct {
	config Config
	name   string
}

var _ filter.Filter = (*Filter)(nil)

// New returns a Filter. The error wraps bloomery.ErrParameter.
func (c Config) New() (*Filter, error) {
	if _, err := c.filter(1); err != nil {
		return nil, fmt.Errorf("leveldbfilter: new: %w", err)
	}
	if c.Hasher.IsKeyless() {
		return nil, fmt.Errorf("leveldbfilter: new: %w: the hasher has no key and cannot hash", bloomery.ErrParameter)
	}
	f := &Filter{c, "bloomery.Bare"}
	if !c.Hasher.Equal(hashing.Hasher{}) {
		f.name += fmt.Sprintf(".%v-%016x", c.Hasher.Kind(), c.Hasher.Check())
	}
	return f, nil
}

// filter returns an empty filter for n keys.
func (c Config) filter(n int) (*bloom.Filter, error) {
	return bloom.Config{Capacity: n, BitsPerKey: c.BitsPerKey, ErrorRate: c.ErrorRate}.New()
}

// Name returns the name that tables keep, another for each hasher.
func (f *Filter) Name() string { return f.name }

// Contains reports whether a filter may hold key. Of bytes that are no filter it reports
// true: the block is read then.
func (f *Filter) Contains(data, key []byte) bool {
	b, err := bloom.OpenBare(data)
	return err != nil || b.ContainsHash(f.config.Hasher.Hash(key))
}

// NewGenerator returns what makes the filters of one table.
func (f *Filter) NewGenerator() filter.FilterGenerator {
	return &generator{config: f.config, made: map[int]*bloom.Filter{}}
}

// fewKeys is up to how many keys a generator keeps the filter that it has made, to fill it
// again: of blocks that have about as many keys each there are thousands in a table.
const fewKeys = 256

// generator makes one filter after the other.
type generator struct {
	config Config
	hashes []uint64
	made   map[int]*bloom.Filter // empty ones, by number of keys
	bare   []byte
}

// Add adds a key, which it does not keep.
func (g *generator) Add(key []byte) { g.hashes = append(g.hashes, g.config.Hasher.Hash(key)) }

// noFilter stands for a filter that could not be made: every key may be in the block.
const noFilter = 0

// Generate writes the filter of the keys so far, and begins another.
func (g *generator) Generate(b filter.Buffer) {
	g.bare = g.generate(g.bare[:0])
	g.hashes = g.hashes[:0]
	copy(b.Alloc(len(g.bare)), g.bare)
}

func (g *generator) generate(dst []byte) []byte {
	n := max(1, len(g.hashes))
	f := g.made[n]
	if f == nil {
		var err error
		if f, err = g.config.filter(n); err != nil {
			return append(dst, noFilter) // more keys than memory holds
		}
	}
	f.AddHashes(nil, g.hashes)
	bare, err := f.AppendBare(dst)
	if err != nil {
		return append(dst, noFilter)
	}
	if n <= fewKeys {
		f.Clear()
		g.made[n] = f
	}
	return bare
}
