package store

// Shadow: a filter that takes the place of another.

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// A shadow is a filter that will take the place of another: FILTER.REBUILD. It is an
// entry without a name whose parts are drafts. While it is open
//
//	add ── lock part i of the filter ── add ── lock parts of the shadow ── add ── one append to the log
//
// so a crash finds both or none, and whoever has read an item from the filter finds
// it in the shadow. The swap gives the shadow the name.
//
// What a shadow gets is logged as records of its own parts. A record of the filter
// that was prepared before the shadow was opened lacks the hashes for it: the door
// answers ErrRetry, see Meets.

var (
	// ErrRebuilding means that a filter has a shadow, which the record would leave
	// behind.
	ErrRebuilding = errors.New("store: the filter is being rebuilt")
	// ErrBroken means that a shadow lacks items.
	ErrBroken = errors.New("store: the shadow is broken")
	// ErrSealed means that a shadow takes no more items.
	ErrSealed = errors.New("store: the shadow takes no more items")
)

// Forgets returns the kind of a filter, or of the one that will take its place, if that
// forgets items, "" if not.
func (s *State) Forgets(e *catalog.Entry) string {
	if sh := s.ShadowOf(e.ID); sh != nil && sh.Row().Features.Forget {
		return sh.Row().Name
	}
	if p := contents.PartOf(e); p != nil && p.Row() != nil && p.Row().Features.Forget {
		return p.Row().Name
	}
	return ""
}

// Meets prepares a record of a part for the shadow that it meets, and returns why it
// cannot be applied, nil if it can. The caller holds the lock of the part; a replay,
// whose records were applied once, does not ask.
func (s *State) Meets(r *Record) error {
	sh := s.ShadowOf(r.ID)
	if sh != nil && sh.Broken() {
		sh = nil
	}
	switch o := r.Body.(type) {
	case *ShadowAdd:
		if own := s.ShadowByID(r.ID); o.Fed && own != nil && own.Closed() {
			return ErrSealed
		}
	case *FilterAdd:
		if sh == nil {
			o.Shadow = 0
		} else if o.Shadow != sh.ID || len(o.Second) != len(o.Hashes) || sh.Closed() {
			return contents.ErrRetry
		}
	case *FilterDelete:
		if o.Shadow = 0; sh != nil {
			o.Shadow = sh.ID
		}
	default:
		if sh != nil && leaves(o) {
			return ErrRebuilding
		}
	}
	return nil
}

// leaves reports whether a record would leave the shadow of its filter behind: it changes what
// the shadow has, and is no add or delete.
func leaves(b Body) bool {
	switch b.(type) {
	case *FilterClear, *FilterUnion, *FilterPiece, *FilterSource, *FilterSet:
		return true
	}
	return false
}

// publish makes known that a shadow is open, or no longer.
func (s *State) publish(sh *shadow.Shadow, open bool) {
	if plan := sh.Plan(); open && plan != nil && s.Roster() != nil {
		s.passTime(sh.Entry(), plan) // nothing else does that in a cluster
	}
	s.Publish(sh, open)
}

// ShadowOpen opens a shadow of a filter, or one that will make a name. The parts of it
// are locked until the record is in the log.
type ShadowOpen struct {
	Of     uint64 // the filter, 0 if there is none
	Name   []byte // that it will make if there is none
	Header []byte // see AppendShadow and AppendStatic
	Shared bool   // in a cluster
}

func (o *ShadowOpen) op() Op {
	if o.Shared {
		return OpRebuildOpen
	}
	return OpShadow
}

// effect is that of a single server.
func (o *ShadowOpen) effect(f *Effect, r *Record, _ *Result) {
	f.put(r, &ShadowOpen{Of: o.Of, Name: o.Name, Header: o.Header})
}

func (o *ShadowOpen) newName() []byte { return o.Name }
func (o *ShadowOpen) fields(c coder, r *Record) coder {
	return c.id(&o.Of).at(r).bytes(&o.Name).bytes(&o.Header)
}

