package store

// The arena: large arrays outside of the Go heap.

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// mapFrom is the size from which arrays are outside of the Go heap.
const mapFrom = 1 << 20

// ErrMemory means that the system has no memory for an array.
var ErrMemory = errors.New("store: the system has no memory for it")

// ErrRoom means that a record had less room than its part would have to grow by: nothing of
// the item was done, and what is left can be prepared again. Contents of every kind say so.
var ErrRoom = redisbloom.ErrBudget

// arena owns the large arrays of a state. They are mapped, on huge pages where
// the system has them, and unmapped when their last holder lets go: memory of a
// filter that was removed does not wait for the collector.
//
// Safe for concurrent use.
type arena struct {
	bytes atomic.Int64 // mapped

	// mu guards what follows.
	mu      sync.Mutex
	arrays  map[*byte][]byte
	free    [][]byte // to be unmapped
	freeing bool     // by a goroutine
}

// newArena returns an arena and the Memory by which filters use it. Every filter
// keeps its Memory; when nobody has it any more, nor the state, all is unmapped.
func newArena() (*arena, *redisbloom.Memory) {
	a := &arena{arrays: map[*byte][]byte{}}
	m := &redisbloom.Memory{Alloc: a.alloc, Free: a.release}
	runtime.AddCleanup(m, (*arena).unmapAll, a)
	return a, m
}

func (a *arena) alloc(n int) ([]byte, error) {
	if n < mapFrom {
		return make([]byte, n), nil
	}
	b, err := memory.Map(n)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	a.bytes.Add(int64(n))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrays[&b[0]] = b
	return b, nil
}

// release takes an array back. It does not unmap it: that takes milliseconds for
// a large one, and the caller holds locks.
func (a *arena) release(b []byte) {
	if len(b) < mapFrom {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	whole, ok := a.arrays[&b[0]]
	if !ok {
		return
	}
	delete(a.arrays, &b[0])
	a.free = append(a.free, whole)
	if !a.freeing {
		a.freeing = true
		go a.unmap()
	}
}

// unmap gives back what was released, until there is no more.
func (a *arena) unmap() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.free) > 0 {
		free := a.free
		a.free = nil
		a.mu.Unlock()
		for _, b := range free {
			_ = memory.Unmap(b) // it is as Map returned it
			a.bytes.Add(-int64(len(b)))
		}
		a.mu.Lock()
	}
	a.freeing = false
}

// unmapAll gives back everything: nobody has a filter any more.
func (a *arena) unmapAll() {
	a.mu.Lock()
	for _, b := range a.arrays {
		a.free = append(a.free, b)
	}
	clear(a.arrays)
	a.mu.Unlock()
	a.unmap()
}

// Mapped returns the bytes of arrays outside of the Go heap, those that are being
// given back included.
func (s *State) Mapped() int64 { return s.arena.bytes.Load() }
