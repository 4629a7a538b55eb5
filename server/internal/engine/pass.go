package engine

// Calls that other machines run.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// passing is calls on the same keys, which follow each other, for another machine to run.
type passing struct {
	calls []Call
	nodes []uint32 // that hold all that they are about, the nearest first
	lanes []int    // of that

	// whole is the call that they are a part of, nil if they are whole, and items which of its items
	// they are about. body, if there is one, is the encoding of a call that has no items yet.
	whole *whole
	items []uint32
	body  []byte

	fewer bool // other machines hold some of it
	// place is how far the names were at a machine that did not hold it, and avoid those
	// that have not answered.
	place door.Answer
	avoid []uint32
	down  error // why none of its nodes has answered. Nothing was done
}

// question is calls that one machine is asked to run together, in order.
type question struct {
	door.Question
	nodes []uint32 // that hold all that it is about
	calls []*Call
	of    []*passing  // of each call
	only  bool        // every call has these nodes and no others
	again bool        // a call of it was asked in vain before
	begun door.Asking // nil if it is not on its way
}

const (
	textTooLong = "ERR the command has %d bytes, and nodes pass on %d at most: send it to a node that holds the contents: %s"
	textAnswer  = "ERR the answer has %d bytes, and nodes pass on %d at most: ask a node that holds the contents: %s"
	textDone    = "ERR the command was done, and its answer of %d bytes is not passed on between nodes: they pass on %d at most"
	textMoving  = "CLUSTERDOWN contents of this key are being moved between nodes: send it again"
	// mostAhead is how many bytes of calls memory is taken for ahead.
	mostAhead = 64 << 10
	// mostLooks is how often a call is passed on because of a move, or of nodes that are silent.
	mostLooks = 16
)

// ask has other machines run calls. Those to one machine are one question, as far as they fit
// into one; several machines are asked at the same time. Calls that are left without an answer
// have to be looked at again.
func (e *Engine) ask(passed []*passing) {
	var lists [][]*question // by machine
	for _, p := range passed {
		at := -1
		for i := range p.calls {
			if at < 0 || p.calls[i].looks > 0 {
				lists, at = listOf(lists, p, &p.calls[i])
			}
			lists[at] = e.add(lists[at], p, i)
		}
	}
	for _, list := range lists {
		e.begin(list[0])
	}
	// Most answer soon: then there is no need of further goroutines.
	var others sync.WaitGroup
	for i, list := range lists {
		if i == len(lists)-1 || len(list) == 1 && list[0].soon() {
			e.askList(list)
		} else {
			others.Go(func() { e.askList(list) })
		}
	}
	others.Wait()
}

// begin asks a question, of which askOne awaits the answer.
func (e *Engine) begin(q *question) {
	if len(q.calls) == 0 {
		return
	}
	// Once more is enough: then all that hold it are asked, and those who were slow are waited for.
	if !q.again && !q.only && !q.Writes {
		q.Patience = door.HedgeAfter
	}
	q.begun = e.router.Begin(q.nodes, &q.Question)
}

// soon waits for the answer to a question, though not for long, and reports whether it is there.
func (q *question) soon() bool { return q.begun == nil || q.begun.Soon() }

// listOf returns which of the lists has the questions of the machine of a call. One that was asked in vain is asked of
// all that hold it: others that only some of them hold do not join it.
func listOf(lists [][]*question, p *passing, c *Call) ([][]*question, int) {
	at := slices.IndexFunc(lists, func(l []*question) bool {
		if c.looks > 0 || l[0].again {
			return slices.Equal(l[0].nodes, p.nodes)
		}
		return slices.Contains(p.nodes, l[0].nodes[0])
	})
	if at < 0 {
		at = len(lists)
		lists = append(lists, []*question{{nodes: p.nodes, only: !p.fewer}})
	}
	return lists, at
}

// add adds a call to the questions of its machine.
func (e *Engine) add(list []*question, p *passing, i int) []*question {
	c := &p.calls[i]
	size, room := len(p.body), roomOf(c, len(c.Args)+len(p.items))
	if p.body == nil {
		size = callSize(c.Args)
	}
	if size > door.MaxQuestion-binary.MaxVarintLen64 {
		c.Fail(fmt.Sprintf(textTooLong, size, door.MaxQuestion, e.nodesNamed(p.nodes)))
		return list
	}
	q := list[len(list)-1]
	if len(q.calls) > 0 && (len(q.Body)+size > door.MaxQuestion-binary.MaxVarintLen64 || q.Room+room > door.MaxQuestion) {
		q = &question{nodes: p.nodes, only: !p.fewer}
		list = append(list, q)
	}
	if len(q.of) == 0 || q.of[len(q.of)-1] != p {
		q.join(p, len(p.calls)-i)
	}
	switch {
	case p.body == nil:
		if q.Body == nil {
			q.Body = make([]byte, 0, min(size*(len(p.calls)-i), mostAhead))
		}
		q.Body = appendCall(q.Body, c.Args)
	case q.Body == nil:
		q.Body = p.body
	default:
		q.Body = append(q.Body, p.body...)
	}
	q.Room = min(q.Room+room, door.MaxQuestion)
	q.Writes, q.again = q.Writes || c.cmd.writes(), q.again || c.looks > 0
	q.calls, q.of = append(q.calls, c), append(q.of, p)
	return list
}

