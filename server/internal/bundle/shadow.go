package bundle

// Writes to a filter that is being rebuilt.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shadowOf returns the shadow that a write to a filter has to do with, nil if there is
// none.
func (f *OnFilter) shadowOf(t engine.Turn, entry *catalog.Entry) *shadow.Shadow {
	if !f.adds() || entry.Kind != catalog.Filter {
		return nil
	}
	if sh := t.Context().Contents().Shadow(entry); sh != nil && !sh.Broken() {
		return sh
	}
	return nil
}

// hashSecond hashes items, whose hashes begin at first, for the shadow as well. Hashes
// that a client has sent are those of both: Check refuses them if the hash differs.
func hashSecond(m *scratch.Memory, items [][]byte, first int) {
	n := len(m.Hashes)
	m.Seconds = slices.Grow(m.Seconds[:min(len(m.Seconds), first)], n)[:n]
	h, _ := m.Shadow.Hasher() // Check has asked for the key
	if m.Shadow.Same() {
		copy(m.Seconds[first:], m.Hashes[first:])
	} else {
		h.HashKeys(m.Seconds[first:], items)
	}
}

// secondParts puts the hashes for the shadow into the ops of parts, whose hashes are
// sorted in routes.
func secondParts(t engine.Turn, entry *catalog.Entry, ops []*door.Op, first, n int) {
	m := t.Memory()
	x := t.Context().Contents()
	for _, op := range ops {
		if o, ok := op.Record.Body.(*store.FilterAdd); ok {
			o.Known = x.LastRebuild(entry.ID, op.Part, m.Shadow)
		}
	}
	if m.Shadow == nil {
		return
	}
	r := &m.Routes
	m.Second = routes.Resize(m.Second, n)
	for i, at := range r.Place {
		m.Second[at] = m.Seconds[first+i]
	}
	for _, op := range ops {
		from, to := r.Of(int(op.Record.Index))
		o := op.Record.Body.(*store.FilterAdd)
		o.Shadow, o.Second = m.Shadow.ID, m.Second[from:to]
	}
}

// rehash prepares the records of parts again that did not know of a rebuild: those of other
// parts may be applied, and must not be sent twice. It reports false if the call is to be run
// from the beginning, since the filter is gone, or if it has answered.
func rehash(t engine.Turn, c *engine.Call, entry *catalog.Entry, ops []*door.Op, first int, items [][]byte) bool {
	x, m := t.Context().Contents(), t.Memory()
	if _, adds := ops[0].Record.Body.(*store.FilterAdd); !adds || !x.Can().Cluster || x.ByID(entry.ID) != entry {
		return false
	}
	f := Of(c)
	if m.Shadow = f.shadowOf(t, entry); m.Shadow != nil {
		if _, usable := m.Shadow.Hasher(); !usable || f.Hash != nil && !m.Shadow.Same() {
			c.Answer(t.Unsettled(fmt.Errorf("%w: a rebuild has begun, and its new filter cannot take the items", door.ErrUnknown)))
			return false
		}
		hashSecond(m, items, first)
	} else {
		for _, op := range ops {
			op.Record.Body.(*store.FilterAdd).Shadow = 0
		}
	}
	secondParts(t, entry, ops, first, len(items))
	return true
}

// mirrored gives the shadow of a filter in a cluster what ops have added to the filter. They
// are settled, and those of the shadow are when it returns: parts of two filters have no
// common order. The reply is None if the calls of ops can be answered.
func mirrored(t engine.Turn, ops ...*door.Op) answer.Reply {
	x := t.Context().Contents()
	if !x.Can().Cluster {
		return answer.Reply{}
	}
	var to uint64
	var hashes []uint64
	missed := uint64(0)
	for _, op := range ops {
		switch o := op.Record.Body.(type) {
		case *store.FilterAdd:
			if o.Shadow == 0 || op.Result.Done == 0 {
				continue
			}
			if to != 0 && to != o.Shadow { // one of them is over
				if failed := mirror(t, to, hashes); failed.Kind != answer.None {
					return failed
				}
				hashes = nil
			}
			to, hashes = o.Shadow, append(hashes, op.Result.Added(o.Second)...)
		case *store.FilterDelete:
			for _, was := range op.Result.Bools[:op.Result.Done] {
				if was {
					missed++
				}
			}
		}
	}
	if missed > 0 {
		miss(t, ops[0].Record.ID, missed)
	}
	if len(hashes) == 0 {
		return answer.Reply{}
	}
	return mirror(t, to, hashes)
}

