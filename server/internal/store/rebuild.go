package store

// Shadows in a cluster: what the catalogue says of them, and the marks in lanes.

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// In a cluster the parts of a filter and of its shadow are in lanes that are not ordered
// among each other. So an add is two records, one behind the other, and what keeps them
// together is in the lanes:
//
//	catalogue   open S ─────────────────── ready ──────────────────── swap
//	lane of F        add, knows 0 ── mark S ── add, knows 0: again ── add, knows S
//	lane of S                                                         └─ the same, for S
//
// A record of F says which shadow of F its node knew when it was prepared. Behind the mark
// of a later one it is prepared again: it was hashed for F alone. Ids only grow, so the id
// of a shadow is the number of the rebuild. Whatever decides whether S may take the place of F
// is in the catalogue: ready, once there is a mark in every part, and broken.
//
// A static kind is built of what is in the parts of S. A commit of it is an attempt, with a
// number. A seal of that number in each part keeps records out whose nodes did not know that
// the attempt has ended. So what is sealed does not change until the swap, or until the
// catalogue has ended the attempt, and every node builds the same.

// LevelRebuilds is the level of a cluster from which on filters can be rebuilt.
const LevelRebuilds = 4

// ErrNotReady means that the shadow of a cluster lacks marks: adds may miss it.
var ErrNotReady = errors.New("store: the shadow is not ready")

// noteRebuild makes a shadow say what the catalogue says of it.
func (s *State) noteRebuild(v *roster.Rebuild) {
	if sh := s.ShadowByID(v.ID); sh != nil {
		sh.Note(v)
	}
}

// relink makes the shadows of a cluster known that a snapshot has.
func (s *State) relink(r *roster.Roster) {
	if r == nil {
		return
	}
	for _, sh := range s.Shadows() {
		if r.Rebuild(sh.ID) == nil { // of a single server, with whose data the cluster has begun
			s.publish(sh, false)
		}
	}
	for i := range r.Rebuilds {
		v := &r.Rebuilds[i]
		if s.ShadowByID(v.ID) == nil { // its parts were saved behind the swap, or other nodes hold them
			s.linkShared(v)
		}
		s.noteRebuild(v)
	}
}

// linkShared makes known the shadow that the catalogue of a cluster speaks of, wherever its parts
// are.
func (s *State) linkShared(v *roster.Rebuild) {
	if e := s.Names.ByID(v.ID); e != nil {
		s.publish(shadow.New(e, v.Main, s.Names.ByID(v.Main), v.Name, contents.PartOf(e).Described()), true)
	}
}

// openShared opens a shadow in a cluster.
func (o *ShadowOpen) openShared(s *State, old *catalog.Entry, r *Record, res *Result) {
	if !s.CanRebuild() || s.Roster() == nil {
		res.Err = contents.ErrRetry
		return
	}
	base := s.base(o.Name)
	if old != nil {
		base = contents.PartOf(old).Shard()
	}
	kind, value := s.newValue(o, nil, base, r, res)
	if value == nil {
		return
	}
	res.Entry = s.Names.Stage(s.take(res.made, base), kind, value)
	s.noteStaged(res.Entry.ID, r.Origin.Session)
	next := s.Roster().Clone()
	v := roster.Rebuild{ID: res.Entry.ID, Main: o.Of, Name: string(o.Name)}
	next.Rebuilds = append(next.Rebuilds, v)
	s.roster.Store(next)
	s.linkShared(&v)
}

// Known returns the number of a rebuild of the filter to put into a record of p, where sh is the shadow that it was hashed for, nil for none. The mark is read first:
// if there is no shadow after that, the rebuild of that mark is over.
func (s *State) Known(id uint64, p *contents.Part, sh *shadow.Shadow) uint64 {
	if sh != nil {
		return sh.ID
	}
	mark := p.Mark()
	switch now := s.ShadowOf(id); {
	case now == nil:
		return mark
	case now.Broken():
		return now.ID
	}
	return 0 // it is hashed again, behind the mark
}

// Leaves returns ErrRebuilding if a record of a part would leave the shadow of its filter
// behind. It is for the node of a cluster that sends it: what others send meanwhile finds a mark.
func (s *State) Leaves(r *Record) error {
	if sh := s.ShadowOf(r.ID); sh != nil && !sh.Broken() && leaves(r.Body) {
		return ErrRebuilding
	}
	return nil
}

