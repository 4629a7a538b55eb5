package staging

// Merges of large sketches, outside of all locks.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// MergeAtOnce is up to how many bytes sketches are merged under their locks.
const MergeAtOnce = 1 << 20

const (
	// mergePiece is how many bytes of each sketch are summed up between two looks at
	// the client.
	mergePiece = 64 << 10
	// strictTries is how often a merge begins again because a sketch has changed.
	// From then on sources may change. mergeTries is how often it begins at all.
	strictTries = 4
	mergeTries  = 64
)

const textMergeBusy = "TRYAGAIN other clients change the destination all the time, and it is one of the sources: nothing was done, send it again"

// Merge merges sketches into one that has no name, in pieces, and gives it the name of the
// destination if nothing has changed meanwhile. failed is what is answered if it could not
// be kept, noMemory that it had no room; err is what is wrong with it.
func (a Area) Merge(r *store.Record, noMemory string) (failed answer.Reply, err error) {
	for try := range mergeTries {
		if a.run.Stopped() {
			return answer.Fail(answer.TextStopped), nil
		}
		again, failed, err := a.merge(r, noMemory, try >= strictTries)
		if !again {
			return failed, err
		}
	}
	return answer.Fail(textMergeBusy), nil
}

// merge tries a merge once. It reports again if a sketch has changed meanwhile.
func (a Area) merge(r *store.Record, noMemory string, relaxed bool) (again bool, failed answer.Reply, err error) {
	if o, ok := r.Body.(*store.TDigestMerge); ok && !relaxed {
		if failed := a.compressAll(o.Sources); failed.Kind != answer.None {
			return false, failed, nil
		}
	}
	var m *store.Merging
	a.run.Look(func() { m, err = a.state.BeginMerge(r) })
	if err != nil {
		return false, failed, err
	}
	m.Relaxed = relaxed
	sum, err := a.summed(r, m)
	if err != nil {
		return errors.Is(err, store.ErrCondition), failed, err
	}
	defer sum.release()
	entry, failed := a.empty(a.state.Place(sum.stage, r.NewName()))
	if failed.Kind != answer.None {
		if noMemory != "" && failed.Text == answer.TextOOM {
			failed = answer.Fail(noMemory)
		}
		return false, failed, nil
	}
	again, failed, err = a.fill(entry, m, sum)
	if !again && failed.Kind == answer.None && err == nil {
		var res store.Result
		reveal := &store.Reveal{ID: entry.ID, Name: r.NewName(), If: store.KeepTTL, Merging: m}
		res, failed = a.run.ApplyPiece(nil, store.Record{At: a.run.Milliseconds(), Body: reveal})
		if failed.Kind == answer.None && res.Err == nil {
			return false, failed, nil
		}
		again, err = errors.Is(res.Err, store.ErrCondition), res.Err
	}
	a.Drop(entry.ID)
	return again, failed, err
}

// summed computes a merge as far as it has to be before its pieces are made.
func (a Area) summed(r *store.Record, m *store.Merging) (*sum, error) {
	switch o := r.Body.(type) {
	case *store.TDigestMerge:
		return a.tdigests(m, o)
	case *store.CountMinMerge:
		return countMins(m, o.Weights, mergePiece)
	}
	return nil, contents.ErrType
}

// fill puts the pieces of a sum into a sketch without a name.
func (a Area) fill(entry *catalog.Entry, m *store.Merging, sum *sum) (again bool, failed answer.Reply, err error) {
	p := contents.PartOf(entry)
	for {
		switch {
		case m.Changed():
			return true, failed, nil
		case a.run.Stopped():
			return false, answer.Fail(answer.TextStopped), nil
		}
		body, err := sum.next()
		if err != nil || body == nil {
			return false, failed, err
		}
		res, failed := a.run.ApplyUnseen(p, store.Record{ID: entry.ID, Body: body})
		if failed.Kind != answer.None || res.Err != nil {
			return false, failed, res.Err
		}
	}
}