func (o *ShadowOpen) apply(s *State, r *Record, res *Result) {
	var old *catalog.Entry
	if o.Of != 0 {
		old = s.Names.ByID(o.Of)
		if old == nil || old.Kind != catalog.Filter || old.Staged() || old.Expired(r.At) {
			res.Err = contents.ErrRetry
			return
		}
	} else if e := s.Names.Get(o.Name); e != nil && !e.Expired(r.At) {
		res.Err = contents.ErrRetry
		return
	}
	if s.ShadowOf(o.Of) != nil || o.Of == 0 && s.ShadowNamed(o.Name) != nil {
		res.Err = ErrExists
		return
	}
	if o.Shared {
		o.openShared(s, old, r, res)
		return
	}
	base := placement.BaseOf(s.last + 1)
	if kind, value := s.newValue(o, nil, base, r, res); value != nil { // the name is in the drafts
		res.Entry = s.Names.Stage(s.take(res.made, base), kind, value)
		s.link(res.Entry)
	}
}

// link makes known the shadow whose parts are those of an entry, if they are drafts.
func (s *State) link(e *catalog.Entry) {
	var sh *shadow.Shadow
	broken := false
	for _, p := range contents.Parts(e) {
		if d, ok := p.Contents().(*contents.Draft); ok {
			main, name := d.For()
			sh = shadow.New(e, main, s.Names.ByID(main), name, d.Shared())
			broken = broken || d.Broken()
		}
	}
	if sh != nil {
		sh.SetBroken(broken)
		s.publish(sh, true)
	}
}

// Rebuilding returns the names of filters that have a shadow, or that a shadow will make, in
// their order.
func (s *State) Rebuilding() (names []string) {
	all := s.Shadows()
	if len(all) == 0 {
		return nil
	}
	s.Names.Lock()
	defer s.Names.Unlock()
	for _, sh := range all {
		if e := s.Names.ByID(sh.Main); e != nil {
			names = append(names, e.Name())
		} else if sh.Main == 0 {
			names = append(names, sh.Name)
		}
	}
	slices.Sort(names)
	return names
}

// endShadow ends what an id that is gone has to do with a shadow.
func (s *State) endShadow(id uint64) {
	if sh := s.ShadowByID(id); sh != nil {
		s.publish(sh, false)
	} else if sh := s.ShadowOf(id); sh != nil {
		s.drop(sh.Entry())
	}
}

// dropShadows ends all shadows. It reports whether there were any.
func (s *State) dropShadows() bool {
	all := s.Shadows()
	for _, sh := range all {
		s.drop(sh.Entry())
	}
	return len(all) > 0
}

// close makes a shadow take no more items until a commit of the number that it returns
// ends, and waits for those on their way. It reports false if another commit has closed
// it. The caller holds the catalogue's lock.
func (s *State) close(sh *shadow.Shadow) (commit uint64, ok bool) {
	if sh.Closed() {
		return 0, false
	}
	s.commits++
	sh.Seal(s.commits)
	for _, id := range []uint64{sh.Main, sh.ID} {
		if e := s.Names.ByID(id); e != nil {
			for _, p := range contents.Parts(e) {
				p.Lock()
				p.Unlock() //nolint:staticcheck // waiting is all
			}
		}
	}
	return s.commits, true
}

// ShadowSeal fixes the items of a shadow until the commit whose number is N of the
// result swaps it in or gives up. It fails if another commit is under way. A replay goes
// on with whatever comes: a start gives up a commit that had not come to its swap.
type ShadowSeal struct{ ID uint64 }

func (*ShadowSeal) op() Op                            { return OpShadowSeal }
func (o *ShadowSeal) fields(c coder, r *Record) coder { return c.id(&o.ID).at(r) }

func (o *ShadowSeal) apply(s *State, _ *Record, res *Result) {
	sh := s.ShadowByID(o.ID)
	if sh == nil {
		res.Err = contents.ErrRetry
		return
	}
	commit, ok := s.close(sh)
	if !ok {
		res.Err = ErrSealed
		return
	}
	res.N, res.Changed = int64(commit), true
}