// join makes a question one about what calls of p are about, too, of which so many follow.
func (q *question) join(p *passing, calls int) {
	if !slices.Equal(q.nodes, p.nodes) {
		q.nodes, q.only = common(q.nodes, p.nodes), false
	}
	q.only = q.only && !p.fewer
	for _, lane := range p.lanes {
		if !slices.Contains(q.Lanes, lane) {
			q.Lanes = append(q.Lanes, lane)
		}
	}
	q.calls, q.of = slices.Grow(q.calls, calls), slices.Grow(q.of, calls)
}

// common returns the machines of a that are in b.
func common(a, b []uint32) []uint32 {
	if !slices.ContainsFunc(a, func(n uint32) bool { return !slices.Contains(b, n) }) {
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(n uint32) bool { return !slices.Contains(b, n) })
}

// roomOf returns how long the answer to a call of so many arguments may be. A longer one of a read is asked for
// again.
func roomOf(c *Call, args int) int {
	switch {
	case c.cmd.writes() && c.cmd.Group == traits.GroupTopK: // it answers items
		return door.MaxQuestion
	case c.cmd.OnePart != nil: // it answers all of it
		return door.MaxQuestion
	case c.cmd.On != nil:
		return 256 + 16*args
	}
	return 8<<10 + 64*args
}

// askList asks the questions for one machine, one after the other.
func (e *Engine) askList(list []*question) {
	moved := false
	for _, q := range list {
		if moved || len(q.calls) == 0 {
			continue // calls that stand in front are run again first
		}
		moved = !e.askOne(q)
	}
}

// askOne asks a question, and answers its calls. It reports false if one of them is to be looked
// at again.
func (e *Engine) askOne(q *question) bool {
	if q.begun == nil {
		e.begin(q)
	}
	a, err := q.begun.Answer()
	if err != nil && !q.again && !q.only && (!q.Writes || errors.Is(err, door.ErrDown)) {
		for i, p := range q.of {
			p.avoid = q.nodes // others hold some of it
			q.calls[i].looks++
		}
		return false
	}
	if err == nil {
		err = q.read(a)
	}
	if errors.Is(err, door.ErrDown) {
		for i, p := range q.of {
			p.down = err
			q.calls[i].looks = max(q.calls[i].looks, 1)
		}
		return false
	}
	if err != nil {
		return q.fail(e, err)
	}
	here := true
	for i, c := range q.calls {
		if !c.answered {
			here = e.askLong(q.of[i], c) && here
		}
	}
	return here
}

// askLong asks for the answer of a read alone that was too long among others. It reports
// false if the call is to be looked at again.
func (e *Engine) askLong(p *passing, c *Call) bool {
	size := c.Reply.N
	if c.Reply.Kind != answer.Int || size <= 0 {
		return false
	}
	c.Reply.Kind = answer.None
	if p.body != nil {
		p.unfold()
	}
	if size > door.MaxQuestion-binary.MaxVarintLen64 {
		c.Fail(fmt.Sprintf(textAnswer, size, door.MaxQuestion, e.nodesNamed(p.nodes)))
		return true
	}
	q := &question{nodes: p.nodes, only: true, calls: []*Call{c}, of: []*passing{p}}
	q.Question = door.Question{Lanes: p.lanes, Body: appendCall(nil, c.Args), Room: door.MaxQuestion}
	a, err := e.router.Ask(q.nodes, &q.Question)
	if err == nil {
		err = q.read(a)
	}
	switch {
	case err != nil:
		q.fail(e, err)
	case !c.answered && c.Reply.Kind == answer.Int: // it has grown
		c.Fail(fmt.Sprintf(textAnswer, c.Reply.N, door.MaxQuestion, e.nodesNamed(p.nodes)))
	}
	return c.answered
}

// fail answers calls that were not run, or of which nobody knows. Reads that were asked for the first time, together with writes,
// are left: they can be asked of others. It reports false then.
func (q *question) fail(e *Engine, err error) (all bool) {
	all = true
	for _, c := range q.calls {
		switch {
		case c.answered:
		case !q.again && q.Writes && !c.cmd.writes():
			c.looks++
			all = false
		default:
			c.unanswered(e, err)
		}
	}
	return all
}

