// Package store holds the contents of filters and the one function that changes
// them.
//
// A [State] is a catalogue of names and, for every filter, a [Part] with its
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
	"math"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/keyring"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// What Apply answers when it did not do what the record says. Errors of package
// redisbloom pass through.
var (
	// ErrRetry means that the record is for an id that is gone: prepare it
	// again.
	ErrRetry = errors.New("store: id is gone")
	// ErrExists means that the name is taken.
	ErrExists = errors.New("store: name is taken")
	// ErrMissing means that there is no such name.
	ErrMissing = errors.New("store: no such name")
	// ErrType means that the name stands for something of another kind.
	ErrType = errors.New("store: wrong kind")
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

	last    uint64        // the last id that was given
	commits uint64        // the number of the last commit of a shadow, in this run; under the catalogue's lock
	pieces  []byte        // what OpPiece brought for the next record of a string
	seeded  bool          // by a record or a snapshot
	memory  *memory.Arena // of all filters
	mapped  func() int64  // how much of it is outside of the Go heap
	bytes   atomic.Int64
	bound   Memory // see SetMemory

	retained atomic.Int64 // see Retain
	keys     atomic.Pointer[keyring.Ring]
	plan     atomic.Pointer[shared] // of the last filter that was made: most are alike
	windows  windows
	shadows  atomic.Pointer[shadows] // nil if there are none

	committing sync.Map                      // ids of shadows: see Committing
	roster     atomic.Pointer[roster.Roster] // nil outside of a cluster
	node       uint32                        // this one of the cluster; under the catalogue's lock
	holdings   atomic.Pointer[roster.Holdings]
	littered   atomic.Bool // see Sweep
	emptied    atomic.Pointer[func(id uint64)]
	followed   followed
	onNews     atomic.Pointer[func(*News)]
}

// OnClear has f called when a filter was emptied, with its id and under the lock of the
// part: it must take no lock. Replays and records of other machines count.
func (s *State) OnClear(f func(id uint64)) { s.emptied.Store(&f) }

// New returns an empty state.
func New() *State {
	s := &State{Names: catalog.New()}
	s.memory, s.mapped = memory.NewArena()
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

// Part is the contents of a filter, or one of several parts of them: the unit of
// locking. Make it with NewPart; the zero value is void.
//
// Safe for concurrent use under its lock.
type Part struct {
	// mu guards version, contents and gone.
	mu       order.Part
	version  uint64       // counts changes
	contents Contents     // replaced only when a load is complete; what is in them belongs to the lock
	holders  atomic.Int32 // who keep the contents of a filter that may be gone
	made     uint32       // seconds since 1970; 0 if that is not known
	steps    atomic.Int32 // see Run; 0 stands for 1
	gone     absence      // why nobody uses it any more
	wide     bool         // see Everywhere; it never changes
	shard    uint16       // of the contents of a cluster; it never changes
}

// absence is why a part is not used any more: 0 while it is.
type absence uint8

const (
	removed absence = iota + 1 // the filter was removed
	moved                      // another Part is in its place: other nodes hold the contents, or this one does now
)

// NewPart returns a part that holds c.
func NewPart(c Contents) *Part {
	p := &Part{contents: c, wide: everywhere(c)}
	p.measure()
	return p
}

// maxSteps is what is done under one lock at most: a step is a question to a sub-filter
// of a filter, or a move of an item, some tens of nanoseconds. maxRun is how many items
// that is with few of them.
const (
	maxSteps = 1 << 14
	maxRun   = 256
)

// Run returns how many items may be looked at or written under one lock: fewer of a
// filter that takes long for each. It needs no lock.
func (p *Part) Run() int {
	steps := int(p.steps.Load())
	if steps <= maxSteps/maxRun {
		return maxRun
	}
	return max(1, maxSteps/steps)
}

// Steps returns how many steps an item takes. It needs no lock.
func (p *Part) Steps() int { return max(1, int(p.steps.Load())) }

// measure notes how many steps an item takes. The caller holds the lock of p, or is the
// only one who has it.
func (p *Part) measure() {
	switch c := p.contents.(type) {
	case bloom:
		p.steps.Store(int32(min(c.Layers(), maxSteps)))
	case topK:
		const slots = 16 // are looked at in a step
		p.steps.Store(int32(min(uint64(c.K())/slots+uint64(c.Depth()), math.MaxInt32)))
	case tdigest:
		p.steps.Store(0)
		if c.TDigest.Stats().Capacity > largeDigest {
			p.steps.Store(maxSteps)
		}
	case cuckoo:
		p.steps.Store(int32(min(c.Filters()+int(c.MaxIterations()), maxSteps)))
	case *filter:
		p.steps.Store(int32(min(c.steps(), maxSteps)))
	}
}

// Contents returns what the part holds, nil if it is void. They belong to the
// lock of p.
func (p *Part) Contents() Contents { return p.contents }

// Lock locks p for writing.
func (p *Part) Lock() { p.mu.Lock() }

// Unlock undoes Lock.
func (p *Part) Unlock() { p.mu.Unlock() }

// RLock locks p for reading.
func (p *Part) RLock() { p.mu.RLock() }

// RUnlock undoes RLock.
func (p *Part) RUnlock() { p.mu.RUnlock() }

// Hold keeps the contents until Unhold, also if the filter is removed meanwhile:
// they can be read under a lock of p, as they were when the filter went. The
// caller holds a lock and has asked Gone.
func (p *Part) Hold() { p.holders.Add(1) }

// Unhold undoes Hold. The last holder of a filter that is gone gives its memory
// back. The caller holds no lock of p.
func (p *Part) Unhold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders.Add(-1) == 0 && p.gone != 0 {
		p.contents.Release()
	}
}

