package engine

// Writes to a filter that is being rebuilt.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shadowOf returns the shadow that a write to a filter has to do with, nil if there is
// none.
func (e *Engine) shadowOf(f *OnFilter, entry *catalog.Entry) *store.Shadow {
	if f.Write == nil || f.Write.Deletes || entry.Kind != catalog.Filter {
		return nil
	}
	if sh := e.state.ShadowOf(entry.ID); sh != nil && !sh.Broken() {
		return sh
	}
	return nil
}

// hashSecond hashes items, whose hashes begin at first, for the shadow as well. Hashes
// that a client has sent are those of both: Check refuses them if the hash differs.
func (w *Workspace) hashSecond(items [][]byte, first int) {
	n := len(w.Hashes)
	w.seconds = slices.Grow(w.seconds[:min(len(w.seconds), first)], n)[:n]
	h, _ := w.shadow.Hasher() // Check has asked for the key
	if w.shadow.Same() {
		copy(w.seconds[first:], w.Hashes[first:])
	} else {
		h.HashKeys(w.seconds[first:], items)
	}
}

// secondParts puts the hashes for the shadow into the ops of parts, whose hashes are
// sorted in routes.
func (w *Workspace) secondParts(ops []*door.Op, first, n int) {
	if w.shadow == nil {
		return
	}
	r := &w.routes
	r.second = resize(r.second, n)
	for i, at := range r.place {
		r.second[at] = w.seconds[first+i]
	}
	for _, op := range ops {
		from, to := r.of(int(op.Record.Index))
		o := op.Record.Body.(*store.FilterAdd)
		o.Shadow, o.Second = w.shadow.Entry.ID, r.second[from:to]
	}
}

// Shadow returns the shadow of a filter, nil if it has none.
func (x Contents) Shadow(entry *catalog.Entry) *store.Shadow { return x.e.state.ShadowOf(entry.ID) }

// ShadowNamed returns the shadow that will make a name, nil if there is none.
func (x Contents) ShadowNamed(name []byte) *store.Shadow { return x.e.state.ShadowNamed(name) }

// Build builds the filters of a shadow of a static kind that a commit has sealed. It
// takes long.
func (x Contents) Build(sh *store.Shadow, commit uint64) (*store.Built, error) {
	x.e.leave(x.s)
	x.e.waits(x.s, "build a filter")
	return x.e.state.Build(sh, commit)
}

// Reserve sets n bytes aside until the reply is written. It reports false if there are
// not so many.
func (x Contents) Reserve(n uint64) (release func(), ok bool) {
	if !x.e.Budget.reserve(n) {
		return nil, false
	}
	return func() { x.e.Budget.release(n) }, true
}

// ApplyNames puts a record of the catalogue in order, outside the gate but for that,
// and returns what came of it. It may take cost bytes. The reply reports that the record
// was not kept, and is None if it was.
func (x Contents) ApplyNames(b store.Body, cost uint64) (store.Result, answer.Reply) {
	return x.ApplyLarge(nil, store.Record{At: x.s.ms, Body: b}, cost)
}

// feedPiece is how many items are fed at a time.
const feedPiece = maxRun

// Feed adds items to a shadow. It returns how many it took, and why not more. The reply
// reports that a record was not kept, and is None if all were.
func (x Contents) Feed(sh *store.Shadow, items [][]byte) (done int, failed answer.Reply, err error) {
	e, s := x.e, x.s
	w, r := s.w, &s.w.routes
	h, _ := sh.Hasher()
	for len(items) > 0 {
		n := min(len(items), feedPiece)
		w.reuse()
		w.Hashes = slices.Grow(w.Hashes, n)
		hashes := w.Hashes[len(w.Hashes) : len(w.Hashes)+n]
		h.HashKeys(hashes, items[:n])
		r.sort(hashes, uint(sh.Plan().Parts))
		ops := e.feedOps(w, sh)
		e.leave(s)
		e.waits(s, "feed a shadow")
		e.door.Ready()
		e.enter(s)
		e.do(s, ops)
		e.leave(s)
		e.wait(s, ops)
		for _, op := range ops {
			switch {
			case op.Err != nil:
				return done, e.unsettled(op.Err), nil
			case op.Result.Err != nil:
				return done, answer.Reply{}, op.Result.Err
			}
		}
		items, done = items[n:], done+n
	}
	return done, answer.Reply{}, nil
}

// feedOps returns an op for every part of a shadow that has items, which are sorted in
// routes.
func (e *Engine) feedOps(w *Workspace, sh *store.Shadow) []*door.Op {
	r := &w.routes
	w.refs = w.refs[:0]
	for _, i := range r.used {
		from, to := r.of(int(i))
		op := w.takeOp()
		*op = Op{Op: door.Op{Part: store.PartAt(sh.Entry, uint32(i)), Admit: &e.Budget}, scratch: store.Scratch{ShadowFeed: store.ShadowFeed{Hashes: r.hashes[from:to]}}}
		op.Record = store.Record{ID: sh.Entry.ID, Index: uint32(i), Body: &op.scratch.ShadowFeed}
		op.Result.Bools = r.bools[from:to]
		w.refs = append(w.refs, &op.Op)
	}
	return w.refs
}
