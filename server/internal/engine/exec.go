package engine

// The way of a command: look up, permit, gather, prepare, order, settle, reply.

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Exec runs the calls of w from the one at first on, in order, and returns how
// many it answered. It stops behind a call that ends the session (QUIT), and
// behind one whose reply may be large, so that it can be sent before the next
// one is made, or that changes what the next ones have to wait for; and in front of one that a pause of clients holds back: then the
// caller sends what is answered and calls Pause.Wait; and in front of one that waits for
// news: see Session.Parked. Of a session that has ended no further call is run.
func (e *Engine) Exec(s *Session, w *Workspace, first int) int {
	e.Release(s)
	e.Users.Greet(&s.Client)
	s.w, s.park.is = w, false
	if first == 0 {
		if !s.waited {
			s.silent = time.Time{}
		}
		s.waited = false
	}
	s.ctx = Context{e: e, s: s}
	s.fresh = 0
	defer e.end(s)
	calls := w.Calls[first:]
	if e.shared != nil {
		calls = stretch(calls)
		if s.stale = e.shared.Current(); s.stale == nil && (s.owner || s.asksNews(calls)) {
			s.now, s.away = e.clock(), 0
			e.freshen(s, calls)
			s.fresh = s.away
		}
	}
	n := e.run(s, calls)
	e.settle(s)
	e.leave(s)
	e.finish(s, calls[:n])
	if s.wrote {
		s.wrote = false
		e.waits(s, "sync the log")
		if err := e.door.Sync(); err != nil {
			unkept(calls[:n], err)
		}
	}
	return n
}

// end leaves the gate, whatever has happened.
func (e *Engine) end(s *Session) {
	e.leave(s)
	s.Act(s.now)
	s.w, s.stale = nil, nil
}

// Release gives back the memory of replies that were written. Exec and Close do
// so too; a connection that waits for its client calls it first.
func (e *Engine) Release(s *Session) {
	if s.replyBytes > 0 {
		e.Hold(s, -s.replyBytes)
		s.replyBytes = 0
	}
}

// run runs calls, bundle by bundle. The clock is read once per bundle: the end of
// one is the beginning of the next.
func (e *Engine) run(s *Session, calls []Call) (done int) {
	s.tick(e.clock())
	for done < len(calls) && !s.Quit && (s.alone || !s.Ended()) && !(e.Pause.Any() && e.paused(s, &calls[done])) {
		s.away = 0
		n := e.step(s, calls[done:])
		if s.park.is {
			break
		}
		e.unpark(s)
		now, took := e.later(s.now)
		s.tick(now)
		e.account(s, calls[done:done+n], took)
		last := calls[done+n-1].cmd
		if cmd := calls[done].cmd; cmd != nil && cmd.writes() {
			s.wrote = true
		}
		done += n
		if last != nil && last.Flags&traits.Heavy != 0 {
			break
		}
	}
	return done
}

// later returns the time, a moment behind t, and how long that is, by one reading of the
// machine's clock instead of two: the time of day is read when Exec begins.
func (e *Engine) later(t time.Time) (now time.Time, took time.Duration) {
	if e.steady {
		took = time.Since(t)
		return t.Add(took), took
	}
	now = e.clock()
	return now, now.Sub(t)
}

func (s *Session) tick(now time.Time) {
	s.now = now
	s.ms = now.UnixMilli()
}

// maxWeight is after how many items a session leaves the gate for a moment.
const maxWeight = 256

// enter enters the gate, unless the session is inside.
func (e *Engine) enter(s *Session) {
	if s.inside {
		if s.weight < maxWeight {
			return
		}
		e.leave(s)
	}
	if !s.alone {
		e.gate.Enter(s.Slot)
		s.inside, s.weight = true, 0
	}
}

// leave leaves the gate, if the session is inside. Whoever is about to wait
// calls it first.
func (e *Engine) leave(s *Session) {
	if s.inside {
		s.inside = false
		e.gate.Leave(s.Slot)
	}
}

// waits notes that a session is about to wait: it must not be inside the gate.
func (e *Engine) waits(s *Session, what string) { e.gate.Waits(s.inside || s.alone, what) }

