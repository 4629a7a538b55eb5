// Package contents is what names stand for: filters of package codec, the filters and sketches of
// RedisBloom, and layers over other filters; their parts, each with a lock of its own; the copies
// that snapshots and other nodes take of them; and what stands in their place while they are
// loaded, rebuilt, or held by other nodes.
//
// It knows no names and no records: package store decides what is done to contents, and in which
// order. Errors begin with "store:", as clients know them.
package contents

import (
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// Contents is what a part holds: a filter of some kind. Everything that store,
// doors and commands do with every filter is here; what is particular to one kind is
// reached through a typed accessor of [Part].
//
// A filter may have several parts of one kind. Contents then are those of one
// of them, and know nothing of the others.
//
// Safe for concurrent readers; records, Freeze and the Close of what Freeze
// returned need exclusion.
type Contents interface {
	// Kind returns the kind of the filter.
	Kind() catalog.Kind
	// Stats describes the filter: items, capacity, rates.
	Stats() bloomery.Stats
	// Bytes returns the memory that the contents take.
	Bytes() uint64
	// Growth returns the most bytes that n more items can make the contents
	// grow by. It reports sure if items that are new do need as much; if not,
	// an item may fit without any growth.
	Growth(n int) (most uint64, sure bool)
	// Freeze begins a copy that later records do not disturb.
	Freeze() (Frozen, error)
	// AppendHeader appends the header of a dump.
	AppendHeader(b []byte) []byte
	// ScanDump returns the chunk at iter of a dump, and the iter of the next,
	// 0 at the end. The first iter is 1. The chunk aliases the contents.
	ScanDump(iter int64) (next int64, chunk []byte)
	// Release gives the memory back. Contents that were released are empty.
	Release()
}

// Detailed is contents with figures of their own besides those of Stats: what
// FILTER.INFO shows of a sketch.
type Detailed interface {
	// Details returns the figures in the order in which they are shown.
	Details() []Detail
}

// Detail is a figure with its name: a whole number, or one with a fraction.
type Detail struct {
	Name    string
	Whole   int64
	Decimal float64
	Is      DetailKind
}

// DetailKind says which number a Detail is.
type DetailKind uint8

// The kinds of details.
const (
	IsWhole DetailKind = iota
	IsDecimal
)

// Frozen is contents as they were when they were frozen, read in pieces while
// they change. Next and Saved need a read lock of the part, Close its lock.
type Frozen interface {
	// Size returns the length of all pieces together.
	Size() int64
	// Next puts a piece into dst, which has room for 4 KiB at least, and
	// returns it with its place. The first piece is at 0 and may be longer
	// than dst; one of no bytes means that there are no more.
	Next(dst []byte) (piece []byte, off int64)
	// Saved returns how many bytes writers had to put aside.
	Saved() int
	// Close ends the copy.
	Close() error
}

// Loader puts contents together from the pieces of a Frozen.
type Loader interface {
	// Put stores a piece that begins at off. The error wraps
	// bloomery.ErrCorrupt.
	Put(piece []byte, off int64) error
	// Done returns the contents when all pieces have come. The error wraps
	// bloomery.ErrCorrupt.
	Done() (Contents, error)
	// Release gives the memory of a load that failed back.
	Release()
}

// Is reports whether contents are of a type.
func Is[C Contents](c Contents) bool {
	_, ok := c.(C)
	return ok
}

// loader is a Loader of what RedisBloom has.
type loader[T interface{ Release() }] struct {
	*redisbloom.Loader[T]
	as func(T) (Contents, error)
}

func (l loader[T]) Done() (Contents, error) {
	v, err := l.Loader.Done()
	if err != nil {
		return nil, err
	}
	return l.as(v)
}

// kinds is the table of kinds: a new one is a file like bloom.go, a row here, and one
// in makers. load begins a Loader with the first piece of size bytes.
var kinds = map[catalog.Kind]struct {
	name string // as TYPE spells it
	word string // as FILTER.INFO spells it
	load func(first []byte, size int64, m *memory.Arena) (Loader, error)
}{
	catalog.String:   {name: "string", word: "string"},
	catalog.Bloom:    {redisbloom.BloomType, "bf", loadBloom},
	catalog.Cuckoo:   {redisbloom.CuckooType, "cf", loadCuckoo},
	catalog.CountMin: {redisbloom.CountMinType, "cms", loadCountMin},
	catalog.TopK:     {redisbloom.TopKType, "topk", loadTopK},
	catalog.TDigest:  {redisbloom.TDigestType, "tdigest", loadTDigest},
	catalog.Filter:   {name: "bloomery-", word: "filter"},
	catalog.Layers:   {"bloomlyrs", "layers", loadLayered},

	catalog.FilterPart: {},
}

// Known reports whether k is a kind of this release.
func Known(k catalog.Kind) bool {
	_, ok := kinds[k]
	return ok
}

// TypeName returns the name of a kind as TYPE spells it.
func TypeName(k catalog.Kind) string { return kinds[k].name }

// KindName returns the name of the kind of an entry as FILTER.INFO spells it, also where its
// contents are elsewhere.
func KindName(e *catalog.Entry) string {
	if p := PartOf(e); p != nil && p.Row() != nil {
		return p.Row().Name
	}
	return kinds[e.Kind].word
}

// NewLoader begins to load contents of a kind, size bytes of pieces, with the
// first of them. The error wraps bloomery.ErrCorrupt or bloomery.ErrVersion, or
// ErrMemory.
func (s *Supply) NewLoader(k catalog.Kind, first []byte, size int64) (Loader, error) {
	if k == catalog.Filter || k == catalog.FilterPart {
		return s.loadFilter(first, size)
	}
	load := kinds[k].load
	if load == nil {
		return nil, fmt.Errorf("store: load: %w: kind %d", bloomery.ErrVersion, k)
	}
	return load(first, size, s.arena)
}

func corrupt(what string) error {
	return fmt.Errorf("store: decode: %w: %s", bloomery.ErrCorrupt, what)
}

// plainBits are the kinds that are one array of bits, to which keys only add some.
var plainBits = []string{"bloom", "standard", "partitioned", "split"}

// PlainBits reports whether filters of a kind are one array of bits, to which keys only add some.
func PlainBits(kind string) bool { return slices.Contains(plainBits, kind) }

// Marker is a filter that says which bits an add has set.
type Marker interface {
	Mark(marks []uint8, hs []uint64)
	MarkedBits(dst, hs []uint64, marks []uint8) []uint64
}
