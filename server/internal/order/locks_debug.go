//go:build bloomerydebug

package order

// Locks that record their order, in debug builds.

import (
	"sync"
	"time"
)

// Catalogue is the lock of the one writer of the catalogue.
type Catalogue struct {
	mu   sync.Mutex    // the lock; take and drop record who holds it
	from time.Duration // processor time of the thread when it was taken, while that is measured; under mu
}

// Lock locks c.
func (c *Catalogue) Lock() {
	take(held{level: catalogue})
	c.mu.Lock()
	c.from = begin()
}

// Unlock undoes Lock.
func (c *Catalogue) Unlock() {
	end(c.from)
	c.mu.Unlock()
	drop(held{level: catalogue})
}

// Shard is the lock of a shard of the catalogue.
type Shard struct {
	mu sync.RWMutex // the lock; take and drop record who holds it
}

// Lock locks s for writing.
func (s *Shard) Lock() {
	take(held{level: shard})
	s.mu.Lock()
}

// Unlock undoes Lock.
func (s *Shard) Unlock() {
	s.mu.Unlock()
	drop(held{level: shard})
}

// RLock locks s for reading.
func (s *Shard) RLock() {
	take(held{level: shard})
	s.mu.RLock()
}

// RUnlock undoes RLock.
func (s *Shard) RUnlock() {
	s.mu.RUnlock()
	drop(held{level: shard})
}

// Part is the lock of a part.
type Part struct {
	// mu is the lock; take and drop record who holds it.
	mu sync.RWMutex
	id uint64
}

// Number gives a part the id by which its lock stands in order.
func Number(p *Part, id uint64) { p.id = id }

// TryLock locks p if that does not wait. It is not recorded: who does not wait is
// in no deadlock.
func (p *Part) TryLock() bool { return p.mu.TryLock() }

// TryRLock locks p for reading if that does not wait. It is not recorded, as
// TryLock is not.
func (p *Part) TryRLock() bool { return p.mu.TryRLock() }

// Lock locks p for writing.
func (p *Part) Lock() {
	take(held{part, p.id})
	p.mu.Lock()
	took()
}

// Unlock undoes Lock.
func (p *Part) Unlock() {
	letGo(held{part, p.id})
	p.mu.Unlock()
	drop(held{part, p.id})
}

// RLock locks p for reading.
func (p *Part) RLock() {
	take(held{part, p.id})
	p.mu.RLock()
	took()
}

// RUnlock undoes RLock.
func (p *Part) RUnlock() {
	letGo(held{part, p.id})
	p.mu.RUnlock()
	drop(held{part, p.id})
}