// leave marks p as gone, gives its memory back unless somebody holds it, and
// returns how much that was.
func (p *Part) leave(why absence) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.Bytes()
	p.gone = why
	if p.contents != nil && p.holders.Load() == 0 {
		p.contents.Release()
	}
	return n
}

// Discard gives back the memory of a part that nobody uses, because it is part of
// no state.
func (p *Part) Discard() {
	if p.contents != nil {
		p.contents.Release()
	}
}

// Gone reports whether the filter was removed, or another Part is in the place of p: it has
// to be looked up again. The caller holds a lock.
func (p *Part) Gone() bool { return p.gone != 0 }

// Moved reports whether p is gone because another Part is in its place. The caller holds a
// lock.
func (p *Part) Moved() bool { return p.gone == moved }

// Version returns a number that every change of the contents raises.
func (p *Part) Version() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.version
}

// Changes is Version for a caller that holds a lock.
func (p *Part) Changes() uint64 { return p.version }

// Bytes returns the memory of the contents. The caller holds a lock.
func (p *Part) Bytes() uint64 {
	if p.contents == nil {
		return 0
	}
	return p.contents.Bytes()
}

// Void reports whether the part has no contents, because a record further on in
// the log removes it. There is such a part during recovery only.
func (p *Part) Void() bool { return p.contents == nil }

// PartOf returns the part of a filter's entry, the first if it has several, nil for
// a string.
func PartOf(e *catalog.Entry) *Part {
	switch v := e.Value.(type) {
	case *Part:
		return v
	case *several:
		return v.parts[0]
	}
	return nil
}

// Text returns the string that an entry stands for.
func Text(e *catalog.Entry) string {
	s, _ := e.Value.(string)
	return s
}

// Cost returns the memory that an entry takes, its name included.
func Cost(name string, e *catalog.Entry) int64 {
	n := int64(entryBytes + len(name) + len(Text(e)))
	for _, p := range Parts(e) {
		p.RLock()
		n += int64(p.Bytes())
		p.RUnlock()
	}
	return n
}

// NewCost returns the memory of a new entry whose contents take n bytes.
func NewCost(name []byte, n uint64) int64 { return int64(entryBytes+len(name)) + int64(n) }
