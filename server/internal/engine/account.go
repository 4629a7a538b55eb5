package engine

// What is counted and shown of commands that were run, and which have to wait.

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// ran is a bundle of calls that were run together.
type ran struct {
	calls []Call
	meter *health.Meter // of their filter, nil if they are on none
	took  time.Duration // to run them
	away  time.Duration // part of took: waits for other machines
	from  time.Time     // since when they wait to be answered, zero if they were answered at once
}

// account counts calls that were run together. Calls that wait, for a majority or for another machine, are counted when
// they are answered: only then it is known how long their client has waited, and whether they have failed.
func (e *Engine) account(s *Session, calls []Call, took time.Duration) {
	if s.Watching {
		return
	}
	cmd := calls[0].cmd
	r := ran{calls: calls, meter: e.meter(s, cmd), took: took, away: s.away}
	if cmd != nil && s.Last.Load() != &cmd.full {
		s.Last.Store(&cmd.full)
	}
	if !s.helps { // the machine of the client shows it
		if e.notes.Monitors.Any() && !s.alone { // those of a transaction are shown when others may go on
			e.feed(s, calls)
		}
		if here := took - s.away; here >= e.notes.Slow.Threshold() { // by itself: with one slow machine every write waits
			e.notes.Slow.Add(&s.Client, s.now, here, len(calls[0].Args), calls[0].show, len(calls)-1)
		}
	}
	for i := range calls {
		if e.shared == nil {
			break
		}
		if calls[i].waiting {
			r.from = s.now
			s.w.late = append(s.w.late, r)
			e.tallyLookups(s, &r)
			return
		}
	}
	e.tally(s, &r, s.fresh)
}

// tallyLate counts calls that have waited and are answered.
func (e *Engine) tallyLate(s *Session) {
	late := s.w.late
	if len(late) == 0 {
		return
	}
	now, _ := e.later(s.now)
	left := late[:0]
	for i := range late {
		if r := &late[i]; r.answered() {
			e.tally(s, r, s.fresh+now.Sub(r.from))
		} else {
			left = append(left, *r)
		}
	}
	clear(late[len(left):])
	s.w.late = left
}

func (r *ran) answered() bool {
	for i := range r.calls {
		if r.calls[i].waiting {
			return false
		}
	}
	return true
}

// tally counts calls, each of which has waited for so long beside the time that all took together.
func (e *Engine) tally(s *Session, r *ran, waited time.Duration) {
	calls, each, here := r.calls, r.took, max(0, r.took-r.away)
	if len(calls) > 1 {
		each, here = each/time.Duration(len(calls)), here/time.Duration(len(calls))
	}
	each += waited
	for i := 0; i < len(calls); {
		cmd, from, failed, told, asked, no := calls[i].cmd, i, 0, 0, 0, 0
		if cmd == nil || calls[i].queued { // it was not run
			i++
			continue
		}
		kind := ""
		asks := r.meter != nil && cmd.bundling.Work == health.Has && r.from.IsZero()
		for i < len(calls) && calls[i].cmd == cmd {
			if r := &calls[i].Reply; r.Kind == answer.Error {
				if now := session.KindOf(r.Text); now != kind {
					e.countErrors(s, cmd, kind, failed-told)
					kind, told = now, failed
				}
				failed++
			} else if asks {
				a, b := r.Lookups()
				asked, no = asked+a, no+b
			}
			i++
		}
		e.countErrors(s, cmd, kind, failed-told)
		if r.meter != nil {
			n, mean := i-from, each
			if s.helps && asked > n { // other machines ask for many calls as one: an item counts as a call
				n, mean = asked, waited+(each-waited)*time.Duration(n)/time.Duration(asked)
			}
			r.meter.Note(s.Slot, cmd.bundling.Work, mean, n, asked, no)
			if each > here {
				r.meter.Waited(s.Slot, cmd.bundling.Work, each-here, i-from)
			}
		}
		if s.helps { // the machine of the client counts it
			continue
		}
		if n := e.notes.Counters.Of(&s.Client, cmd.index); each > here {
			n.AddLate(i-from, each, here, failed)
		} else {
			n.Add(i-from, each, failed)
		}
	}
	if took := r.took + waited; !s.helps && calls[0].cmd != nil && e.notes.Late.Over(took) {
		e.notes.Late.Add(eventOf(calls[0].cmd), s.now, took)
	}
}

// countErrors counts error replies of a kind; cmd is nil for a command that does not exist.
func (e *Engine) countErrors(s *Session, cmd *Command, kind string, n int) {
	if n == 0 || s.helps || s.Watching { // the machine of the client counts them
		return
	}
	at := session.NoCommand
	if cmd != nil {
		at = cmd.index
	}
	e.notes.Counters.Failed(&s.Client, at, kind, n)
}

// tallyLookups counts the results of the lookups that are answered, in a bundle of which others wait: the machines that
// run those count them.
func (e *Engine) tallyLookups(s *Session, r *ran) {
	if r.meter == nil {
		return
	}
	for i := range r.calls {
		if c := &r.calls[i]; c.cmd != nil && c.cmd.bundling.Work == health.Has {
			asked, no := c.Reply.Lookups()
			r.meter.Note(s.Slot, health.Has, 0, 0, asked, no)
		}
	}
}

// measure counts what a part of a lookup that is run here has found, as account does for other machines: the lookup itself
// is not answered yet when it is accounted for.
func (e *Engine) measure(s *Session, c *Call, took time.Duration) {
	asked, no := c.Reply.Lookups()
	if s.Watching || asked == 0 || c.cmd.bundling.Work != health.Has {
		return
	}
	if m := e.meter(s, c.cmd); m != nil {
		m.Note(s.Slot, health.Has, took/time.Duration(asked), asked, asked, no)
	}
}

// show returns an argument as others may see it.
func (c *Call) show(i, most int) string { return c.cmd.Show(c.Args, i, most) }

// feed shows calls that were run to the monitors. Those of operators are not
// shown, and secrets are left out.
func (e *Engine) feed(s *Session, calls []Call) {
	var line []byte
	for i := range calls {
		c := &calls[i]
		if c.cmd == nil || c.queued || c.cmd.Flags&traits.Admin != 0 {
			continue
		}
		line = session.AppendLine(line[:0], &s.Client, s.now, len(c.Args), c.show)
		e.notes.Monitors.Feed(line)
	}
}

// eventOf returns the event of LATENCY that a command belongs to, as Redis names it.
func eventOf(c *Command) string {
	if c.Flags&traits.Fast != 0 {
		return "fast-command"
	}
	return "command"
}

// paused reports whether a call is held back at present. Operators are not, so
// that they can end the pause, and neither is who gives a password.
func (e *Engine) paused(s *Session, c *Call) bool {
	if s.alone || s.helps {
		return false
	}
	cmd := e.table.resolve(c.Args)
	if cmd == nil || cmd.Flags&(traits.Admin|traits.NoAuth) != 0 {
		return false
	}
	return e.Pause.Holds(cmd.writes() || cmd.Name == "exec" && s.queuedWrite)
}
