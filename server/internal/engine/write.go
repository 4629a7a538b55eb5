package engine

// How calls become records and are put in order.

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/store"
)

// absent answers a call whose key is not there, or makes the key. The call is
// then run again.
func (e *Engine) absent(s *Session, c *Call) {
	f := c.cmd.Filter
	if f.Absent != nil {
		if f.Absent(c); c.answered {
			return
		}
	}
	if e.busy(s) {
		return
	}
	op, ok := s.ctx.Contents().Creation(f.Write.Create(&s.ctx, c))
	if !ok {
		c.Fail(answer.TextNoMemory)
		return
	}
	if !e.Budget.Reserve(op.Cost) {
		c.Fail(answer.TextOOM)
		return
	}
	e.doAndWait(s, []*door.Op{&op.Op})
	e.Budget.Release(op.Cost)
	switch err := op.Result.Err; {
	case op.Err != nil:
		c.Answer(e.unsettled(op.Err))
	case err != nil && !errors.Is(err, store.ErrExists):
		c.Fail(answer.TextNoMemory)
	default:
		e.born(&op.Op)
	}
}

// write makes records of calls and puts them in order. Calls that follow each
// other and do the same make one record where the command allows it.
func (e *Engine) write(s *Session, entry *catalog.Entry, p *store.Part, calls []Call) {
	w := s.w
	w.spans = w.spans[:0]
	for len(calls) > 0 {
		n := 1
		wr := calls[0].cmd.Filter.Write
		for wr.Merge && n < len(calls) && calls[n].cmd.Filter.Write == wr && !calls[n].single && !calls[0].single {
			n++
		}
		last := &calls[n-1]
		op := e.record(w, &calls[0], entry, p, calls[0].first, last.first+len(last.Items)-calls[0].first)
		w.spans = append(w.spans, span{calls[:n:n], op})
		calls = calls[n:]
	}
	e.order(s, w.spans)
}

// record makes the record of n digests from the one at first on, for c or for
// calls of the same command.
func (e *Engine) record(w *Workspace, c *Call, entry *catalog.Entry, p *store.Part, first, n int) *Op {
	f, op := c.cmd.Filter, w.takeOp()
	r, res := &op.Record, &op.Result
	terms := Terms{Resumes: c.rooms < maxRooms}
	if c.pieces == nil || c.pieces.done == 0 { // a command is asked for it once
		terms.MaxFilters = e.Settings.MaxExpansions()
	}
	items := f.Write.Body(&op.scratch, terms)
	f.Family.Fill(w, items, first, n)
	if o, ok := items.(*store.FilterAdd); ok && w.shadow != nil {
		o.Shadow, o.Second = w.shadow.Entry.ID, w.seconds[first:first+n]
	}
	r.ID, r.Index, r.Body = entry.ID, 0, items
	op.Part, op.Admit, op.Err, op.Settled, op.Cost = p, nil, nil, false, 0
	res.Bools, res.Codes, res.Failed = nil, nil, nil
	if f.Write.Codes {
		res.Codes = w.takeCodes(n)
	} else {
		res.Bools = w.takeBools(n)
	}
	if f.Write.Grows {
		op.Admit = &e.Budget
	}
	return op
}

// settled answers all calls, or those up to the first that failed, and none if the filter
// is gone.
func (f *OnFilter) settled(e *Engine, w *Workspace, v span) {
	calls, res := v.calls, &v.op.Result
	switch {
	case v.op.Err != nil:
		for i := range calls {
			calls[i].Answer(e.unsettled(v.op.Err))
		}
	case errors.Is(res.Err, store.ErrRetry):
	case len(calls) == 1 && calls[0].lacksRoom(res):
		calls[0].keep(res)
	case len(calls) == 1:
		calls[0].answered = true
		calls[0].cmd.Filter.Write.Reply(&calls[0], res)
	default:
		w.share(calls, res)
	}
}

// share answers calls from the result of the record that they share.
func (w *Workspace) share(calls []Call, res *store.Result) {
	write, first := calls[0].cmd.Filter.Write, calls[0].first
	for i := range calls {
		c := &calls[i]
		from := c.first - first
		to := from + len(c.Items)
		w.view.Err, w.view.Failed = nil, nil
		switch {
		case res.Failed != nil: // all were tried
			if w.view.Failed = res.Failed[from:to]; slices.Contains(w.view.Failed, true) {
				w.view.Err = res.Err
			}
		case to > res.Done && refusal.NoRoom(res.Err):
			// Together they may need more than is left, and one by one not.
			for j := range calls[i:] {
				calls[i+j].single = true
			}
			return
		case to > res.Done: // the first that failed
			w.view.Err = res.Err
			to = max(from, res.Done)
		case write.Codes && res.Codes[from] == store.Refused:
			c.single = true // run again, alone, to learn why
			continue
		}
		w.view.Done, w.view.N = to-from, res.N
		if write.Codes {
			w.view.Codes = res.Codes[from:to]
		} else {
			w.view.Bools = res.Bools[from:to]
		}
		c.answered = true
		write.Reply(c, &w.view)
		if w.view.Err != nil && res.Failed == nil && !errors.Is(w.view.Err, store.ErrExpansions) {
			return // those behind it are run again; too many sub-filters stop all of them
		}
	}
}

// maxRooms is how often the rest of a call is prepared again because its filter
// needed more room than it had when the record was prepared.
const maxRooms = 2

// lacksRoom reports whether the rest of a call is to be prepared again.
func (c *Call) lacksRoom(res *store.Result) bool {
	if !errors.Is(res.Err, store.ErrRoom) || c.rooms >= maxRooms || res.Done >= len(c.Items) {
		return false
	}
	c.rooms++
	return true
}

// keep keeps what a record has done of a call whose rest is prepared again.
func (c *Call) keep(res *store.Result) {
	if res.Done == 0 {
		return
	}
	c.pieces = &pieces{done: res.Done}
	if c.cmd.Filter.Write.Codes {
		c.pieces.codes = make([]int8, len(c.Items))
		copy(c.pieces.codes, res.Codes[:res.Done])
	} else {
		c.pieces.found = make([]bool, len(c.Items))
		copy(c.pieces.found, res.Bools[:res.Done])
	}
}
