package engine

// Transactions over a door that other machines share.

import (
	"errors"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// group is the records of a transaction over a door that other machines share, which take
// effect together, as [door.Grouper] has it. Nothing here keeps
// their records out, so it goes as one message.
//
// Its commands are prepared on the present state. Those that answer without a record,
// while none stands before them, answer for good: conditions in front of the message
// ask that names and strings are still what they were. Reads behind a record are run
// when that is applied.
type group struct {
	calls []Call
	costs *Costs
	call  *Call           // the one that is prepared
	ops   []*door.Op      // records
	size  int             // bytes that they take
	keys  map[string]bool // of the calls that have made them
	all   bool            // one of these names no key: it is about all
	looks map[string]watched
	reads map[*door.Op][]int // calls that are run when an op was applied
	why   string             // it cannot be one message
}

// maxTries is how often a transaction is prepared again because its keys have
// changed meanwhile.
const maxTries = 16

// Why a transaction is not done in a cluster.
const (
	textGroup = "EXECABORT Transaction discarded: in a cluster it is one message, and "
	textSteps = " cannot be part of one: filters have to be there, of one part, and a command takes 256 items at most"
	textMerge = " cannot be part of one: a merge reads sketches that others may change before the message is applied"
	textSeen  = " depends on a key that the commands before it change"
	textMixed = "it changes more than one filter, or a filter and names or strings"
	textWatch = "a transaction that changes names or strings can watch no filter, and one that changes a filter nothing but that, if it has one part"
	// textApart follows all of them: pipelines of Python clients are transactions unless
	// they are told otherwise.
	textApart = "; without MULTI the commands are done one by one (redis-py: pipeline(transaction=False))"
	textGrown = "TRYAGAIN Other clients have made keys larger meanwhile, and this would take too long in a transaction; what stands before it was done"
	textAgain = "TRYAGAIN Other clients have changed the keys of this transaction meanwhile: nothing of it was done, send it again"
)

// take collects ops.
func (g *group) take(ops []*door.Op) {
	for _, op := range ops {
		op.Settled, op.Err = false, nil
		g.size += op.Record.Bound()
	}
	g.ops = append(g.ops, ops...)
}

// refuse notes why the transaction cannot be one message. The first reason counts.
func (g *group) refuse(text string) {
	if g.why == "" {
		g.why = text
	}
}

// refuseCall is refuse because of the call that is prepared.
func (g *group) refuseCall(text string) { g.refuse("'" + answer.Lower(g.call.Args[0]) + "'" + text) }

// commitGroup runs the queued commands as one group. It answers c if that could not
// be done.
func (e *Engine) commitGroup(s *Session, c *Call, calls []Call, costs *Costs) {
	fresh, watches := slices.Clone(calls), s.watches
	s.multi = false
	for range maxTries {
		if text := costs.TooMuch(); text != "" {
			c.Fail(text)
			return
		}
		if e.tryGroup(s, c, calls, watches, costs) {
			return
		}
		unread(calls)
		copy(calls, fresh) // nothing of them was done
		if c.answered {
			return
		}
	}
	c.Fail(textAgain)
}

// unread lets go what reads of calls have kept for replies that are not needed.
func unread(calls []Call) {
	for i := range calls {
		if c := &calls[i]; c.finish != nil && c.cmd != nil && !c.cmd.writes() {
			_ = c.finish()
		}
	}
}

// tryGroup runs the queued commands once. It reports false if nothing was done, and
// has answered c then, unless keys have changed meanwhile.
func (e *Engine) tryGroup(s *Session, c *Call, calls []Call, watches map[string]watched, costs *Costs) bool {
	if e.changed(s, watches) {
		c.Answer(answer.Reply{Kind: answer.NullArray})
		return false
	}
	g := &group{calls: calls, costs: costs, keys: map[string]bool{}, looks: map[string]watched{}, reads: map[*door.Op][]int{}}
	outer, quit := s.w, s.Quit
	s.w, s.group, s.alone = &Workspace{}, g, true
	defer func() { s.w, s.group, s.alone = outer, nil, false }()
	for i := range calls {
		if g.why != "" {
			break // it is refused, whatever follows
		}
		if s.Ended() {
			c.Fail(answer.TextStopped)
			e.dropPending(s)
			return false
		}
		s.Quit = false
		e.collectCall(s, g, i)
		if err := e.tooLong(g.size); err != nil {
			g.refuse(answer.OneLine(err))
		}
		quit = quit || s.Quit
	}
	if s.Quit = quit; len(g.ops) == 0 && g.why == "" {
		return !e.changed(s, g.looks)
	}
	if !e.sendGroup(s, c, g, watches) {
		e.dropPending(s)
		return false
	}
	s.group, s.alone = nil, false // what is left to do is done as if it stood alone
	pending := s.w.pending
	s.w.pending = nil
	for _, v := range pending {
		e.answer(s, v)
	}
	for _, v := range pending {
		e.again(s, v.Calls)
	}
	e.settle(s)
	return true
}

// changed reports whether a key is not what it was.
func (e *Engine) changed(s *Session, before map[string]watched) bool {
	for key, was := range before {
		switch entry, deadline := e.state.Names.Deadline([]byte(key), s.ms); {
		case entry == nil && was.id == 0:
		case entry == nil || entry.ID != was.id, lookAt(entry, deadline) != was: // another may have more parts
			return true
		}
	}
	return false
}

// dropPending gives up what was prepared.
func (e *Engine) dropPending(s *Session) {
	for _, v := range s.w.pending {
		e.Budget.Release(v.Op.Cost)
	}
	s.w.pending = nil
}

// collectCall prepares a call of a group. A read behind a record is left for later.
func (e *Engine) collectCall(s *Session, g *group, i int) {
	c := &g.calls[i]
	g.call = c
	if c.barred {
		return
	}
	cmd, own := e.table.resolve(c.Args), c.cmd
	if had := len(g.ops); had > 0 && !cmd.writes() {
		g.reads[g.ops[had-1]] = append(g.reads[g.ops[had-1]], i)
		return
	}
	c.cmd = cmd
	pending := len(s.w.pending)
	touched := pending > 0 && len(cmd.Keys) == 0
	before := map[string]watched{}
	cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
		key := string(c.Args[i])
		before[key] = e.look(s, c.Args[i])
		touched = touched || g.all || g.keys[key]
	})
	had, held := len(g.ops), s.replyBytes
	e.run(s, g.calls[i:i+1])
	if len(s.w.pending) > pending {
		g.all = g.all || len(cmd.Keys) == 0
		for key := range before {
			g.keys[key] = true
		}
	}
	e.keepReply(s, c, held)
	if c.cmd == nil {
		c.cmd = own // it was refused: After cleans up behind Before all the same
	}
	switch {
	case len(g.ops) > had && !(touched && g.ops[had].Record.Creates()) && cmd.Flags&traits.Derived == 0, c.finish != nil && !touched:
	case touched: // it was answered, or prepared, for what the key was before
		g.refuseCall(textSeen)
	default:
		for key, was := range before {
			if _, ok := g.looks[key]; !ok {
				g.looks[key] = was
			}
		}
	}
}

