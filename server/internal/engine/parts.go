package engine

// Items sorted by the part that they belong to.

import (
	"errors"
	"math/bits"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/store"
)

// runParts runs calls on a filter of several parts, whose items are hashed.
func (e *Engine) runParts(s *Session, entry *catalog.Entry, calls []Call) {
	w := s.w
	if calls[0].cmd.Filter.Write == nil {
		first, last := calls[0].first, &calls[len(calls)-1]
		found := w.takeBools(last.first + len(last.Items) - first)
		if !w.containsParts(entry, found, first) {
			return // it is gone
		}
		for i := range calls {
			c := &calls[i]
			c.AnswerBools(found[c.first-first:][:len(c.Items)])
		}
		return
	}
	for i := range calls {
		c := &calls[i]
		v := &pieces{found: w.takeBools(len(c.Items))}
		e.writeParts(s, c, entry, v, c.first, len(c.Items))
		switch {
		case c.answered:
		case v.done < len(c.Items):
			return // it is gone; this one and those behind it are run again
		default:
			c.answerParts(v)
		}
	}
}

// answerParts answers a write whose items are all done.
func (c *Call) answerParts(v *pieces) {
	if len(v.failed) > 0 {
		c.answerEach(v.found, v.failed)
		return
	}
	c.answered = true
	c.cmd.Filter.Write.Reply(c, &store.Result{Bools: v.found, Done: len(v.found)})
}

// answerEach answers an array with an error in the place of every item that has
// one.
func (c *Call) answerEach(found []bool, failed map[int]string) {
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
func (e *Engine) runPartsPiece(s *Session, c *Call, entry *catalog.Entry, v *pieces, first, n int) {
	if c.cmd.Filter.Write != nil {
		e.writeParts(s, c, entry, v, first, n)
		return
	}
	if s.w.containsParts(entry, v.found[v.done:v.done+n], first) {
		v.done += n
	}
}

// containsParts asks the parts for the hashes from the one at first on. It reports
// false if the filter is gone.
func (w *Workspace) containsParts(entry *catalog.Entry, found []bool, first int) bool {
	r := &w.routes
	r.Sort(w.Hashes[first:first+len(found)], logOf(entry))
	for _, i := range r.Used {
		if from, to := r.Of(int(i)); !containsPart(store.PartAt(entry, uint32(i)), r.Bools[from:to], r.Hashes[from:to]) {
			return false
		}
	}
	for i, at := range r.Place {
		found[i] = r.Bools[at]
	}
	return true
}

func containsPart(p *store.Part, found []bool, hashes []uint64) bool {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false
	}
	p.Filter().ContainsHashes(found, hashes)
	return true
}

// logOf returns the logarithm of the number of parts.
func logOf(entry *catalog.Entry) uint { return uint(bits.Len(uint(store.PartCount(entry))) - 1) }

// writeParts makes a record for every part that has items of a call among the n
// hashes from first on, and counts them in v as done. It counts none if the filter
// is gone.
func (e *Engine) writeParts(s *Session, c *Call, entry *catalog.Entry, v *pieces, first, n int) {
	r := &s.w.routes
	r.Sort(s.w.Hashes[first:first+n], logOf(entry))
	ops := e.partOps(c, entry, r)
	s.w.secondParts(ops, first, n)
	for rest := ops; len(rest) > 0; c.rooms++ {
		e.doAndWait(s, rest)
		var again []*door.Op
		for _, op := range rest {
			switch err := op.Result.Err; {
			case op.Err != nil:
				c.Answer(e.unsettled(op.Err))
				return
			case errors.Is(err, store.ErrRetry):
				return
			case errors.Is(err, store.ErrRoom) && c.rooms < maxRooms:
				again = append(again, op) // nothing of it was done
			}
		}
		rest = again
	}
	c.rooms = 0
	for i, at := range r.Place {
		v.found[v.done+i] = r.Bools[at]
	}
	for _, op := range ops {
		if op.Result.Err != nil {
			v.fail(c, op, r)
		}
	}
	v.done += n
}

// partOps returns an op for every part that has items.
func (e *Engine) partOps(c *Call, entry *catalog.Entry, r *routes.Table) []*door.Op {
	var ops []*door.Op
	write := c.cmd.Filter.Write
	for _, i := range r.Used {
		from, to := r.Of(int(i))
		items := write.Body(new(store.Scratch), Terms{})
		items.Hold(nil, r.Hashes[from:to])
		op := &door.Op{Part: store.PartAt(entry, uint32(i)), Record: store.Record{ID: entry.ID, Index: uint32(i), Body: items}}
		op.Result.Bools = r.Bools[from:to]
		if write.Grows {
			op.Admit = &e.Budget
		}
		ops = append(ops, op)
	}
	return ops
}

// fail notes the error of a part for all of its items that it has not done.
func (v *pieces) fail(c *Call, op *door.Op, r *routes.Table) {
	text := c.cmd.Filter.Write.Failure(op.Result.Err)
	from, _ := r.Of(int(op.Record.Index))
	for i, at := range r.Place {
		if int(r.Part[i]) == int(op.Record.Index) && op.Result.Fails(at-from) {
			v.failAt(v.done+i, text)
		}
	}
}

// failAt notes the error of an item.
func (v *pieces) failAt(i int, text string) {
	if v.failed == nil {
		v.failed = map[int]string{}
	}
	v.failed[i] = text
}
