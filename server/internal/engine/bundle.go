package engine

// How calls on one key that follow each other run together, on filters and on sketches.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// bundled is what is left to a kind of command that is run in bundles: [OnFilter] and
// [OnSketch]. Everything around it is the same for both: calls are gathered, what their
// key stands for is looked up inside the gate, their records are put in order, and calls
// of very many items are run in pieces.
type bundled interface {
	// unfit answers a call whose key stands for nothing, or for something else than the
	// command is for; or it makes what the key is to stand for.
	unfit(e *Engine, s *Session, c *Call, entry *catalog.Entry)
	// run answers calls on an entry, or puts their records in order. Those that it leaves
	// without an answer are run again.
	run(e *Engine, s *Session, entry *catalog.Entry, calls []Call)
	// begin makes room for the answers of a call that is run in pieces. It reports false
	// if it has answered.
	begin(e *Engine, s *Session, c *Call, v *pieces) bool
	// piece runs the next piece of a call.
	piece(e *Engine, s *Session, entry *catalog.Entry, calls []Call, v *pieces)
	// finish answers a call of which no piece is left, or one has failed.
	finish(w *Workspace, c *Call, v *pieces)
	// settled answers calls from the result of their record. Those that it leaves without
	// an answer are run again.
	settled(e *Engine, w *Workspace, v span)
}

// gather returns how many calls, from the first on, make one bundle.
func (e *Engine) gather(s *Session, calls []Call) int {
	n := alike(calls)
	for n < len(calls) && e.joins(s, &calls[0], &calls[n]) {
		n++
	}
	return n
}

// alike returns how many calls, from the first on, are of one command on one key, with
// equally many arguments: most pipelines. They make one bundle.
func alike(calls []Call) int {
	c := &calls[0]
	first, n := c.Args, 1
	if len(first) < 2 || c.cmd.Flags&traits.Heavy != 0 {
		return n
	}
	for ; n < len(calls); n++ {
		args := calls[n].Args
		if len(args) != len(first) || string(args[1]) != string(first[1]) || string(args[0]) != string(first[0]) {
			break
		}
		calls[n].cmd = c.cmd
	}
	return n
}

// joins reports whether next belongs to the bundle that c begins: it is of the same
// command on the same key, or both are on the same filter and read or write.
func (e *Engine) joins(s *Session, c, next *Call) bool {
	if len(next.Args) < 2 || len(c.Args) < 2 || c.cmd.Flags&traits.Heavy != 0 || string(next.Args[1]) != string(c.Args[1]) {
		return false
	}
	if string(next.Args[0]) == string(c.Args[0]) {
		next.cmd = c.cmd
		return c.cmd.Takes(len(next.Args))
	}
	if c.cmd.Filter == nil {
		return false
	}
	cmd := e.table.Lookup(next.Args[0])
	next.cmd = cmd
	if cmd == nil || cmd.Filter == nil || !cmd.Takes(len(next.Args)) {
		return false
	}
	if cmd != c.cmd && !s.Rights().All() && !cmd.allowed(s.Rights(), next.Args) {
		return false // it is refused on its own
	}
	return cmd.family == c.cmd.family && cmd.records == c.cmd.records &&
		cmd.Flags&(traits.Heavy|traits.DenyOOM) == c.cmd.Flags&(traits.Heavy|traits.DenyOOM)
}

// runBundle runs a bundle: calls of one kind on one key, all reading or all writing.
func (e *Engine) runBundle(s *Session, calls []Call) {
	for i := range calls {
		if c := &calls[i]; c.cmd.Filter != nil && c.cmd.Filter.Parse != nil {
			c.cmd.Filter.Parse(&s.ctx, c)
		} else {
			c.Items = c.Args[2:]
		}
	}
	if s.Rights().AddRate() > 0 {
		for i := range calls {
			if c := &calls[i]; !c.answered && c.cmd.adds {
				e.charge(s, c, c.count())
			}
		}
	}
	if k := calls[0].cmd.Sketch; k != nil && k.Early != nil {
		for i := range calls {
			if c := &calls[i]; !c.answered {
				k.Early(c)
			}
		}
	}
	e.runCalls(s, calls)
}

// count returns the number of items of a call.
func (c *Call) count() int {
	if c.cmd.Sketch != nil {
		return c.cmd.Sketch.count(c)
	}
	return len(c.Items)
}

// runCalls runs the calls of a bundle that are not answered and not waiting.
func (e *Engine) runCalls(s *Session, calls []Call) {
	most := calls[0].cmd.most
	for i := 0; i < len(calls); {
		if calls[i].answered || calls[i].waiting {
			i++
			continue
		}
		n := i + 1
		for items := len(calls[i].Items); n < len(calls); n++ {
			c := &calls[n]
			if items += len(c.Items); c.answered || c.waiting || c.pieces != nil || items > most {
				break
			}
		}
		e.runSpan(s, calls[i:n])
	}
}

// runSpan runs calls none of which is answered. It leaves some without an answer if what
// they are on has gone meanwhile; they are run again.
func (e *Engine) runSpan(s *Session, calls []Call) {
	c := &calls[0]
	if len(s.w.pending) > 0 && s.w.touched(c) {
		e.settle(s)
	}
	switch {
	case c.pieces != nil:
		e.runPieces(s, calls[:1], c.pieces)
		return
	case len(c.Items) > c.cmd.most:
		e.runPieces(s, calls[:1], &pieces{})
		return
	}
	e.enter(s)
	if entry := e.find(s, c); entry != nil {
		c.cmd.on.run(e, s, entry, calls)
	}
}

// find returns what the key of a call stands for. If there is none, or it is of another
// kind, it returns nil: the call is answered, or run again.
func (e *Engine) find(s *Session, c *Call) *catalog.Entry {
	entry := e.state.Names.Lookup(c.Args[1], s.ms)
	if !c.cmd.records {
		e.notes.Counters.Looked(&s.Client, entry != nil, 1)
	}
	if entry == nil || entry.Kind != c.cmd.family.Kind {
		c.cmd.on.unfit(e, s, c, entry)
		return nil
	}
	return entry
}

// order puts the records of spans in order and answers the calls of those that are
// settled. The others wait.
func (e *Engine) order(s *Session, spans []span) {
	w := s.w
	w.refs = w.refs[:0]
	for i := range spans {
		w.refs = append(w.refs, &spans[i].op.Op)
	}
	e.do(s, w.refs)
	for _, v := range spans {
		if v.op.Settled {
			v.calls[0].cmd.on.settled(e, w, v)
			continue
		}
		for i := range v.calls {
			v.calls[i].waiting = !v.calls[i].answered
		}
		w.pending = append(w.pending, v)
	}
}

// doAndWait puts ops in order and waits for them, outside the gate if that takes time.
func (e *Engine) doAndWait(s *Session, ops []*door.Op) {
	e.do(s, ops)
	for _, op := range ops {
		if !op.Settled {
			e.leave(s)
			e.waits(s, "wait for records")
			e.wait(s, ops)
			return
		}
	}
}