// late reports whether a record was prepared without knowing of a rebuild that there is a
// mark of.
func (s *State) late(c *contents.Filter, known uint64) bool {
	return known < c.Mark() && s.Roster() != nil
}

// FilterMark marks a part of a filter that is rebuilt: adds that were prepared before are
// prepared again.
type FilterMark struct{ Number uint64 }

func (*FilterMark) op() Op                            { return OpFilterMark }
func (o *FilterMark) fields(c coder, r *Record) coder { return c.target(r).uvarint(&o.Number) }

// effect is none without other nodes.
func (*FilterMark) effect(*Effect, *Record, *Result) {}

func (o *FilterMark) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	if c := p.Contents().(*contents.Filter); o.Number > c.Mark() {
		c.SetMark(o.Number)
		res.Changed = true
	}
	return 0
}

// What RebuildStep does.
const (
	StepReady   = iota // every part of the filter has its mark
	StepBreak          // an item had no room
	StepAttempt        // a commit of a static kind begins; N of the result is its number
	StepEnd            // it has ended
)

// RebuildStep changes what the catalogue says of a shadow of a cluster. It fails with
// ErrMissing if there is none.
type RebuildStep struct {
	ID      uint64
	What    uint8
	Attempt uint64 // of StepEnd
}

func (*RebuildStep) op() Op { return OpRebuildStep }
func (o *RebuildStep) fields(c coder, r *Record) coder {
	return c.byte(&o.What).id(&o.ID).at(r).uvarint(&o.Attempt)
}

// effect is that of a shadow of a single server.
func (o *RebuildStep) effect(f *Effect, _ *Record, _ *Result) {
	if o.What == StepBreak {
		f.puts([]Record{{ID: o.ID, Body: &ShadowBreak{}}})
	}
}

func (o *RebuildStep) apply(s *State, r *Record, res *Result) {
	if s.Roster().Rebuild(o.ID) == nil {
		res.Err = ErrMissing
		return
	}
	next := s.Roster().Clone()
	v := next.Rebuild(o.ID)
	was := *v
	switch o.What {
	case StepReady:
		v.Ready = true
		next.Unstage(o.ID)
	case StepBreak:
		v.Broken = true
	case StepAttempt:
		switch {
		case !v.Ready:
			res.Err = ErrNotReady
		case v.Broken:
			res.Err = ErrBroken
		case v.Attempt != 0 && next.Current(v.By):
			res.Err = ErrSealed
		default:
			v.Attempts++
			v.Attempt, v.By = v.Attempts, r.Origin.Session
			res.N = int64(v.Attempt)
		}
	case StepEnd:
		if v.Attempt == o.Attempt {
			v.Attempt, v.By = 0, 0
		}
	default:
		res.Err = ErrCondition
	}
	if res.Changed = *v != was; res.Changed {
		s.roster.Store(next)
		s.noteRebuild(v)
	}
}

// endAttempts ends the commits of a session that has ended.
func (s *State) endAttempts(session uint64) {
	next := s.Roster().Clone()
	for i := range next.Rebuilds {
		if v := &next.Rebuilds[i]; v.Attempt != 0 && v.By == session {
			v.Attempt, v.By = 0, 0
			s.roster.Store(next)
			s.noteRebuild(v)
		}
	}
}

// Committing notes that this node runs a commit of a static kind, until done is called.
func (s *State) Committing(id uint64) (done func()) {
	s.committing.Store(id, true)
	return func() { s.committing.Delete(id) }
}

// Stuck returns the attempts that their nodes will not end: this one, where the answer to
// its record was lost, or one that is not live.
func (s *State) Stuck(own uint32, live func(node uint32) bool) (list []roster.Attempt) {
	for _, a := range s.Roster().Attempts() {
		_, running := s.committing.Load(a.ID)
		if a.Node == own && !running || a.Node != own && !live(a.Node) {
			list = append(list, a)
		}
	}
	return list
}

// CanRebuild reports whether filters can be rebuilt.
func (s *State) CanRebuild() bool {
	r := s.Roster()
	return r == nil || r.Level >= LevelRebuilds
}

// BrokenShadow reports whether a part, by its own id, is one of a shadow of a cluster that is
// broken.
func (s *State) BrokenShadow(part uint64) bool {
	r := s.Roster()
	if r == nil {
		return false
	}
	return slices.ContainsFunc(r.Rebuilds, func(v roster.Rebuild) bool {
		e := s.Names.ByID(v.ID)
		return v.Broken && e != nil && part >= v.ID && part < v.ID+uint64(contents.PartCount(e))
	})
}

