package contents

// Filters that are built of the hashes of a draft, and what seals it meanwhile.

import (
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// building is a filter that is being built of the hashes of a draft.
type building struct {
	done   chan struct{}
	built  *Filter
	items  uint64
	err    error  // wraps ErrNoRoom if there is no memory below the bound of the node
	aside  uint64 // bytes that are set aside for what is built
	supply *Supply
}

// buildBytes is what building a static filter takes for each hash: a copy of it, and
// the work of package fuse, which takes most.
const buildBytes = 8 + 31 + 8

// BuildBytes returns what building a filter of so many hashes takes beside them.
func BuildBytes(hashes uint64) uint64 { return hashes * buildBytes }

// builders bounds how many parts are built at a time: one processor is left for clients.
var builders = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// Seal keeps records out of a draft of a static kind, and begins to build it. Those that come through
// are of nodes which know that the attempt has ended.
func (d *Draft) Seal(s *Supply, attempt uint64) {
	if d.inner == nil && attempt > d.sealed {
		d.seal(s, attempt)
	}
}

// seal seals a draft, and builds its filter outside all locks.
func (d *Draft) seal(s *Supply, attempt uint64) {
	d.unseal()
	d.sealed = attempt
	b := &building{done: make(chan struct{}), supply: s}
	d.building = b
	// Hashes are only appended, and what was appended later is not in these.
	frozen := &Draft{plan: d.plan, rate: d.rate, chunks: slices.Clone(d.chunks), hashes: d.hashes}
	go func() {
		defer close(b.done)
		builders <- struct{}{}
		defer func() { <-builders }()
		b.build(frozen)
	}()
}

// build builds the filter of a draft, if there is memory for that, and keeps aside what it takes
// until it is used.
func (b *building) build(d *Draft) {
	s := b.supply
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

// finished returns the filter of a draft that is swapped in. A static one is built, or is built
// now: this node was down, or had no memory when the others had. No node can refuse what is in the
// catalogue, so the memory counts whether there is any or not: meanwhile this node, and by its beats
// the others, take nothing that grows. Parts are built one after the other.
func (s *Supply) finished(d *Draft) (*Filter, error) {
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

// unseal lets go of what was built. A caller that knows that the attempt has ended may call it.
func (d *Draft) unseal() {
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
		b.supply.giveBack(b.aside)
	}
}

// AwaitBuilt waits until a part of a shadow that an attempt has sealed is built, and returns its items.
// It reports done as false if the time is over before. ErrRetry means that the attempt has ended.
func (s *Supply) AwaitBuilt(p *Part, attempt uint64, over <-chan struct{}) (items uint64, done bool, err error) {
	p.Lock()
	b := s.buildingOf(p, attempt)
	p.Unlock()
	if b == nil {
		return 0, true, ErrRetry
	}
	select {
	case <-b.done:
		return b.items, true, b.err // not of the filter, which another attempt may release
	case <-over:
		return 0, false, nil
	}
}

// AwaitSealed waits until a part is built that is sealed, as another node has lent it; it does nothing for others, and if it cannot
// be built now, the swap builds it. It reports false if over is closed before: that may take long. The caller holds no lock of
// the part.
func (s *Supply) AwaitSealed(p *Part, over <-chan struct{}) bool {
	p.Lock()
	var b *building
	if d, ok := p.contents.(*Draft); ok && d.sealed != 0 {
		b = s.buildingOf(p, d.sealed)
	}
	p.Unlock()
	if b == nil {
		return true
	}
	select {
	case <-b.done:
		return true
	case <-over:
		return false
	}
}

// buildingOf returns what a part becomes that an attempt has sealed, nil if that has ended. What a snapshot
// had, or another node has lent, is not being built yet. The caller holds the lock of the part.
func (s *Supply) buildingOf(p *Part, attempt uint64) *building {
	d, ok := p.contents.(*Draft)
	if !ok || p.Gone() || d.inner != nil || d.sealed != attempt {
		return nil
	}
	if d.building == nil {
		d.seal(s, attempt)
	}
	return d.building
}

// Sealed reports whether a record of a shadow that knew of so many ended attempts comes
// too late for what it finds.
func (p *Part) Sealed(ended uint64) bool {
	switch c := p.contents.(type) {
	case *Draft:
		if c.sealed > ended {
			return true
		}
		if c.sealed != 0 {
			c.unseal()
		}
	case *Filter:
		return c.plan.Load().Kind.Features.Static
	}
	return false
}

// Settle makes a part of a shadow the filter that it is, and returns by how many bytes that has
// grown. The caller holds the lock of the part, or has it alone.
func (s *Supply) Settle(p *Part) (grown int64, err error) {
	d, ok := p.contents.(*Draft)
	if !ok || p.Gone() {
		return 0, nil
	}
	c, err := s.finished(d)
	if err != nil {
		return 0, errors.Join(ErrMemory, err)
	}
	return p.becomes(d, c), nil
}

// becomes puts a filter in the place of a draft, and returns by how many bytes that has grown.
func (p *Part) becomes(d *Draft, c *Filter) (grown int64) {
	grown = int64(c.Bytes()) - int64(d.Bytes())
	p.contents = c
	p.Measure()
	return grown
}

// Finish turns the drafts of an entry into filters, and returns by how many bytes they have grown.
// Those of a static kind are in b, or are built now and have these checksums.
func (s *Supply) Finish(e *catalog.Entry, b *Built, sums []uint64) (grown int64, err error) {
	for i, p := range Parts(e) {
		p.Lock()
		if d, ok := p.contents.(*Draft); ok { // if not, a snapshot has it
			var c *Filter
			if c, err = s.finish(d, b, i, sums); err == nil {
				grown += p.becomes(d, c)
				p.version++
			}
		}
		p.Unlock()
		if err != nil {
			break
		}
	}
	return grown, err
}

// finish returns the filter of the draft of a part.
func (s *Supply) finish(d *Draft, b *Built, part int, sums []uint64) (*Filter, error) {
	switch {
	case d.inner != nil:
		return d.inner, nil
	case b != nil:
		return b.parts[part], nil
	}
	c, sum, err := s.build(d)
	if err == nil && part < len(sums) && uint64(sum) != sums[part] {
		err = fmt.Errorf("store: build: %w: part %d has checksum %08x, want %08x", bloomery.ErrCorrupt, part, sum, sums[part])
	}
	return c, err
}

// Built is the parts of a static filter that were built from the items of a shadow.
type Built struct {
	commit uint64 // that has sealed the shadow
	parts  []*Filter
	sums   []uint64
	Items  uint64
}

// Commit returns the number of the commit that it was built for.
func (b *Built) Commit() uint64 { return b.commit }

// Sums returns the checksums of the parts.
func (b *Built) Sums() []uint64 { return b.sums }

// Release gives the memory back of what was not used.
func (b *Built) Release() {
	for _, c := range b.parts {
		c.Release()
	}
}

// Build builds the filters of the entry of a shadow of a static kind that a commit has sealed:
// nobody changes it. It takes long and needs no lock.
func (s *Supply) Build(e *catalog.Entry, commit uint64, stopped func() bool) (*Built, error) {
	b := &Built{commit: commit}
	for _, p := range Parts(e) {
		c, sum, err := s.buildPart(p, stopped)
		if err != nil {
			b.Release()
			return nil, err
		}
		b.parts, b.sums = append(b.parts, c), append(b.sums, uint64(sum))
		b.Items += c.Stats().Items
	}
	return b, nil
}

// buildPart builds the filter of a part, which it holds meanwhile: ABORT would release
// the hashes that it reads.
func (s *Supply) buildPart(p *Part, stopped func() bool) (*Filter, uint32, error) {
	if stopped() {
		return nil, 0, ErrStopped
	}
	p.RLock()
	d, ok := p.contents.(*Draft)
	if !ok || p.Gone() {
		p.RUnlock()
		return nil, 0, ErrRetry
	}
	p.Hold()
	p.RUnlock()
	defer p.Unhold()
	return s.build(d)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// build builds a filter of the keys of a draft.
func (s *Supply) build(d *Draft) (*Filter, uint32, error) {
	f, err := d.plan.Kind.Build(d.all(), d.rate, d.plan.Hasher)
	if err != nil {
		return nil, 0, err
	}
	data, err := encoded(f)
	if err != nil {
		return nil, 0, err
	}
	c, err := s.openContents(d.plan.Plan, data)
	return c, crc32.Checksum(data, castagnoli), err
}