// away is a wait for other machines.
type away struct {
	from   time.Time
	before time.Duration // that the session had waited for others
}

// awaits is waits for what other machines do: back, which is called when they have, counts the time. One
// wait within another counts once.
func (e *Engine) awaits(s *Session, what string) away {
	e.waits(s, what)
	now, _ := e.later(s.now)
	return away{now, s.away}
}

func (e *Engine) back(s *Session, a away) {
	_, took := e.later(a.from)
	s.away = a.before + took
}

// step runs the first call, and with it those behind it that make one bundle
// with it, and returns how many that were.
func (e *Engine) step(s *Session, calls []Call) int {
	c := &calls[0]
	if !e.check(s, c) {
		s.note(c)
		return 1
	}
	if s.multi && c.cmd.Flags&traits.Immediate == 0 {
		e.enqueue(s, c)
		s.note(c)
		return 1
	}
	if c.cmd.On == nil {
		return e.runPlain(s, calls)
	}
	n := e.gather(s, calls)
	e.runBundle(s, calls[:n])
	for i := range calls[:n] {
		s.note(&calls[i])
	}
	return n
}

// runPlain runs a command that is not on a filter, and fast ones of the same name
// behind it: they share a reading of the clock.
func (e *Engine) runPlain(s *Session, calls []Call) int {
	c := &calls[0]
	e.perform(s, calls[:1])
	s.note(c)
	n := 1
	if c.cmd.Flags&(traits.Fast|traits.Immediate|traits.Outside) != traits.Fast {
		return n
	}
	cmd := c.cmd
	for n < len(calls) && string(calls[n].Args[0]) == string(c.Args[0]) {
		next := &calls[n]
		if cmd.sub && e.check(s, next) || !cmd.sub && e.allow(s, next, cmd) {
			e.perform(s, calls[n:n+1])
		}
		s.note(next)
		n++
	}
	return n
}

// perform runs calls[0], which is not on a filter: it answers, or makes a record.
func (e *Engine) perform(s *Session, calls []Call) {
	c, held := &calls[0], e.state.Holdings()
	s.running = c.cmd
	if held == nil && c.cmd.quick && !s.w.underway() { // most of them
		e.quick(s, c)
		return
	}
	if !e.here(s, calls[:1]) {
		return
	}
	e.handle(s, calls)
	if s.loans != nil {
		e.repay(s)
	}
	if held == nil || e.state.Holdings() == held || !c.answered || c.cmd.writes() || !c.cmd.inside {
		return
	}
	if s.only != nil || e.far(s, calls[:1]) {
		unread(calls[:1]) // what it was about may have gone while it was looked at
		c.answered, c.finish = false, nil
		e.perform(s, calls)
	}
}

// quick runs a command whose Run is all.
func (e *Engine) quick(s *Session, c *Call) {
	if c.cmd.gated {
		e.enter(s)
	} else if c.cmd.Flags&traits.Fast == 0 {
		e.leave(s)
	}
	c.cmd.Run(&s.ctx, c)
	s.weight++
}

// handle runs calls[0], whose contents are here.
func (e *Engine) handle(s *Session, calls []Call) {
	c := &calls[0]
	cmd := c.cmd
	if cmd.quick {
		e.quick(s, c)
		return
	}
	if cmd.Before != nil && !s.alone {
		e.leave(s)
		cmd.Before(&s.ctx, c)
	}
	switch {
	case c.answered:
	case cmd.Flags&traits.Alone != 0 && !s.alone && e.shared == nil:
		e.leave(s)
		e.closed(s, true, func() { e.prepare(s, calls) })
	case cmd.Prepare != nil:
		e.prepare(s, calls)
	default:
		e.leave(s)
		cmd.Run(&s.ctx, c)
	}
}

// prepare makes the record of calls[0] and puts it in order, until the call is
// answered or waits for the record.
func (e *Engine) prepare(s *Session, calls []Call) {
	c := &calls[0]
	for !c.answered && !c.waiting {
		e.enter(s)
		if e.busy(s) {
			continue
		}
		s.w.reuse()
		if op := c.cmd.Prepare(&s.ctx, c); op != nil {
			e.put(s, calls, op)
		}
	}
	e.unmake(c)
}