// isShadow reports whether contents are those of a shadow, or of one that was swapped in:
// lanes have records for it behind that.
func isShadow(c contents.Contents) bool {
	return contents.Is[*contents.Draft](c) || contents.Is[*contents.Filter](c)
}

// RebuildSwap gives a shadow of a cluster the name of its filter, which goes. It looks at
// no contents.
type RebuildSwap struct {
	ID      uint64
	Attempt uint64 // of a static kind

	does *ShadowSwap // what it was for; not encoded
}

func (*RebuildSwap) op() Op { return OpRebuildSwap }
func (o *RebuildSwap) fields(c coder, r *Record) coder {
	return c.id(&o.ID).at(r).uvarint(&o.Attempt)
}

func (o *RebuildSwap) apply(s *State, r *Record, res *Result) {
	v, e := s.Roster().Rebuild(o.ID), s.Names.ByID(o.ID)
	switch {
	case v == nil || e == nil:
		res.Err = contents.ErrRetry
		return
	case !v.Ready:
		res.Err = ErrNotReady
		return
	case v.Broken:
		res.Err = ErrBroken
		return
	case v.Attempt != o.Attempt:
		res.Err = ErrSealed
		return
	}
	o.does = &ShadowSwap{ID: o.ID, Of: v.Main, Name: []byte(v.Name)}
	o.does.swap(s, e, r, res)
}

// effect is that of a shadow of a single server, which builds static kinds again.
func (o *RebuildSwap) effect(f *Effect, r *Record, _ *Result) { f.put(r, o.does) }

// settleAll makes filters of the drafts of a shadow that is swapped in. Whoever has sent the
// swap has built the same: an error means that this node is damaged, or has no memory.
func (s *State) settleAll(e *catalog.Entry) error {
	for _, p := range contents.Parts(e) {
		p.Lock()
		err := s.settleLent(p)
		p.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// settleLent makes a filter of a draft, if the part has one, and counts that as a change. The caller
// holds the lock of the part, or has it alone.
func (s *State) settleLent(p *contents.Part) error {
	if !contents.Is[*contents.Draft](p.Contents()) || p.Gone() {
		return nil
	}
	p.Raise()
	return s.settle(p)
}

// settle makes the filter of a draft.
func (s *State) settle(p *contents.Part) error {
	grown, err := s.Settle(p)
	s.bytes.Add(grown)
	return err
}

// OfRebuild reports whether a record is one of those by which a filter is rebuilt: other nodes may ask
// a node to put it in order.
func (r *Record) OfRebuild() bool {
	switch o := r.Body.(type) {
	case *FilterMark, *ShadowMissed, *RebuildSeal:
		return true
	case *ShadowAdd:
		return o.Shared
	}
	return false
}

// RebuildSeal keeps records out of a part of a shadow of a static kind, and begins to build
// it. The records that come through are of nodes which know that the attempt has ended.
type RebuildSeal struct{ Attempt uint64 }

func (*RebuildSeal) op() Op                            { return OpRebuildSeal }
func (o *RebuildSeal) fields(c coder, r *Record) coder { return c.target(r).uvarint(&o.Attempt) }

// effect is that a start gives up every commit.
func (*RebuildSeal) effect(*Effect, *Record, *Result) {}

func (o *RebuildSeal) change(s *State, p *contents.Part, _ *Record, res *Result) int64 {
	if d, ok := p.Contents().(*contents.Draft); ok {
		d.Seal(&s.Supply, o.Attempt)
	}
	res.Changed = true // also behind the swap, which is another place of the lane at every node
	return 0
}

// BuiltPart is a part of a shadow that is built at this node.
type BuiltPart struct {
	Index uint32
	Items uint64
}

// BuiltParts waits until the parts of a shadow that an attempt has sealed are built here, those that this node
// answers for, until the time is over: then it reports false.
func (s *State) BuiltParts(id, attempt uint64, over <-chan struct{}) (list []BuiltPart, done bool, err error) {
	e := s.Names.ByID(id)
	if e == nil {
		return nil, true, contents.ErrRetry
	}
	for i, p := range contents.Parts(e) {
		if !s.Answers(p) {
			continue
		}
		items, done, err := s.AwaitBuilt(p, attempt, over)
		if err != nil || !done {
			return nil, done, err
		}
		list = append(list, BuiltPart{uint32(i), items})
	}
	return list, true, nil
}
