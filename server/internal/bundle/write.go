package bundle

// How calls become records and are put in order.

import (
	"errors"
	"math"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// absent answers a call whose key is not there, or makes the key. The call is
// then run again.
func (f *OnFilter) absent(t engine.Turn, c *engine.Call) {
	if f.Absent != nil {
		if f.Absent(c); c.Answered() {
			return
		}
	}
	if t.Busy() {
		return
	}
	x := t.Context()
	op, ok := x.Contents().Creation(f.Write.Create(x, c))
	if !ok {
		c.Fail(answer.TextNoMemory)
		return
	}
	if err := t.ApplyNew(op); err != nil {
		c.Answer(t.Unsettled(err))
		return
	}
	switch err := op.Result.Err; {
	case op.Err != nil:
		c.Answer(t.Unsettled(op.Err))
	case err != nil && !errors.Is(err, store.ErrExists):
		c.Fail(answer.TextNoMemory)
	default:
		t.Born(op)
	}
}

// write makes records of calls and puts them in order. Calls that follow each
// other and do the same make one record where the command allows it.
func write(t engine.Turn, entry *catalog.Entry, p *contents.Part, calls []engine.Call) {
	m := t.Memory()
	for len(calls) > 0 {
		n := 1
		wr := Of(&calls[0]).Write
		for wr.Merge && n < len(calls) && Of(&calls[n]).Write == wr && !calls[n].Single && !calls[0].Single {
			n++
		}
		last := &calls[n-1]
		items := last.First + len(last.Items) - calls[0].First
		op := record(t, &calls[0], entry, p, calls[0].First, items)
		if wr.Codes {
			op.Result.Codes = m.Codes(items)
		} else {
			op.Result.Bools = m.Bools(items)
		}
		t.Put(calls[:n:n], op)
		calls = calls[n:]
	}
	t.Order()
}

// record makes the record of n digests from the one at first on, for c or for
// calls of the same command. Where its results go is for the caller to say.
func record(t engine.Turn, c *engine.Call, entry *catalog.Entry, p *contents.Part, first, n int) *engine.Op {
	f, m, op := Of(c), t.Memory(), t.Op()
	r, res := &op.Record, &op.Result
	terms := Terms{Resumes: c.Rooms < maxRooms, Part: p, Items: n, Others: others(t.Context())}
	if c.Pieces == nil || c.Pieces.Done == 0 { // a command is asked for it once
		terms.MaxFilters = t.Context().Settings().MaxExpansions()
	}
	items := f.Write.Body(&op.Scratch, terms)
	f.Family.Fill(m, items, first, n)
	if o, ok := items.(*store.FilterAdd); ok {
		if m.Shadow != nil {
			o.Shadow, o.Second = m.Shadow.ID, m.Seconds[first:first+n]
		}
		o.Known = t.Context().Contents().LastRebuild(entry.ID, p, m.Shadow)
	}
	r.ID, r.Index, r.Body = entry.ID, 0, items
	op.Part, op.Admit, op.Err, op.Settled, op.Cost = p, nil, nil, false, 0
	res.Bools, res.Codes, res.Failed = nil, nil, nil
	if f.Write.Grows {
		op.Admit = t.Context().Budget()
	}
	return op
}

// others returns about how many items of other records are on their way while one is prepared.
func others(x *engine.Context) int {
	const usual = 4096
	switch {
	case x.Transaction().Grouped():
		return math.MaxInt
	case x.Alone():
		return 0
	}
	return usual
}

// reply answers a call from what became of its items.
func (f *OnFilter) reply(c *engine.Call, res *store.Result) {
	c.Conclude()
	f.Write.Reply(c, res)
}

// Settled implements engine.Bundled: it answers all calls, or those up to the first that failed, and none if the filter
// is gone.
func (f *OnFilter) Settled(t engine.Turn, v engine.Span) {
	calls, res := v.Calls, &v.Op.Result
	switch {
	case (v.Op.Err != nil || t.Context().Can().Cluster) && refused(t, v):
	case res.Err == nil && len(calls) == 1: // most
		f.reply(&calls[0], res)
	case errors.Is(res.Err, contents.ErrRetry):
	case len(calls) == 1 && lacksRoom(&calls[0], res):
		f.keep(&calls[0], res)
	case len(calls) == 1:
		f.reply(&calls[0], res)
	default:
		f.share(t.Memory(), calls, res)
	}
}

// refused answers calls whose record was not kept, or in a cluster not by the shadow of the filter.
func refused(t engine.Turn, v engine.Span) bool {
	var failed answer.Reply
	if v.Op.Err != nil {
		failed = t.Unsettled(v.Op.Err)
	} else if failed = mirrored(t, &v.Op.Op); failed.Kind == answer.None {
		return false
	}
	for i := range v.Calls {
		v.Calls[i].Answer(failed)
	}
	return true
}

// share answers calls from the result of the record that they share.
func (f *OnFilter) share(m *scratch.Memory, calls []engine.Call, res *store.Result) {
	first := calls[0].First
	for i := range calls {
		c := &calls[i]
		from := c.First - first
		to := from + len(c.Items)
		m.View.Err, m.View.Failed = nil, nil
		switch {
		case res.Failed != nil: // all were tried
			if m.View.Failed = res.Failed[from:to]; slices.Contains(m.View.Failed, true) {
				m.View.Err = res.Err
			}
		case to > res.Done && refusal.NoRoom(res.Err):
			// Together they may need more than is left, and one by one not.
			for j := range calls[i:] {
				calls[i+j].Single = true
			}
			return
		case to > res.Done: // the first that failed
			m.View.Err = res.Err
			to = max(from, res.Done)
		case f.Write.Codes && res.Codes[from] == store.Refused:
			c.Single = true // run again, alone, to learn why
			continue
		}
		m.View.Done, m.View.N = to-from, res.N
		if f.Write.Codes {
			m.View.Codes = res.Codes[from:to]
		} else {
			m.View.Bools = res.Bools[from:to]
		}
		f.reply(c, &m.View)
		if m.View.Err != nil && res.Failed == nil && !errors.Is(m.View.Err, store.ErrExpansions) {
			return // those behind it are run again; too many sub-filters stop all of them
		}
	}
}

// maxRooms is how often the rest of a call is prepared again because its filter
// needed more room than it had when the record was prepared.
const maxRooms = 2

// lacksRoom reports whether the rest of a call is to be prepared again.
func lacksRoom(c *engine.Call, res *store.Result) bool {
	if !errors.Is(res.Err, contents.ErrRoom) || c.Rooms >= maxRooms || res.Done >= len(c.Items) {
		return false
	}
	c.Rooms++
	return true
}

// keep keeps what a record has done of a call whose rest is prepared again.
func (f *OnFilter) keep(c *engine.Call, res *store.Result) {
	if res.Done == 0 {
		return
	}
	c.Pieces = &scratch.Pieces{Done: res.Done}
	if f.Write.Codes {
		c.Pieces.Codes = make([]int8, len(c.Items))
		copy(c.Pieces.Codes, res.Codes[:res.Done])
	} else {
		c.Pieces.Found = make([]bool, len(c.Items))
		copy(c.Pieces.Found, res.Bools[:res.Done])
	}
}
