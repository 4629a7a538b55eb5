package engine

// Turn: what those see that run bundles.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/scratch"
)

// Turn is a session while a bundle of it is run: what a Bundled sees of the engine. Handlers
// get none.
type Turn struct {
	e *Engine
	s *Session
}

// Context returns what handlers see.
func (t Turn) Context() *Context { return &t.s.ctx }

// Memory returns the memory of items on their way.
func (t Turn) Memory() *scratch.Memory { return &t.s.w.Memory }

// Reuse makes the memory of records and digests free again, if no record that is on its way
// is in it.
func (t Turn) Reuse() { t.s.w.reuse() }

// Enter enters the gate, unless the session is inside; Leave leaves it.
func (t Turn) Enter() { t.e.enter(t.s) }

// Leave is what whoever is about to wait, or to take long, calls first.
func (t Turn) Leave() { t.e.leave(t.s) }

// Busy waits outside the gate if the door cannot take a record now. It reports true if it
// has: what was looked up may have changed.
func (t Turn) Busy() bool { return t.e.busy(t.s) }

// Touched has the system make the pages of a part to which items are about to be added, if they are
// many: see [contents.Part.Touch]. It reports whether it has left the gate to do so; then what was looked
// up may have changed. If others give the part new arrays again and again, it does so a few times until
// something is added. It does nothing inside a transaction, whose pages are made before it runs, nor in a
// cluster, where every node makes its own.
func (t Turn) Touched(p *contents.Part, items int) bool {
	if !p.Untouched() || items <= 1 && !p.Scattered() || t.s.alone || t.e.shared != nil || t.s.touches == maxTouches || items <= p.FewItems() {
		return false
	}
	t.s.touches++
	t.s.gaveUp = !t.e.touch(t.s, []*contents.Part{p}, nil)
	return true
}

// Weigh says that so many items were looked at inside the gate.
func (t Turn) Weigh(items int) { t.s.weight += items }

// Meter notes the filter that the bundle is on, for its health.
func (t Turn) Meter(entry *catalog.Entry) { t.s.filter = entry.ID }

// Looked counts n more reads that have found their key.
func (t Turn) Looked(n int) { t.e.notes.Counters.Looked(&t.s.Client, true, n) }

// Find returns what the key of a call stands for. If there is none, or it is of another
// kind, it returns nil: the call is answered, or run again.
func (t Turn) Find(c *Call) *catalog.Entry {
	if held := t.e.state.Holdings(); held != t.s.held && held != nil && t.e.far(t.s, []Call{*c}) {
		c.Fail(textMoved)
		return nil
	}
	return t.e.find(t.s, c)
}

// Answers reports whether this node can answer for all of an entry: others may hold it.
func (t Turn) Answers(entry *catalog.Entry) bool {
	return t.e.state.Holdings() == nil || t.e.answers(entry)
}

// Op returns an op that is the caller's until it is settled.
func (t Turn) Op() *Op { return t.s.w.takeOp() }

// Put adds the record of calls to those that Order puts in order.
func (t Turn) Put(calls []Call, op *Op) { t.s.w.spans = append(t.s.w.spans, Span{calls, op}) }

// Order puts the records in order that Put has added, and answers the calls of those that
// are settled. The others wait.
func (t Turn) Order() {
	t.s.touches = 0
	w := t.s.w
	spans := w.spans
	w.spans, w.refs = w.spans[:0], w.refs[:0]
	for i := range spans {
		w.refs = append(w.refs, &spans[i].Op.Op)
	}
	t.e.do(t.s, w.refs)
	for _, v := range spans {
		if v.Op.Settled {
			v.Calls[0].cmd.On.Settled(t, v)
			continue
		}
		for i := range v.Calls {
			v.Calls[i].waiting = !v.Calls[i].answered
		}
		w.pending = append(w.pending, v)
	}
}

// ApplyNew is Apply for an op that makes something, of what it costs. The error is that there is no memory for it.
func (t Turn) ApplyNew(op *Op) error {
	if err := t.e.setAside(t.s, op); err != nil {
		return err
	}
	t.Apply([]*door.Op{&op.Op})
	t.e.giveBack(op)
	return nil
}

// Apply puts ops in order and waits for them, outside the gate if that takes time.
func (t Turn) Apply(ops []*door.Op) {
	t.s.touches = 0
	t.e.doAndWait(t.s, ops)
}

// ApplyAnywhere is Apply for records of parts that other machines may hold: see [Contents.ApplyAll].
func (t Turn) ApplyAnywhere(ops []*door.Op) { t.e.doAnywhere(t.s, ops, false) }

// Settle waits for all records that are on their way and answers their calls.
func (t Turn) Settle() { t.e.settle(t.s) }

// Unsettled answers a record that was not kept, or of which nobody knows.
func (t Turn) Unsettled(err error) answer.Reply { return t.e.unsettled(err) }

// Born notes that an op has made a filter.
func (t Turn) Born(op *Op) { t.e.born(&op.Op) }