// unanswered is the answer to a call that another machine has not answered.
func (c *Call) unanswered(e *Engine, err error) {
	if c.cmd.writes() && errors.Is(err, door.ErrUnknown) {
		c.Answer(e.unsettled(err))
		return
	}
	c.Fail("CLUSTERDOWN " + strings.ToUpper(c.cmd.Name) + " has to be answered by another node, and none does (" + refusal.Cause(err) + ")")
}

// What stands before the answer to a call.
const (
	wasRun     = iota // its reply follows
	wasNotHere        // it was not run: the contents are not here
	wasTooLong        // the reply does not fit: its length follows
)

// read answers calls as another machine has. Those that were not run have no answer then; nor
// have reads whose answer is too long, whose Reply is its length.
func (q *question) read(a door.Answer) error {
	rest := a.Body
	for i, c := range q.calls {
		if len(rest) == 0 {
			return fmt.Errorf("%w: an answer that cannot be read", door.ErrUnknown)
		}
		was := rest[0]
		rest = rest[1:]
		switch was {
		case wasNotHere:
			c.looks++
			if p := q.of[i]; p.place.Place < a.Place {
				p.place.Place = a.Place
			}
			continue
		case wasTooLong:
			size, n := binary.Uvarint(rest)
			if n <= 0 {
				return fmt.Errorf("%w: an answer that cannot be read", door.ErrUnknown)
			}
			rest = rest[n:]
			if c.cmd.writes() {
				c.Fail(fmt.Sprintf(textDone, size, door.MaxQuestion))
			} else {
				c.Reply.Kind, c.Reply.N = answer.Int, int64(size)
			}
			continue
		}
		behind, err := c.Reply.Read(rest)
		if err != nil {
			c.Reply = answer.Reply{}
			return fmt.Errorf("%w: %w", door.ErrUnknown, err)
		}
		c.answered, rest = true, behind
	}
	return nil
}

// answered ends what ask has begun: calls that were asked of machines which do not hold the
// contents any more are looked at again, when it is known here who does. So are those that nobody has answered, as long
// as one of the machines that hold it counts as live: it may be starting.
func (e *Engine) answered(s *Session, passed []*passing) {
	isDown := func(p *passing) bool { return p.down != nil }
	over := slices.ContainsFunc(passed, isDown) && !e.askAgain(s)
	for _, p := range passed {
		again := false
		for i := range p.calls {
			c := &p.calls[i]
			c.waiting = false
			switch {
			case c.answered:
			case over && p.down != nil:
				c.unanswered(e, p.down)
			case c.looks > mostLooks:
				c.Fail(textMoving)
			}
			again = again || !c.answered
			if n := c.Reply.Bytes(); n > freeReply && !c.cmd.writes() && !e.holdReply(s, n) {
				c.Fail(answer.TextOOM)
			}
		}
		if !again {
			continue
		}
		if p.body != nil {
			p.unfold()
		}
		s.avoid = append(s.avoid, p.avoid...)
		p.avoid = nil
		if err := e.router.Follow(p.place); err != nil {
			for i := range p.calls {
				if c := &p.calls[i]; !c.answered {
					c.Answer(e.unsettled(err))
				}
			}
			continue
		}
		e.again(s, p.calls)
	}
}

// askAgain waits for a moment, and reports whether machines that were asked in vain are to be asked again. All that a client
// sends together waits once, as long as an answer may take: a pipeline is not held up by each of its calls. What it sends
// next does not wait again until it has sent something of which nothing was asked in vain. Nobody waits for a client that has
// left, nor when the server ends, nor while another machine waits for this one.
func (e *Engine) askAgain(s *Session) bool {
	e.leave(s)
	defer e.back(s, e.awaits(s, "other machines"))
	if s.silent.IsZero() {
		s.silent = time.Now()
	}
	s.waited = true
	return !s.helps && !e.ends.Load() && !s.left() && e.router.Again(s.silent)
}

// Ends has no call wait for machines that are starting: the server ends.
func (e *Engine) Ends() { e.ends.Store(true) }

// callSize returns how long appendCall makes a call, at most.
func callSize(args [][]byte) int {
	n := binary.MaxVarintLen32
	for _, a := range args {
		n += binary.MaxVarintLen32 + len(a)
	}
	return n
}

// appendCall appends the arguments of a call.
func appendCall(b []byte, args [][]byte) []byte {
	return appendHead(b, args, 0)
}

// appendHead appends the first arguments of a call, of which so many follow.
func appendHead(b []byte, args [][]byte, more int) []byte {
	b = binary.AppendUvarint(b, uint64(len(args)+more))
	for _, a := range args {
		b = appendArg(b, a)
	}
	return b
}

func appendArg(b, arg []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(arg))), arg...)
}