// busy waits outside the gate if the door cannot take a record now. It reports
// true if it has: what was looked up may have changed.
func (e *Engine) busy(s *Session) bool {
	if s.alone || !e.door.Busy() {
		return false
	}
	e.leave(s)
	e.waits(s, "room in the log")
	e.door.Ready(false)
	return true
}

// check finds the command of a call and answers what can be answered without
// running it.
func (e *Engine) check(s *Session, c *Call) bool {
	c.cmd = nil
	cmd := e.table.Lookup(c.Args[0])
	if cmd == nil {
		if answer.Is(c.Args[0], "post") || answer.Is(c.Args[0], "host:") {
			s.Quit, c.Mute = true, true // a browser that was tricked into talking to us
		}
		c.Answer(answer.UnknownCommand(c.Args))
		e.countErrors(s, nil, session.KindOf(c.Reply.Text), 1)
		s.multiFailed = true
		return false
	}
	if cmd.subs != nil && len(c.Args) > 1 {
		sub := cmd.subs[answer.Lower(c.Args[1])]
		if sub == nil {
			c.Answer(answer.UnknownSubcommand(cmd.Name, c.Args[1]))
			e.countErrors(s, cmd, session.KindOf(c.Reply.Text), 1)
			s.multiFailed = true
			return false
		}
		cmd = sub
	}
	return e.allow(s, c, cmd)
}

// allow answers a call of a command that may not be run now.
func (e *Engine) allow(s *Session, c *Call, cmd *Command) bool {
	c.cmd = cmd
	if !cmd.Takes(len(c.Args)) {
		return e.reject(s, c, answer.WrongArity(cmd.full))
	}
	if u := s.Rights(); (!u.All() && u != s.cleared || e.Users.Guest(&s.Client)) && !e.permitted(s, c, u) {
		return false
	}
	if cmd.Flags&traits.DenyOOM != 0 && e.Budget.Full() {
		return e.reject(s, c, answer.Fail(answer.TextOOM))
	}
	if s.stale != nil && cmd.gated && !cmd.writes() {
		if isNews(c.Args) {
			return e.reject(s, c, refusal.News(e.shared, s.stale))
		}
		return e.reject(s, c, refusal.Read(e.shared, s.stale))
	}
	if cmd.writes() && !s.alone { // a transaction is refused as a whole
		if err := e.door.Refuses(); err != nil {
			return e.reject(s, c, refusal.Write(e.shared, err))
		}
	}
	if s.multi && cmd.Flags&traits.NoMulti != 0 {
		return e.reject(s, c, answer.Fail("ERR Command not allowed inside a transaction"))
	}
	return true
}

func (e *Engine) reject(s *Session, c *Call, r answer.Reply) bool {
	c.Answer(r)
	e.notes.Counters.Of(&s.Client, c.cmd.index).Reject()
	e.countErrors(s, c.cmd, session.KindOf(r.Text), 1)
	c.cmd = nil // it was not run: account passes over it
	s.multiFailed = true
	return false
}

// note notes the protocol of a reply and whether the client wants it.
func (s *Session) note(c *Call) {
	c.Proto = s.Proto
	if s.Wants() || s.alone {
		return
	}
	c.Mute = true
	if c.cmd == nil || c.cmd.full != "client|reply" {
		s.Skipped()
	}
}

// finish does what was put off until the gate was left: it makes replies, and
// cleans up.
func (e *Engine) finish(s *Session, calls []Call) {
	for i := range calls {
		c := &calls[i]
		if c.finish != nil {
			c.Reply, c.finish = c.finish(), nil
		}
		if c.cmd != nil && c.cmd.After != nil {
			c.cmd.After(&s.ctx, c)
		}
	}
}

// unkept answers writes that were done but may not be on disk as they should be.
func unkept(calls []Call, err error) {
	for i := range calls {
		if c := &calls[i]; c.cmd != nil && !c.queued && (c.cmd.writes() || c.cmd.Name == "exec") {
			c.Reply = answer.Fail("MISCONF The write was done in memory, but it is not on disk and may be lost (" + answer.OneLine(err) + ").")
		}
	}
}
