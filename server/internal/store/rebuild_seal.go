package store

// Static kinds that are rebuilt in a cluster: seals, and what every node builds.

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// RebuildSeal keeps records out of a part of a shadow of a static kind, and begins to build
// it. The records that come through are of nodes which know that the attempt has ended.
type RebuildSeal struct{ Attempt uint64 }

func (*RebuildSeal) op() Op                            { return OpRebuildSeal }
func (o *RebuildSeal) fields(c coder, r *Record) coder { return c.target(r).uvarint(&o.Attempt) }

// effect is that a start gives up every commit.
func (*RebuildSeal) effect(*Effect, *Record, *Result) {}

func (o *RebuildSeal) change(s *State, p *Part, _ *Record, res *Result) int64 {
	d, ok := p.contents.(*draft)
	if ok && d.inner == nil && o.Attempt > d.sealed {
		d.seal(s, o.Attempt)
	}
	res.Changed = true // also behind the swap, which is another place of the lane at every node
	return 0
}

// building is a filter that is being built of the hashes of a draft.
type building struct {
	done  chan struct{}
	built *filter
	items uint64
	err   error  // wraps ErrNoRoom if there is no memory below the bound of the node
	aside uint64 // bytes that are set aside for what is built
	state *State
}

// buildBytes is what building a static filter takes for each hash: a copy of it, and
// the work of package fuse, which takes most.
const buildBytes = 8 + 31 + 8

// BuildBytes returns what building a filter of so many hashes takes beside them.
func BuildBytes(hashes uint64) uint64 { return hashes * buildBytes }

// ErrNoRoom means that there is no memory below the bound of the node to build a filter.
var ErrNoRoom = errors.New("too little is left below max-memory")

// Memory sets memory of the node aside, and gives it back. Reserve reports false if there is too
// little; Claim takes it all the same.
type Memory interface {
	Reserve(n uint64) bool
	Claim(n uint64)
	Release(n uint64)
}

// SetMemory says what bounds the memory of the node. It is called before the state is used; without it
// there is no bound.
func (s *State) SetMemory(m Memory) { s.bound = m }

// builders bounds how many parts are built at a time: one processor is left for clients.
var builders = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// seal seals a draft, and builds its filter outside all locks.
func (d *draft) seal(s *State, attempt uint64) {
	d.unseal()
	d.sealed = attempt
	b := &building{done: make(chan struct{}), state: s}
	d.building = b
	// Hashes are only appended, and what was appended later is not in these.
	frozen := &draft{plan: d.plan, rate: d.rate, chunks: slices.Clone(d.chunks), hashes: d.hashes}
	go func() {
		defer close(b.done)
		builders <- struct{}{}
		defer func() { <-builders }()
		b.build(frozen)
	}()
}

// build builds the filter of a draft, if there is memory for that, and keeps aside what it takes
// until it is used.
func (b *building) build(d *draft) {
	s := b.state
	work := BuildBytes(d.hashes)
	if !s.setAside(work) {
		b.err = fmt.Errorf("%w: building a part takes %d bytes", ErrNoRoom, work)
		return
	}
	defer s.giveBack(work)
	if b.built, _, b.err = s.build(d); b.err != nil {
		return
	}
	b.items = b.built.Stats().Items
	if n := b.built.Bytes(); s.setAside(n) {
		b.aside = n
		return
	}
	b.err = fmt.Errorf("%w: a part has %d bytes", ErrNoRoom, b.built.Bytes())
	b.built.Release()
	b.built = nil
}

func (s *State) setAside(n uint64) bool { return s.bound == nil || s.bound.Reserve(n) }

func (s *State) giveBack(n uint64) {
	if s.bound != nil {
		s.bound.Release(n)
	}
}

// finished returns the filter of a draft that is swapped in. A static one is built, or is built
// now: this node was down, or had no memory when the others had. No node can refuse what is in the
// catalogue, so the memory counts whether there is any or not: meanwhile this node, and by its beats
// the others, take nothing that grows. Parts are built one after the other.
func (s *State) finished(d *draft) (*filter, error) {
	if d.inner != nil {
		return d.inner, nil
	}
	if b := d.building; b != nil {
		d.building = nil
		if <-b.done; b.err == nil {
			s.giveBack(b.aside) // the state counts it
			return b.built, nil
		}
	}
	if work := BuildBytes(d.hashes); s.bound != nil {
		s.bound.Claim(work)
		defer s.bound.Release(work)
	}
	c, _, err := s.build(d)
	return c, err
}

// unseal lets go of what was built. Whoever knows that the attempt has ended may.
func (d *draft) unseal() {
	d.sealed = 0
	if b := d.building; b != nil {
		d.building = nil
		go b.discard()
	}
}

// discard gives back what was built and is not used.
func (b *building) discard() {
	if <-b.done; b.built != nil {
		b.built.Release()
		b.state.giveBack(b.aside)
	}
}

// BuiltPart is a part of a shadow that is built at this node.
type BuiltPart struct {
	Index uint32
	Items uint64
}

// BuiltParts waits until the parts of a shadow that an attempt has sealed are built here, those that this node
// answers for, until the time is over: then it reports false.
func (s *State) BuiltParts(id, attempt uint64, over <-chan time.Time) (list []BuiltPart, done bool, err error) {
	e := s.Names.ByID(id)
	if e == nil {
		return nil, true, ErrRetry
	}
	for i, p := range Parts(e) {
		if !s.Answers(p) {
			continue
		}
		p.Lock()
		b := s.buildingOf(p, attempt)
		p.Unlock()
		if b == nil {
			return nil, true, ErrRetry
		}
		select {
		case <-b.done:
		case <-over:
			return nil, false, nil
		}
		if b.err != nil {
			return nil, true, b.err
		}
		list = append(list, BuiltPart{uint32(i), b.items}) // not of the filter, which another attempt may release
	}
	return list, true, nil
}

// buildingOf returns what a part becomes that an attempt has sealed, nil if that has ended. What a snapshot
// had, or another node has lent, is not being built yet. The caller holds the lock of the part.
func (s *State) buildingOf(p *Part, attempt uint64) *building {
	d, ok := p.contents.(*draft)
	if !ok || p.Gone() || d.inner != nil || d.sealed != attempt {
		return nil
	}
	if d.building == nil {
		d.seal(s, attempt)
	}
	return d.building
}

// sealedFor reports whether a record of a shadow that knew of so many ended attempts comes
// too late for what it finds.
func sealedFor(p *Part, ended uint64) bool {
	switch c := p.contents.(type) {
	case *draft:
		if c.sealed > ended {
			return true
		}
		if c.sealed != 0 {
			c.unseal()
		}
	case *filter:
		return c.plan.Load().kind.Features.Static
	}
	return false
}
