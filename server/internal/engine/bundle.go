package engine

// How calls on one key that follow each other run together, on filters and on sketches.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Bundled is what is left to a kind of command that is run in bundles: package bundle has
// those on filters and on sketches. Everything around it is the same for both: calls are
// gathered, what their key stands for is looked up inside the gate, and their records are
// put in order.
type Bundled interface {
	// Bundling says what the engine has to know of the command. It is asked once.
	Bundling() Bundling
	// Cost adds what a call costs in a transaction.
	Cost(x *Costs, c *Call)
	// Unfit answers a call whose key stands for nothing, or for something else than the
	// command is for; or it makes what the key is to stand for.
	Unfit(t Turn, c *Call, entry *catalog.Entry)
	// Run answers calls on an entry, or puts their records in order. Those that it leaves
	// without an answer are run again.
	Run(t Turn, entry *catalog.Entry, calls []Call)
	// RunPieces runs one call, of which something is done already, or which has more than
	// Most items.
	RunPieces(t Turn, calls []Call)
	// Settled answers calls from the result of their record. Those that it leaves without
	// an answer are run again.
	Settled(t Turn, v Span)
}

// Bundling is what the engine has to know of a command that is run in bundles.
type Bundling struct {
	Family *Family
	// Layers, if there is one, is the family of layers over filters, which the command asks, too.
	Layers *Family
	// Parse, if there is one, sets the items of a call, or answers; without one they are
	// all arguments behind the key.
	Parse func(*Context, *Call)
	// Early, if there is one, answers if the arguments are wrong. It is called once,
	// however often the call is run.
	Early func(*Call)
	// Stride is how many arguments an item has, Most how many items are run at once.
	Stride, Most int
	// Joins reports that calls of other commands of the family may be in one bundle.
	Joins   bool
	Single  bool // it is answered by a single value
	Records bool // its calls make records
	Adds    bool // it adds items
	Work    health.Work
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
		if calls[n].filter != c.filter || len(args) != len(first) || string(args[1]) != string(first[1]) || string(args[0]) != string(first[0]) {
			break
		}
		calls[n].cmd = c.cmd
	}
	return n
}

// joins reports whether next belongs to the bundle that c begins: it is of the same
// command on the same key, or both are on the same filter and read or write.
func (e *Engine) joins(s *Session, c, next *Call) bool {
	if len(next.Args) < 2 || len(c.Args) < 2 || next.filter != c.filter || c.cmd.Flags&traits.Heavy != 0 || string(next.Args[1]) != string(c.Args[1]) {
		return false
	}
	if string(next.Args[0]) == string(c.Args[0]) {
		next.cmd = c.cmd
		return c.cmd.Takes(len(next.Args))
	}
	if !c.cmd.bundling.Joins {
		return false
	}
	cmd := e.table.Lookup(next.Args[0])
	next.cmd = cmd
	if cmd == nil || !cmd.bundling.Joins || !cmd.Takes(len(next.Args)) {
		return false
	}
	if cmd != c.cmd && !s.Rights().All() && !cmd.allowed(nil, s.Rights(), next.Args) {
		return false // it is refused on its own
	}
	return cmd.bundling.Family == c.cmd.bundling.Family && cmd.bundling.Records == c.cmd.bundling.Records &&
		cmd.Flags&(traits.Heavy|traits.DenyOOM) == c.cmd.Flags&(traits.Heavy|traits.DenyOOM)
}

// runBundle runs a bundle: calls of one kind on one key, all reading or all writing.
func (e *Engine) runBundle(s *Session, calls []Call) {
	for i := range calls {
		if c := &calls[i]; c.cmd.bundling.Parse != nil && !c.Hashed() {
			c.cmd.bundling.Parse(&s.ctx, c)
		} else {
			c.Items = c.Args[2:]
		}
	}
	if s.Rights().AddRate() > 0 {
		for i := range calls {
			if c := &calls[i]; !c.answered && c.cmd.bundling.Adds {
				e.charge(s, c, c.Count())
			}
		}
	}
	if early := calls[0].cmd.bundling.Early; early != nil {
		for i := range calls {
			if c := &calls[i]; !c.answered {
				early(c)
			}
		}
	}
	e.runCalls(s, calls)
}

// runCalls runs the calls of a bundle that are not answered and not waiting.
func (e *Engine) runCalls(s *Session, calls []Call) {
	most := calls[0].cmd.bundling.Most
	for i := 0; i < len(calls); {
		if calls[i].answered || calls[i].waiting {
			i++
			continue
		}
		if s.gaveUp {
			calls[i].Fail(answer.TextStopped)
			continue
		}
		n := i + 1
		for items := len(calls[i].Items); n < len(calls); n++ {
			c := &calls[n]
			if items += len(c.Items); c.answered || c.waiting || c.Pieces != nil || items > most {
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
	if !e.here(s, calls) {
		return
	}
	if c.Pieces != nil || len(c.Items) > c.cmd.bundling.Most {
		c.cmd.On.RunPieces(Turn{e, s}, calls[:1])
		return
	}
	e.enter(s)
	if entry := e.find(s, c); entry != nil {
		c.cmd.On.Run(Turn{e, s}, entry, calls)
	}
}

// find returns what the key of a call stands for. If there is none, or it is of another
// kind, it returns nil: the call is answered, or run again.
func (e *Engine) find(s *Session, c *Call) *catalog.Entry {
	entry := e.state.Names.Lookup(c.Args[1], s.ms)
	if c.Hashed() && (entry == nil || entry.ID != c.filter) {
		s.passes = s.helps
		c.Fail(textNotHere)
		return nil
	}
	if !c.cmd.bundling.Records && !c.looked {
		c.looked = true // each piece of a call finds its key again
		e.notes.Counters.Looked(&s.Client, entry != nil, 1)
	}
	if entry == nil || entry.Kind != c.cmd.bundling.Family.Kind {
		c.cmd.On.Unfit(Turn{e, s}, c, entry)
		return nil
	}
	if e.state.Holdings() != nil && !e.answers(entry) && !splits(c, entry) {
		return nil // since here has looked
	}
	return entry
}

// doAndWait puts ops in order and waits for them, outside the gate if that takes time.
func (e *Engine) doAndWait(s *Session, ops []*door.Op) {
	e.do(s, ops)
	for _, op := range ops {
		if !op.Settled {
			e.leave(s)
			away := e.awaits(s, "wait for records")
			e.wait(s, ops)
			e.back(s, away)
			return
		}
	}
}