// miss counts items that the shadow of a filter still has. Nothing depends on it.
func miss(t engine.Turn, filter, items uint64) {
	x := t.Context().Contents()
	entry := x.ByID(filter)
	if entry == nil {
		return
	}
	if sh := x.Shadow(entry); sh != nil {
		t.ApplyAnywhere([]*door.Op{{Record: store.Record{ID: sh.ID, Body: &store.ShadowMissed{Items: items}}}})
	}
}

// mirror adds hashes to a shadow, or to what has become of it, and waits for that. If it is
// aborted there is nothing to do. Nobody is told that an item was added which a shadow lacks
// that may be committed.
func mirror(t engine.Turn, id uint64, hashes []uint64) answer.Reply {
	x := t.Context().Contents()
	entry := x.ByID(id)
	if entry == nil {
		return answer.Reply{}
	}
	ops := mirrorOps(t, entry, hashes)
	for tries := 0; len(ops) > 0; tries++ {
		t.ApplyAnywhere(ops)
		var again []*door.Op
		for _, op := range ops {
			switch err := op.Result.Err; {
			case op.Err != nil:
				return t.Unsettled(fmt.Errorf("%w: the filter has the items, and the new filter of the rebuild may lack them: %w", door.ErrUnknown, op.Err))
			case err == nil, errors.Is(err, contents.ErrRetry): // done, or aborted
			case errors.Is(err, store.ErrSealed):
				return t.Unsettled(fmt.Errorf("%w: a COMMIT is under way that may lack the items", door.ErrUnknown))
			case errors.Is(err, contents.ErrRoom) && tries < maxRooms:
				again = append(again, op)
			default:
				return breakShadow(t, id, err)
			}
		}
		ops = again
	}
	return answer.Reply{}
}

// mirrorOps makes an op for every part of a shadow that has hashes.
func mirrorOps(t engine.Turn, entry *catalog.Entry, hashes []uint64) (ops []*door.Op) {
	x := t.Context()
	ended := uint64(0)
	if sh := x.Contents().ShadowBy(entry.ID); sh != nil {
		ended = sh.Ended()
	}
	var sorted routes.Table
	sorted.Sort(hashes, logOf(entry))
	for _, i := range sorted.Used {
		from, to := sorted.Of(int(i))
		ops = append(ops, &door.Op{
			Part: contents.PartAt(entry, uint32(i)), Admit: x.Budget(),
			Record: store.Record{ID: entry.ID, Index: uint32(i), Body: &store.ShadowAdd{Hashes: sorted.Hashes[from:to], Shared: true, Ended: ended}},
		})
	}
	return ops
}

// breakShadow marks a shadow as one that lacks items, before those are acknowledged. If it
// was committed meanwhile they were not added.
func breakShadow(t engine.Turn, id uint64, why error) answer.Reply {
	x := t.Context().Contents()
	res, failed := x.ApplyNames(&store.RebuildStep{ID: id, What: store.StepBreak}, 0)
	switch {
	case failed.Kind != answer.None:
		return t.Unsettled(fmt.Errorf("%w: the filter has the items, and the new filter of the rebuild lacks them", door.ErrUnknown))
	case res.Err != nil && x.ByID(id) != nil:
		return answer.Fail("ERR the filter was replaced meanwhile by one that has no room: " + answer.OneLine(why))
	}
	return answer.Reply{}
}