// sendGroup sends a group and waits for it. It reports false if nothing of it was
// done, or if nobody knows; then it has answered, unless a condition did not hold.
func (e *Engine) sendGroup(s *Session, c *Call, g *group, watches map[string]watched) bool {
	var ops []*door.Op
	if g.why == "" {
		ops = append(e.expectations(s, g, watches), g.ops...)
	}
	if g.why != "" {
		c.Fail(textGroup + g.why + textApart)
		return false
	}
	// Keys may be larger than when it was sent. That is asked once, since it takes as long as there are names: the gate is
	// closed from then on, and what the group itself makes larger is counted.
	grown := sync.OnceValue(func() bool { return g.costs.TooMuch() != "" })
	for op, list := range g.reads {
		op.Applied = func() {
			for _, i := range list {
				if grown() {
					g.calls[i].Fail(textGrown)
					continue
				}
				held := s.replyBytes
				e.run(s, g.calls[i:i+1])
				e.keepReply(s, &g.calls[i], held)
			}
		}
	}
	if err := e.doGroup(ops); err != nil {
		if c.Answer(e.unsettled(err)); errors.Is(err, door.ErrGroup) || errors.Is(err, refusal.ErrTooLong) {
			c.Fail(textGroup + answer.OneLine(err) + textApart)
		}
		return false
	}
	away := e.awaits(s, "wait for a group")
	e.door.Wait(ops)
	e.back(s, away)
	for _, op := range ops {
		if op.Err != nil {
			c.Answer(e.unsettled(op.Err))
			return false
		}
	}
	for _, op := range ops {
		if op.Record.Expects() && op.Result.Err != nil {
			return false
		}
	}
	return true
}

// expectations returns the conditions of a group. What they cannot ask for refuses it.
func (e *Engine) expectations(s *Session, g *group, watches map[string]watched) []*door.Op {
	first := &g.ops[0].Record
	for _, op := range g.ops {
		if r := &op.Record; r.Part() != first.Part() || r.Part() && (r.ID != first.ID || r.Index != first.Index) {
			g.refuse(textMixed)
			return nil
		}
	}
	var list []*door.Op
	add := func(r store.Record) {
		r.At = s.ms
		list = append(list, &door.Op{Record: r, Part: g.ops[0].Part})
	}
	for key, was := range watches {
		parts := e.partsOf(was.id)
		switch {
		case first.Part() && was.id == first.ID && parts == 1:
			add(store.Record{ID: first.ID, Body: &store.ExpectPart{Version: was.version}})
		case first.Part() || parts > 0:
			g.refuse(textWatch)
		default:
			add(store.Record{Body: &store.Expect{Name: []byte(key), ID: was.id, Deadline: was.deadline}})
		}
	}
	for key, was := range g.looks {
		parts := e.partsOf(was.id)
		switch {
		case !first.Part():
			add(store.Record{Body: &store.Expect{Name: []byte(key), ID: was.id, Deadline: was.deadline}})
		case was.id == first.ID && parts == 1:
			add(store.Record{ID: first.ID, Body: &store.ExpectPart{Version: was.version}})
		}
	}
	return list
}

// partsOf returns how many parts the entry of an id has: 0 if it is a string or gone.
func (e *Engine) partsOf(id uint64) int {
	if entry := e.state.Names.ByID(id); entry != nil {
		return contents.PartCount(entry)
	}
	return 0
}
