package memory

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// pool owns the large arrays of an arena. They are mapped, on huge pages where
// the system has them, and unmapped when their last holder lets go: memory of a
// filter that was removed does not wait for the collector.
//
// Safe for concurrent use.
type pool struct {
	bytes atomic.Int64 // mapped

	// mu guards what follows.
	mu      sync.Mutex
	arrays  map[*byte]mapping
	made    uint64    // arrays so far
	young   []mapping // that are on small pages, the oldest first
	free    [][]byte  // to be unmapped
	freeing bool      // by a goroutine
}

// mapping is an array of a pool. Its number tells it from a later one at the same place.
type mapping struct {
	array  []byte
	number uint64
	since  time.Time // when it was put on small pages
}

// youth is how long an array by which a filter grows stays on small pages. Nobody holds a lock for so long.
const youth = time.Second

// NewArena returns an arena whose arrays of 256 KiB and more are outside of the Go heap,
// and what reports how many bytes of them there are, those that are being given back
// included. When nobody has the arena any more, all is unmapped.
func NewArena() (a *Arena, mapped func() int64) {
	p := &pool{arrays: map[*byte]mapping{}}
	a = &Arena{Alloc: p.alloc, Grow: p.grow, Free: p.release}
	a.sparse = &Arena{Alloc: p.grow, Grow: p.grow, Free: p.release, of: a}
	runtime.AddCleanup(a, (*pool).unmapAll, p)
	return a, p.bytes.Load
}

// heapUpTo is the size up to where an array may be on the heap after all.
const heapUpTo = 1 << 20

func (p *pool) alloc(n int) ([]byte, error) { return p.take(n, Map) }

// grow is alloc for an array whose bytes are written here and there by whoever holds a lock: the system clears a page
// of 4 KiB for each of them instead of one of 2 MiB. A moment later the array is moved to huge pages.
func (p *pool) grow(n int) ([]byte, error) {
	b, err := p.take(n, mapSmall)
	if err != nil || n < touchStep {
		return b, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.arrays[&b[0]]
	m.since = time.Now()
	if p.young = append(p.young, m); len(p.young) == 1 {
		time.AfterFunc(youth, p.settle)
	}
	return b, nil
}

// settle moves arrays to huge pages that were young for long enough, and comes again for the others.
func (p *pool) settle() {
	p.mu.Lock()
	n := 0
	for n < len(p.young) && time.Since(p.young[n].since) >= youth {
		n++
	}
	old := p.young[:n:n]
	if p.young = p.young[n:]; len(p.young) > 0 {
		time.AfterFunc(youth-time.Since(p.young[0].since), p.settle)
	}
	p.mu.Unlock()
	for _, m := range old {
		Gather(m.array, func() bool { return !p.has(m) })
	}
}

// has reports whether an array was not released.
func (p *pool) has(m mapping) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrays[&m.array[0]].number == m.number
}

func (p *pool) take(n int, alloc Alloc) ([]byte, error) {
	if n < MapFrom {
		return make([]byte, n), nil
	}
	b, err := alloc(n)
	if err != nil && n < heapUpTo {
		return make([]byte, n), nil // the system has a limit on how many there are
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p.bytes.Add(int64(n))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.arrays[&b[0]] = mapping{array: b, number: p.made}
	return b, nil
}

// release takes an array back. It does not unmap it: that takes milliseconds for
// a large one, and the caller holds locks.
func (p *pool) release(b []byte) {
	if len(b) < MapFrom {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.arrays[&b[0]]
	if !ok {
		return
	}
	delete(p.arrays, &b[0])
	p.free = append(p.free, m.array)
	if !p.freeing {
		p.freeing = true
		go p.unmap()
	}
}

// unmap gives back what was released, until there is no more.
func (p *pool) unmap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) > 0 {
		free := p.free
		p.free = nil
		p.mu.Unlock()
		for _, b := range free {
			_ = Unmap(b) // it is as Map returned it
			p.bytes.Add(-int64(len(b)))
		}
		p.mu.Lock()
	}
	p.freeing = false
}

// unmapAll gives back everything: nobody has a filter any more.
func (p *pool) unmapAll() {
	p.mu.Lock()
	for _, m := range p.arrays {
		p.free = append(p.free, m.array)
	}
	clear(p.arrays)
	p.mu.Unlock()
	p.unmap()
}
