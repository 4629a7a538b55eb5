package engine

// Items sorted by the part that they belong to.

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// routes is items sorted by the part that their hashes name.
type routes struct {
	part   []uint16 // of every item
	used   []uint16 // the parts that have items, in order
	from   []int    // where the items of a part begin, of those in use
	to     []int    // and end
	place  []int    // of every item among the sorted
	hashes []uint64 // sorted
	second []uint64 // those for the shadow, sorted alike
	bools  []bool   // answers for the sorted
}

// sort sorts hashes by their part of 2^log. The order within a part stays. It takes time
// by the number of hashes, not of parts: most calls have few items.
func (r *routes) sort(hashes []uint64, log uint) {
	n := len(hashes)
	r.part, r.place = resize(r.part, n), resize(r.place, n)
	r.hashes, r.bools = resize(r.hashes, n), resize(r.bools, n)
	r.used, r.from, r.to = r.used[:0], resize(r.from, 1<<log), resize(r.to, 1<<log)
	for i, h := range hashes {
		p := uint16(bloomery.Route(h, log))
		r.part[i], r.to[p] = p, 0
	}
	for _, p := range r.part {
		if r.to[p] == 0 {
			r.used = append(r.used, p)
		}
		r.to[p]++
	}
	slices.Sort(r.used)
	at := 0
	for _, p := range r.used {
		items := r.to[p]
		r.from[p], r.to[p] = at, at
		at += items
	}
	for i, h := range hashes {
		at := r.to[r.part[i]]
		r.to[r.part[i]]++
		r.place[i], r.hashes[at] = at, h
	}
}

// of returns where the items of a part that has some are among the sorted.
func (r *routes) of(part int) (from, to int) { return r.from[part], r.to[part] }

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

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
	r.sort(w.Hashes[first:first+len(found)], logOf(entry))
	for _, i := range r.used {
		if from, to := r.of(int(i)); !containsPart(store.PartAt(entry, uint32(i)), r.bools[from:to], r.hashes[from:to]) {
			return false
		}
	}
	for i, at := range r.place {
		found[i] = r.bools[at]
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
	r.sort(s.w.Hashes[first:first+n], logOf(entry))
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
	for i, at := range r.place {
		v.found[v.done+i] = r.bools[at]
	}
	for _, op := range ops {
		if op.Result.Err != nil {
			v.fail(c, op, r)
		}
	}
	v.done += n
}

// partOps returns an op for every part that has items.
func (e *Engine) partOps(c *Call, entry *catalog.Entry, r *routes) []*door.Op {
	var ops []*door.Op
	write := c.cmd.Filter.Write
	for _, i := range r.used {
		from, to := r.of(int(i))
		items := write.Body(new(store.Scratch), Terms{})
		items.Hold(nil, r.hashes[from:to])
		op := &door.Op{Part: store.PartAt(entry, uint32(i)), Record: store.Record{ID: entry.ID, Index: uint32(i), Body: items}}
		op.Result.Bools = r.bools[from:to]
		if write.Grows {
			op.Admit = &e.Budget
		}
		ops = append(ops, op)
	}
	return ops
}

// fail notes the error of a part for all of its items that it has not done.
func (v *pieces) fail(c *Call, op *door.Op, r *routes) {
	text := c.cmd.Filter.Write.Failure(op.Result.Err)
	from, _ := r.of(int(op.Record.Index))
	for i, at := range r.place {
		if int(r.part[i]) == int(op.Record.Index) && op.Result.Fails(at-from) {
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

// doAndWait puts ops in order and waits for them, outside the gate if that takes
// time.
func (e *Engine) doAndWait(s *Session, ops []*door.Op) {
	e.do(s, ops)
	for _, op := range ops {
		if !op.Settled {
			e.leave(s)
			e.waits(s, "wait for parts")
			e.wait(s, ops)
			return
		}
	}
}
