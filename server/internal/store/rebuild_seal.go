package store

// Static kinds that are rebuilt in a cluster: seals, and what every node builds.

import "runtime"

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
	err   error
}

// builders bounds how many parts are built at a time.
var builders = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// seal seals a draft, and builds its filter outside all locks.
func (d *draft) seal(s *State, attempt uint64) {
	d.unseal()
	d.sealed = attempt
	b := &building{done: make(chan struct{})}
	d.building = b
	copied := &draft{plan: d.plan, rate: d.rate, chunks: [][]uint64{d.all()}, hashes: d.hashes}
	go func() {
		builders <- struct{}{}
		if b.built, _, b.err = s.build(copied); b.err == nil {
			b.items = b.built.Stats().Items
		}
		<-builders
		close(b.done)
	}()
}

// unseal lets go of what was built. Whoever knows that the attempt has ended may.
func (d *draft) unseal() {
	d.sealed = 0
	if b := d.building; b != nil {
		d.building = nil
		go b.release()
	}
}

// release gives back what was built and is not used.
func (b *building) release() {
	if <-b.done; b.built != nil {
		b.built.Release()
	}
}

// Built waits until what the parts of a sealed shadow become is built here, and returns how
// many items that has.
func (sh *Shadow) Built() (items uint64, err error) {
	for _, p := range Parts(sh.Entry) {
		p.RLock()
		d, ok := p.contents.(*draft)
		var b *building
		if ok {
			b = d.building
		}
		p.RUnlock()
		if b == nil {
			return 0, ErrRetry
		}
		if <-b.done; b.err != nil {
			return 0, b.err
		}
		items += b.items // not of the filter, which another attempt may release
	}
	return items, nil
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
