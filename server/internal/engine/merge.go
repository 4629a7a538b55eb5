package engine

// Merges of large sketches, outside of all locks.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// mergeAtOnce is up to how many bytes sketches are merged under their locks.
	mergeAtOnce = 1 << 20
	// mergePiece is how many bytes of each sketch are summed up between two looks at
	// the client.
	mergePiece = 64 << 10
	// strictTries is how often a merge begins again because a sketch has changed.
	// From then on sources may change. mergeTries is how often it begins at all.
	strictTries = 4
	mergeTries  = 64
)

const textMergeBusy = "TRYAGAIN other clients change the destination all the time, and it is one of the sources: nothing was done, send it again"

// mergesOutside reports whether an op is a merge that would hold locks for long.
func (e *Engine) mergesOutside(s *Session, op *Op) bool {
	return merges(op) && e.shared == nil && !s.alone && e.state.MergeBytes(&op.Record) > mergeAtOnce
}

// mergeOutside merges sketches into one that has no name, in pieces, and gives it the
// name of the destination if nothing has changed meanwhile. It leaves the call without an
// answer if a key is gone: it is prepared again.
func (e *Engine) mergeOutside(s *Session, c *Call, op *Op) {
	x := &s.ctx
	e.leave(s)
	for try := range mergeTries {
		if x.GaveUp(c) {
			return
		}
		again, failed, err := x.Contents().merge(op, try >= strictTries)
		switch {
		case again:
			continue
		case failed.Kind != answer.None:
			c.Answer(failed)
		default:
			c.cmd.Reply(c, &store.Result{Err: err})
		}
		return
	}
	c.Fail(textMergeBusy)
}

// merge tries a merge once. It reports again if a sketch has changed meanwhile; failed is
// what is answered if it could not be kept, err what is wrong with it.
func (x Contents) merge(op *Op, relaxed bool) (again bool, failed answer.Reply, err error) {
	if o, ok := op.Record.Body.(*store.TDigestMerge); ok && !relaxed {
		if failed := x.compressAll(o.Sources); failed.Kind != answer.None {
			return false, failed, nil
		}
	}
	var m *store.Merging
	x.Look(func() { m, err = x.e.state.BeginMerge(&op.Record) })
	if err != nil {
		return false, failed, err
	}
	m.Relaxed = relaxed
	sum, err := x.summed(op, m)
	if err != nil {
		return errors.Is(err, store.ErrCondition), failed, err
	}
	defer sum.Release()
	entry, failed := x.stageEmpty(sum.Create, sum.Header)
	if failed.Kind != answer.None {
		if op.NoMemory != "" && failed.Text == answer.TextOOM {
			failed = answer.Fail(op.NoMemory)
		}
		return false, failed, nil
	}
	again, failed, err = x.fill(entry, m, sum)
	if !again && failed.Kind == answer.None && err == nil {
		var res store.Result
		res, failed = x.ApplyPiece(nil, store.Record{At: x.s.ms, Body: &store.Reveal{ID: entry.ID, Name: op.Record.NewName(), If: store.KeepTTL, Merging: m}})
		if failed.Kind == answer.None && res.Err == nil {
			return false, failed, nil
		}
		again, err = errors.Is(res.Err, store.ErrCondition), res.Err
	}
	x.Unstage(entry.ID)
	return again, failed, err
}

// summed computes a merge as far as it has to be before its pieces are made.
func (x Contents) summed(op *Op, m *store.Merging) (*store.Sum, error) {
	if o, ok := op.Record.Body.(*store.TDigestMerge); ok {
		return x.e.state.TDigests(m, o, x.Stopped)
	}
	return m.CountMins(mergePiece)
}

// fill puts the pieces of a sum into a sketch without a name.
func (x Contents) fill(entry *catalog.Entry, m *store.Merging, sum *store.Sum) (again bool, failed answer.Reply, err error) {
	p := store.PartOf(entry)
	for {
		switch {
		case m.Changed():
			return true, failed, nil
		case x.Stopped():
			return false, answer.Fail(TextStopped), nil
		}
		body, err := sum.Next()
		if err != nil || body == nil {
			return false, failed, err
		}
		piece := &door.Op{Part: p, Record: store.Record{ID: entry.ID, Body: body}}
		if err := x.apply(piece); err != nil {
			return false, x.e.unsettled(err), nil
		}
		if err := piece.Result.Err; err != nil {
			return false, failed, err
		}
	}
}