// ShadowSwap gives a shadow the name of its filter, which goes.
type ShadowSwap struct {
	ID   uint64
	Of   uint64   // the filter, 0 if there is none
	Name []byte   // that the shadow makes if there is none
	Sums []uint64 // the checksums of the parts of a static kind: a replay builds them again

	// Built is what takes the place of a static kind's hashes. The log gets its
	// checksums, so it is not encoded.
	Built *contents.Built
}

func (*ShadowSwap) op() Op            { return OpShadowSwap }
func (o *ShadowSwap) newName() []byte { return o.Name }

func (o *ShadowSwap) fields(c coder, r *Record) coder {
	ids := append([]uint64{o.Of}, o.Sums...)
	c = c.id(&o.ID).at(r).bytes(&o.Name).ids(&ids)
	switch {
	case c.does != reads:
	case len(ids) == 0:
		c.bad = true
	default:
		o.Of, o.Sums = ids[0], ids[1:]
	}
	return c
}

func (o *ShadowSwap) apply(s *State, r *Record, res *Result) {
	e := s.Names.ByID(o.ID)
	if e == nil || !e.Staged() {
		res.Err = contents.ErrRetry
		return
	}
	o.swap(s, e, r, res)
}

// swap gives the name to e.
func (o *ShadowSwap) swap(s *State, e *catalog.Entry, r *Record, res *Result) {
	name, deadline := string(o.Name), int64(0)
	var old *catalog.Entry
	if o.Of != 0 {
		if old = s.Names.ByID(o.Of); old == nil || old.Expired(r.At) {
			res.Err = contents.ErrRetry
			return
		}
		name, deadline = old.Name(), old.When()
	} else if s.live(o.Name, r.At, res) != nil {
		res.Err = ErrExists
		return
	}
	sh := s.ShadowByID(o.ID)
	if s.Roster() != nil {
		res.Err = s.settleAll(e)
	} else {
		if sh != nil {
			res.Err = s.prepareSwap(sh, o)
		}
		if res.Err == nil {
			var grown int64
			grown, res.Err = s.Finish(e, o.Built, o.Sums)
			s.bytes.Add(grown)
		}
	}
	if res.Err != nil {
		return
	}
	s.bytes.Add(int64(len(name)))
	res.Entry = s.Names.Reveal(e, old, name, deadline)
	if old != nil {
		s.bytes.Add(-s.leave(old))
	}
	if sh != nil { // not before: an add to the old filter alone would be lost
		s.publish(sh, false)
	}
	s.forgetStaged(o.ID)
	s.noteWindow(res.Entry)
	res.Changed = true
}

// prepareSwap makes sure that nothing is added to a shadow from here on, or returns why
// it cannot be swapped in: then it is as open as it was. What was built is of the commit
// that has sealed the shadow, or it lacks what came later. Other kinds are sealed here,
// and a replay, which builds by itself, asks nothing.
func (s *State) prepareSwap(sh *shadow.Shadow, o *ShadowSwap) error {
	if o.Built != nil {
		if sh.Commit() != o.Built.Commit() {
			return contents.ErrRetry
		}
		if sh.Broken() {
			return ErrBroken
		}
		return nil
	}
	commit, sealed := s.close(sh)
	if sh.Broken() {
		if sealed {
			sh.Reopen(commit)
		}
		return ErrBroken
	}
	return nil
}

// kind and the others implement maker: ShadowOpen makes the parts of a shadow.
func (*ShadowOpen) kind() catalog.Kind { return catalog.Filter }

func (*ShadowOpen) size(uint64, effort.Adding) effort.Size { return effort.Size{} }

func (o *ShadowOpen) bytes() (uint64, error) {
	if err := fits(o.Header); err != nil {
		return 0, err
	}
	return contents.ShadowBytes(o.Header, o.Name)
}

func (o *ShadowOpen) contents(s *State, here contents.Here) ([]contents.Contents, error) {
	name := ""
	if o.Of == 0 {
		name = string(o.Name)
	}
	return s.Drafts(o.Header, o.Of, name, here)
}
