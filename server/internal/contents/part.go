package contents

// Parts: contents with a lock.

import (
	"sync/atomic"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/order"
)

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
	steps    atomic.Int32 // see Run, where 0 stands for 1; also holds pageBits
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
	p.Renewed()
	return p
}

// maxSteps is what is done under one lock at most: a step is a question to a sub-filter
// of a filter, or a move of an item, some tens of nanoseconds. maxRun is how many items
// that is with few of them.
const (
	maxSteps = 1 << 14
	maxRun   = 256
)

// scatterSteps returns the steps of an item with so many places, each of which may lie on a page of a new array that the
// system clears first. Items of usual rates are taken as before.
func scatterSteps(places int) uint64 {
	const most = 3500 // places that are written under one lock: 15 milliseconds
	return uint64(places) * maxSteps / most
}

// Run returns how many items may be looked at or written under one lock: fewer of a
// filter that takes long for each. It needs no lock.
func (p *Part) Run() int {
	steps := p.Steps()
	if steps <= maxSteps/maxRun {
		return maxRun
	}
	return max(1, maxSteps/steps)
}

// Steps returns how many steps an item takes. It needs no lock.
func (p *Part) Steps() int { return max(1, int(p.steps.Load()&^pageBits)) }

// Measure notes how many steps an item takes. The caller holds the lock of p, or is the
// only one who has it.
func (p *Part) Measure() {
	steps := uint64(0)
	switch c := p.contents.(type) {
	case bloom:
		steps = min(max(uint64(c.Layers()), scatterSteps(int(c.Layer(c.Layers()-1).Hashes))), maxSteps)
	case topK:
		const slots = 16 // are looked at in a step
		steps = min(uint64(c.K())/slots+uint64(c.Depth()), loose-1)
	case tdigest:
		if c.TDigest.Stats().Capacity > largeDigest {
			steps = maxSteps
		}
	case cuckoo:
		steps = min(uint64(c.Filters())+uint64(c.MaxIterations()), maxSteps)
	case *Filter:
		steps = min(c.steps(), maxSteps)
	}
	p.steps.Store(int32(steps) | p.steps.Load()&pageBits)
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

// Leave marks p as gone, gives its memory back unless somebody holds it, and returns how much
// that was. The filter was removed, or, if by is set, another Part is in the place of p.
func (p *Part) Leave(by bool) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.Bytes()
	if p.gone = removed; by {
		p.gone = moved
	}
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

// Header returns what makes AppendHeader of the contents as they are now, without a lock, and is called once: those of a
// digest and of a TOPK are long. The caller holds the lock of p.
func (p *Part) Header() func() []byte {
	switch c := p.contents.(type) {
	case tdigest:
		fork := c.Fork()
		return func() []byte {
			defer fork.Release()
			return tdigest{fork}.AppendHeader(nil)
		}
	case topK:
		return c.Header()
	}
	header := p.contents.AppendHeader(nil)
	return func() []byte { return header }
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

// SetVersion sets the number that Version returns. It is for recovery: nobody else
// has p.
func (p *Part) SetVersion(version uint64) { p.version = version }

// Shard returns the shard that the part lies in. It needs no lock.
func (p *Part) Shard() int { return int(p.shard) }

// SetShard sets what Shard returns. It is for recovery: nobody else has p.
func (p *Part) SetShard(shard int) { p.shard = uint16(shard) }

// Remove marks p as gone, and leaves its memory to its last holder. The caller holds its lock.
func (p *Part) Remove() { p.gone = removed }

// Raise counts a change. The caller holds the lock.
func (p *Part) Raise() { p.version++ }

// TryLock locks p for writing if nobody else has it.
func (p *Part) TryLock() bool { return p.mu.TryLock() }

// Number says which id p has in the order of locks.
func (p *Part) Number(id uint64) { order.Number(&p.mu, id) }

// Wide reports whether every node of a cluster holds p. It never changes and needs no lock.
func (p *Part) Wide() bool { return p.wide }

// Stand has p stand in the place of another part, which other nodes have held. Nobody else has p.
func (p *Part) Stand(old *Part) { p.shard, p.wide = old.shard, old.wide }
