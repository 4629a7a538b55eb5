package engine

// What is counted and shown of commands that were run, and which have to wait.

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// account counts calls that were run together.
func (e *Engine) account(s *Session, calls []Call, took time.Duration) {
	if s.Watching {
		return
	}
	m := e.meter(s, calls[0].cmd)
	if cmd := calls[0].cmd; cmd != nil && s.Last.Load() != &cmd.full {
		s.Last.Store(&cmd.full)
	}
	each := took
	if len(calls) > 1 {
		each /= time.Duration(len(calls))
	}
	for i := 0; i < len(calls); {
		cmd, from, failed, asked, no := calls[i].cmd, i, 0, 0, 0
		if cmd == nil || calls[i].queued { // it was not run
			i++
			continue
		}
		asks := m != nil && cmd.bundling.Work == health.Has
		for i < len(calls) && calls[i].cmd == cmd {
			if r := &calls[i].Reply; r.Kind == answer.Error {
				failed++
			} else if asks {
				a, b := r.Lookups()
				asked, no = asked+a, no+b
			}
			i++
		}
		if m != nil {
			n, mean := i-from, each
			if s.helps && asked > n { // other machines ask for many calls as one: an item counts as a call
				n, mean = asked, each*time.Duration(n)/time.Duration(asked)
			}
			m.Note(s.Slot, cmd.bundling.Work, mean, n, asked, no)
		}
		if !s.helps {
			e.notes.Counters.Of(&s.Client, cmd.index).Add(i-from, each, failed)
		}
	}
	if s.helps { // the machine of the client counts and shows it
		return
	}
	if e.notes.Monitors.Any() && !s.alone { // those of a transaction are shown when others may go on
		e.feed(s, calls)
	}
	if took >= e.notes.Slow.Threshold() {
		c := &calls[0]
		e.notes.Slow.Add(&s.Client, s.now, took, len(c.Args), c.show, len(calls)-1)
	}
	if cmd := calls[0].cmd; cmd != nil && e.notes.Late.Over(took) {
		e.notes.Late.Add(eventOf(cmd), s.now, took)
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
