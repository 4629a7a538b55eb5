// Package store holds the contents of filters and the one function that changes
// them.
//
// A [State] is a catalogue of names and, for every filter, a [contents.Part] with its
// contents. [Apply] changes a state by a [Record] and is pure: it sees no clock,
// no configuration, no memory limit and no randomness, so that one sequence of
// records gives one state, bit for bit, on every machine and at every replay.
// Whatever depends on the state it meets it decides itself; whatever does not,
// the record holds.
//
// Records of the catalogue are applied under the catalogue's lock, those of a
// part under the part's. The order of locks is catalogue, parts by id,
// shards of the catalogue.
package store

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/following"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// What Apply answers when it did not do what the record says. Errors of package
// redisbloom pass through; those of contents are in that package: ErrRetry means that the record is
// for an id that is gone, and is to be prepared again, ErrType that the name stands for something of
// another kind.
var (
	// ErrExists means that the name is taken.
	ErrExists = errors.New("store: name is taken")
	// ErrMissing means that there is no such name.
	ErrMissing = errors.New("store: no such name")
	// ErrCondition means that a condition of the record does not hold.
	ErrCondition = errors.New("store: condition does not hold")
	// ErrExpansions means that a cuckoo filter has as many sub-filters as the
	// record allows, or more.
	ErrExpansions = errors.New("store: too many sub-filters")
	// ErrNumber means that a string is no number.
	ErrNumber = errors.New("store: not a number")
	// ErrOverflow means that a number would not fit into 64 bits.
	ErrOverflow = errors.New("store: number too large")
	// ErrLength means that a string would be too long.
	ErrLength = errors.New("store: string too long")
)

// MaxString bounds a string, as Redis does.
const MaxString = 512 << 20

// entryBytes is what an entry takes besides its name and contents: the entry,
// its place by name and by id, and its Part. A test holds it to the heap.
const entryBytes = 176

// State is everything that records change. Make it with New.
//
// Safe for concurrent use under the locks that the package comment names.
type State struct {
	Names *catalog.Catalog

	contents.Supply // of all contents
	following.Rings // of those that are followed
	shadow.Table

	last    uint64 // the last id that was given
	commits uint64 // the number of the last commit of a shadow, in this run; under the catalogue's lock
	pieces  []byte // what OpPiece brought for the next record of a string
	seeded  bool   // by a record or a snapshot
	bytes   atomic.Int64

	retained atomic.Int64 // see Retain
	windows  windows

	committing sync.Map                      // ids of shadows: see Committing
	roster     atomic.Pointer[roster.Roster] // nil outside of a cluster
	node       uint32                        // this one of the cluster; under the catalogue's lock
	holdings   atomic.Pointer[roster.Holdings]
	littered   atomic.Bool // see Sweep
	emptied    atomic.Pointer[func(id uint64)]
}

// OnClear has f called when a filter was emptied, with its id and under the lock of the
// part: it must take no lock. Replays and records of other machines count.
func (s *State) OnClear(f func(id uint64)) { s.emptied.Store(&f) }

// New returns an empty state.
func New() *State {
	s := &State{Names: catalog.New()}
	s.Supply.Init()
	s.CountIn(&s.bytes)
	s.Rings.Init(&s.bytes)
	s.Unretain()
	return s
}

// Discard removes everything and gives the memory back: the state will not be
// used again. Locks of parts must be free.
func (s *State) Discard() {
	var res Result
	s.Names.Lock()
	s.flush(&res)
	s.DropStaged()
	s.Names.Unlock()
	if res.Left != nil {
		<-res.Left
	}
}

// Bytes returns the memory that names and contents take.
func (s *State) Bytes() int64 { return s.bytes.Load() }

// Text returns the string that an entry stands for.
func Text(e *catalog.Entry) string {
	s, _ := e.Value.(string)
	return s
}

// Cost returns the memory that an entry takes, its name included.
func Cost(name string, e *catalog.Entry) int64 {
	n := int64(entryBytes + len(name) + len(Text(e)))
	for _, p := range contents.Parts(e) {
		p.RLock()
		n += int64(p.Bytes())
		p.RUnlock()
	}
	return n
}

// NewCost returns the memory of a new entry whose contents take n bytes.
func NewCost(name []byte, n uint64) int64 { return int64(entryBytes+len(name)) + int64(n) }
