package engine

// Op: a record on its way, and what is done around it.

import (
	"errors"
	"sync"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Op is a record on its way, with what the engine does around it.
type Op struct {
	door.Op
	// Cost is how much memory the record may take. It is set aside until the
	// record is applied and the state counts what it took.
	Cost uint64
	// NoMemory is what is answered if there is not so much; "" for OOM.
	NoMemory string

	granted *granted // by other machines, for the record

	// Scratch is for the record of a write to a filter or a sketch.
	Scratch store.Scratch
}

// put puts the op of calls[0] in order. If it is not settled then the call waits,
// and settle answers it.
func (e *Engine) put(s *Session, calls []Call, op *Op) {
	c := &calls[0]
	e.unmake(c) // the cost has it
	if e.mergesOutside(s, op) {
		e.mergeOutside(s, c, op)
		return
	}
	if err := e.setAside(s, op); err != nil {
		if c.Answer(e.unsettled(err)); err == door.ErrMemory && op.NoMemory != "" { //nolint:errorlint // of this machine
			c.Fail(op.NoMemory)
		}
		return
	}
	w := s.w
	w.refs = append(w.refs[:0], &op.Op)
	switch {
	case e.shared == nil:
		e.door.Do(w.refs)
	case merges(op):
		e.doMerge(s, op)
	case c.cmd.Flags&traits.Alone != 0 && s.group == nil:
		e.doAlone(op)
	default:
		e.do(s, w.refs)
	}
	s.weight += op.Record.Weight()
	if op.Settled {
		e.conclude(c, op)
		return
	}
	c.waiting = true
	w.pending = append(w.pending, Span{calls, op})
}

// setAside sets memory aside for an op, here and at other machines. Settled gives it back.
func (e *Engine) setAside(s *Session, op *Op) (err error) {
	switch {
	case e.router != nil && op.Record.Makes():
		op.granted, err = e.grant(s, &op.Op, op.Cost)
	case op.Cost > 0 && !e.Budget.Reserve(op.Cost):
		err = door.ErrMemory
	}
	return err
}

// giveBack gives back what setAside has set aside. A record of which nobody knows may still take it at
// other machines.
func (e *Engine) giveBack(op *Op) {
	if op.Cost > 0 {
		e.Budget.Release(op.Cost)
	}
	if op.granted != nil && !errors.Is(op.Err, door.ErrUnknown) {
		e.ungrant(op.granted)
	}
	op.granted = nil
}

// conclude answers a call whose op is settled, unless it has to be prepared
// again.
func (e *Engine) conclude(c *Call, op *Op) {
	e.giveBack(op)
	if op.Err != nil {
		c.Answer(e.unsettled(op.Err))
		return
	}
	if t, ok := op.Record.Body.(store.Texter); ok && t.Text().Made != "" && errors.Is(op.Result.Err, contents.ErrRetry) {
		return // the string that it was made of has been replaced
	}
	e.born(&op.Op)
	c.cmd.Reply(c, &op.Result)
}

// unsettled answers a record that was not kept, or of which nobody knows.
func (e *Engine) unsettled(err error) answer.Reply { return refusal.Record(e.shared, err) }

// settle waits for all ops that are on their way, and for all calls that other machines run,
// outside the gate, and answers their calls. What has to be prepared again is.
func (e *Engine) settle(s *Session) {
	w := s.w
	if s.group != nil {
		return // it is not sent yet
	}
	for w.underway() {
		e.leave(s)
		away := e.awaits(s, "wait for records")
		pending, passed := w.pending, w.passed
		w.pending, w.passed = nil, nil
		if len(pending) == 0 {
			e.ask(passed)
			e.back(s, away)
			e.answered(s, passed)
			continue
		}
		var asked sync.WaitGroup
		if len(passed) > 0 {
			asked.Go(func() { e.ask(passed) })
		}
		refs := make([]*door.Op, len(pending))
		for i := range pending {
			refs[i] = &pending[i].Op.Op
		}
		e.door.Wait(refs)
		asked.Wait()
		e.back(s, away)
		for i := range pending {
			e.answer(s, pending[i])
		}
		for i := range pending {
			e.again(s, pending[i].Calls)
		}
		e.answered(s, passed)
	}
	s.avoid = nil
	w.merge()
	e.tallyLate(s)
}

// answer answers the calls of a span that waited.
func (e *Engine) answer(s *Session, v Span) {
	for i := range v.Calls {
		v.Calls[i].waiting = false
	}
	if on := v.Calls[0].cmd.On; on != nil {
		on.Settled(Turn{e, s}, v)
		return
	}
	e.conclude(&v.Calls[0], v.Op)
}

// again runs the calls of a span that were left without an answer.
func (e *Engine) again(s *Session, calls []Call) {
	switch {
	case calls[0].cmd.On != nil:
		e.runCalls(s, calls)
	case !calls[0].answered:
		e.perform(s, calls)
	}
}

// underway reports whether a record is on its way, or a call at another machine.
func (w *Workspace) underway() bool { return len(w.pending)+len(w.passed) > 0 }

// touched reports whether a record on its way, or a call at another machine, has to do with
// what a call looks at: one of its keys, or all of them for a command that names none.
func (w *Workspace) touched(c *Call) bool {
	if len(c.cmd.Keys) == 0 {
		return true
	}
	hit := false
	c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
		for j := range w.pending {
			hit = hit || w.pending[j].Calls[0].touches(c.Args[i])
		}
		for _, v := range w.passed {
			hit = hit || v.calls[0].touches(c.Args[i])
		}
	})
	return hit
}

func (c *Call) touches(key []byte) bool {
	if len(c.cmd.Keys) == 0 {
		return true
	}
	hit := false
	c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) { hit = hit || string(c.Args[i]) == string(key) })
	return hit
}
