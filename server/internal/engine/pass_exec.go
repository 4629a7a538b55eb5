package engine

// Transactions that other machines run.

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
)

// Why a transaction is not run by another machine.
const (
	textFar       = "other nodes hold contents that the transaction is about"
	textFarKeys   = textGroup + "no node holds the contents of all of its keys" + textApart
	textFarWatch  = textGroup + "it watches keys, and " + textFar + textApart
	textFarRights = "EXECABORT Transaction discarded: the user may not run all of its commands"
	textWatchFar  = "ERR a filter is watched at a node that holds its contents: "
)

// passBlock has another machine run a transaction, as a whole, if it is about contents that are
// not here. It reports false if this machine runs it.
func (e *Engine) passBlock(s *Session, c *Call, calls []Call) bool {
	if e.state.Holdings() == nil || !e.blockFar(s, calls) {
		return false
	}
	switch {
	case s.helps:
		s.passes = true
		c.Fail(textNotHere)
	case len(s.watches) > 0:
		c.Fail(textFarWatch)
	case slices.ContainsFunc(calls, func(c Call) bool { return c.barred || c.cmd != nil && e.barredFar(s, []Call{c}) }):
		c.Fail(textFarRights)
	case e.charged(s, c, calls):
		e.leave(s)
		away := e.awaits(s, "another machine")
		e.askBlock(s, c, calls)
		e.back(s, away)
	}
	e.discard(s)
	return true
}

// blockFar reports whether commands of a transaction need contents that are not here.
func (e *Engine) blockFar(s *Session, calls []Call) (far bool) {
	for i := range calls {
		c := &calls[i]
		if c.cmd = e.table.resolve(c.Args); c.cmd != nil && c.cmd.inside {
			far = far || e.far(s, calls[i:i+1])
		}
	}
	return far
}

// charged counts what a transaction adds against the rate of its user. It answers and reports
// false if that is too much.
func (e *Engine) charged(s *Session, c *Call, calls []Call) bool {
	for i := range calls {
		if v := &calls[i]; s.Rights().AddRate() > 0 && v.cmd != nil && v.cmd.bundling.Adds {
			v.Items = v.Args[2:]
			if e.charge(s, c, v.Count()); c.answered {
				return false
			}
		}
	}
	return true
}

// askBlock has another machine run a transaction, and answers.
func (e *Engine) askBlock(s *Session, c *Call, calls []Call) {
	body := appendCall(nil, [][]byte{[]byte("MULTI")})
	writes := false
	for i := range calls {
		body = appendCall(body, calls[i].Args)
		writes = writes || calls[i].cmd != nil && calls[i].cmd.writes()
	}
	body = appendCall(body, [][]byte{[]byte("EXEC")})
	if len(body) > door.MaxQuestion {
		c.Fail(textGroup + "it is longer than what nodes pass on to each other" + textApart)
		return
	}
	block := Call{Args: [][]byte{[]byte("EXEC")}, cmd: c.cmd}
	for looks := 0; looks < mostLooks; looks++ {
		p := &passing{calls: []Call{block}}
		for i := range calls {
			if calls[i].cmd == nil || !calls[i].cmd.inside {
				continue
			}
			if text := e.locate(s, p, &calls[i]); text != "" {
				c.Fail(text)
				return
			}
		}
		if len(p.nodes) == 0 {
			c.Fail(textFarKeys)
			return
		}
		a, err := e.router.Ask(p.nodes, &door.Question{Lanes: p.lanes, Body: body, Room: door.MaxQuestion, Writes: writes})
		if err == nil {
			err = e.readBlock(c, a, len(calls)+2, writes)
		}
		switch {
		case c.answered:
			return
		case err != nil && writes && errors.Is(err, door.ErrUnknown):
			c.Answer(e.unsettled(err))
			return
		case errors.Is(err, door.ErrDown) && e.askAgain(s):
			looks-- // it was not run
			continue
		case err != nil:
			c.Fail("CLUSTERDOWN the transaction has to be run by another node, and none does (" + refusal.Cause(err) + ")")
			return
		}
		if err := e.router.Follow(a); err != nil {
			c.Answer(e.unsettled(err))
			return
		}
	}
	c.Fail(textMoving)
}

// readBlock answers c as the last of n calls was, unless that was not run.
func (e *Engine) readBlock(c *Call, a door.Answer, n int, writes bool) error {
	all := make([]Call, n)
	q := question{}
	for i := range all {
		all[i].cmd = c.cmd
		q.calls, q.of = append(q.calls, &all[i]), append(q.of, &passing{})
	}
	if err := q.read(a); err != nil {
		return err
	}
	last := &all[n-1]
	switch {
	case last.answered:
		c.Answer(last.Reply)
	case last.Reply.Kind == answer.Int && writes:
		c.Fail("ERR the transaction was done, and its answer is too long to be passed on between nodes")
	case last.Reply.Kind == answer.Int:
		c.Fail("ERR the answer of the transaction is too long to be passed on between nodes")
	}
	return nil
}
