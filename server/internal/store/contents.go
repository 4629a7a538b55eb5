package store

// Contents: what a part holds.

import (
	"fmt"

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

// kind is a row of the table of kinds.
type kind struct {
	name string // as TYPE spells it
	// load begins a Loader with the first piece of size bytes.
	load func(first []byte, size int64, m *memory.Arena) (Loader, error)
	// dump is the operation that makes contents from the header of a dump, and piece
	// the body of a piece of the dump, which ends at a position.
	dump  Op
	piece func(position int64, data []byte) Body
	grows bool // a piece may make them grow, by its length at most
}

// kinds is the table of kinds: a new one is a file like bloom.go, a row here, and one
// in sources.
var kinds = map[catalog.Kind]kind{
	catalog.String: {name: "string"},
	catalog.Bloom:  {name: redisbloom.BloomType, load: loadBloom, dump: OpBloomDump, piece: func(position int64, data []byte) Body { return &BloomChunk{Position: position, Data: data} }},
	catalog.Cuckoo: {name: redisbloom.CuckooType, load: loadCuckoo, dump: OpCuckooDump, piece: func(position int64, data []byte) Body { return &CuckooChunk{Position: position, Data: data} }},

	catalog.CountMin: {name: redisbloom.CountMinType, load: loadCountMin, dump: OpCountMin, piece: func(position int64, data []byte) Body { return &CountMinChunk{Position: position, Cells: data} }},
	catalog.TopK:     {name: redisbloom.TopKType, load: loadTopK, dump: OpTopK, piece: func(position int64, data []byte) Body { return &TopKChunk{Position: position, Data: data} }, grows: true},
	catalog.TDigest:  {name: redisbloom.TDigestType, load: loadTDigest, dump: OpTDigest, piece: func(_ int64, data []byte) Body { return &TDigestChunk{Nodes: data} }},

	catalog.Filter: {name: "bloomery-", dump: OpFilterLoad},
	catalog.Layers: {name: "bloomlyrs", load: loadLayered, dump: OpLayers},

	catalog.FilterPart: {},
}

// Known reports whether k is a kind of this release.
func Known(k catalog.Kind) bool {
	_, ok := kinds[k]
	return ok
}

// TypeName returns the name of a kind as TYPE spells it.
func TypeName(k catalog.Kind) string { return kinds[k].name }

// NewLoader begins to load contents of a kind, size bytes of pieces, with the
// first of them. The error wraps bloomery.ErrCorrupt or bloomery.ErrVersion, or
// ErrMemory.
func (s *State) NewLoader(k catalog.Kind, first []byte, size int64) (Loader, error) {
	if k == catalog.Filter || k == catalog.FilterPart {
		return s.loadFilter(first, size)
	}
	load := kinds[k].load
	if load == nil {
		return nil, fmt.Errorf("store: load: %w: kind %d", bloomery.ErrVersion, k)
	}
	return load(first, size, s.memory)
}

// DumpPiece returns the body that stores a piece of a dump, which ends at a position, in
// contents of a kind, and by how many bytes that may make them grow.
func DumpPiece(k catalog.Kind, position int64, data []byte) (b Body, growth uint64) {
	if kinds[k].grows {
		growth = uint64(len(data))
	}
	return kinds[k].piece(position, data), growth
}
