package bundle

// Items sorted by the part that they belong to.

import (
	"errors"
	"math/bits"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// runParts runs calls on a filter of several parts, whose items are hashed.
func runParts(t engine.Turn, entry *catalog.Entry, calls []engine.Call) {
	m := t.Memory()
	if Of(&calls[0]).Write == nil {
		first, last := calls[0].First, &calls[len(calls)-1]
		found := m.Bools(last.First + len(last.Items) - first)
		if !containsParts(m, entry, found, first) {
			return // it is gone
		}
		for i := range calls {
			c := &calls[i]
			c.AnswerBools(found[c.First-first:][:len(c.Items)])
		}
		return
	}
	for i := range calls {
		c := &calls[i]
		v := &scratch.Pieces{Found: m.Bools(len(c.Items))}
		writeParts(t, c, entry, v, c.First, len(c.Items))
		switch {
		case c.Answered():
		case v.Done < len(c.Items):
			return // it is gone; this one and those behind it are run again
		default:
			answerParts(c, v)
		}
	}
}

// answerParts answers a write whose items are all done.
func answerParts(c *engine.Call, v *scratch.Pieces) {
	if len(v.Failed) > 0 {
		answerEach(c, v.Found, v.Failed)
		return
	}
	Of(c).reply(c, &store.Result{Outcome: contents.Outcome{Bools: v.Found, Done: len(v.Found)}})
}

// answerEach answers an array with an error in the place of every item that has
// one.
func answerEach(c *engine.Call, found []bool, failed map[int]string) {
	elems := make([]answer.Reply, len(found))
	for i, v := range found {
		if text, bad := failed[i]; bad {
			elems[i] = answer.Fail(text)
		} else {
			elems[i] = answer.Truth(v)
		}
	}
	c.Answer(answer.List(elems...))
}

// runPartsPiece runs a piece of a call on a filter of several parts.
func runPartsPiece(t engine.Turn, c *engine.Call, entry *catalog.Entry, v *scratch.Pieces, first, n int) {
	if Of(c).Write != nil {
		writeParts(t, c, entry, v, first, n)
		return
	}
	if containsParts(t.Memory(), entry, v.Found[v.Done:v.Done+n], first) {
		v.Done += n
	}
}

// containsParts asks the parts for the hashes from the one at first on. It reports
// false if the filter is gone.
func containsParts(m *scratch.Memory, entry *catalog.Entry, found []bool, first int) bool {
	r := &m.Routes
	r.Sort(m.Hashes[first:first+len(found)], logOf(entry))
	for _, i := range r.Used {
		if from, to := r.Of(int(i)); !containsPart(contents.PartAt(entry, uint32(i)), r.Bools[from:to], r.Hashes[from:to]) {
			return false
		}
	}
	for i, at := range r.Place {
		found[i] = r.Bools[at]
	}
	return true
}

func containsPart(p *contents.Part, found []bool, hashes []uint64) bool {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() || p.Elsewhere() {
		return false
	}
	p.Filter().ContainsHashes(found, hashes)
	return true
}

// logOf returns the logarithm of the number of parts.
func logOf(entry *catalog.Entry) uint { return uint(bits.Len(uint(contents.PartCount(entry))) - 1) }

// writeParts makes a record for every part that has items of a call among the n
// hashes from first on, and counts them in v as done. It counts none if the filter
// is gone.
func writeParts(t engine.Turn, c *engine.Call, entry *catalog.Entry, v *scratch.Pieces, first, n int) {
	m := t.Memory()
	r := &m.Routes
	r.Sort(m.Hashes[first:first+n], logOf(entry))
	if Of(c).adds() && untouched(entry, r) && touched(t, entry, n) {
		return
	}
	ops := partOps(t, c, entry, r)
	secondParts(t, entry, ops, first, n)
	for rest := ops; len(rest) > 0; c.Rooms++ {
		t.Apply(rest)
		var again, late []*door.Op // of neither, anything was done
		for _, op := range rest {
			switch err := op.Result.Err; {
			case op.Err != nil:
				c.Answer(t.Unsettled(op.Err))
				return
			case errors.Is(err, contents.ErrRetry):
				late = append(late, op)
			case errors.Is(err, contents.ErrRoom) && c.Rooms < maxRooms:
				again = append(again, op)
			}
		}
		if len(late) > 0 && !rehash(t, c, entry, late, first, c.Items[v.Done:v.Done+n]) {
			return
		}
		rest = append(again, late...)
	}
	c.Rooms = 0
	if failed := mirrored(t, ops...); failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	for i, at := range r.Place {
		v.Found[v.Done+i] = r.Bools[at]
	}
	for _, op := range ops {
		if op.Result.Err != nil {
			failPart(v, c, op, r)
		}
	}
	v.Done += n
}

// partOps returns an op for every part that has items.
func partOps(t engine.Turn, c *engine.Call, entry *catalog.Entry, r *routes.Table) []*door.Op {
	var ops []*door.Op
	write := Of(c).Write
	for _, i := range r.Used {
		from, to := r.Of(int(i))
		items := write.Body(new(store.Scratch), Terms{})
		items.Hold(nil, r.Hashes[from:to])
		op := &door.Op{Part: contents.PartAt(entry, uint32(i)), Record: store.Record{ID: entry.ID, Index: uint32(i), Body: items}}
		op.Result.Bools = r.Bools[from:to]
		if write.Grows {
			op.Admit = t.Context().Budget()
		}
		ops = append(ops, op)
	}
	return ops
}

// failPart notes the error of a part for all of its items that it has not done.
func failPart(v *scratch.Pieces, c *engine.Call, op *door.Op, r *routes.Table) {
	text := Of(c).Write.Failure(op.Result.Err)
	from, _ := r.Of(int(op.Record.Index))
	for i, at := range r.Place {
		if int(r.Part[i]) == int(op.Record.Index) && op.Result.Fails(at-from) {
			v.Fail(v.Done+i, text)
		}
	}
}
