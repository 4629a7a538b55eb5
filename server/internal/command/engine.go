package command

import (
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Host is the server as commands see it.
type Host interface {
	// Sessions returns the sessions of all clients.
	Sessions() []*Session
	// Facts returns what INFO tells of the server.
	Facts() Facts
}

// Facts is what only the server knows.
type Facts struct {
	Version     string
	Started     time.Time
	Port        int
	Clients     int
	MaxClients  int
	Accepted    int64 // connections ever
	Rejected    int64 // connections refused
	BytesIn     int64
	BytesOut    int64
	ConfigFile  string
	Executable  string
	ProtectedBy string
}

// Engine runs commands. Make it with New.
//
// Safe for concurrent use, each Session and Workspace by one goroutine at a
// time.
type Engine struct {
	Settings *Settings
	Budget   Budget

	state *store.State
	door  door.Door
	keep  door.Keeper
	host  Host
	clock func() time.Time
	table *Table
	slow  slowLog

	// gate makes transactions alone: everything runs under its read lock,
	// EXEC under its write lock.
	gate sync.RWMutex
}

// Config is what an Engine is made from.
type Config struct {
	State *store.State
	Door  door.Door
	// Keeper writes data to disk; nil means that there is none.
	Keeper   door.Keeper
	Host     Host
	Settings *Settings
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// MaxMemory bounds the memory of data, in bytes.
	MaxMemory int64
}

// New returns an engine.
func New(c Config) *Engine {
	e := &Engine{
		Settings: c.Settings, state: c.State, door: c.Door, keep: c.Keeper, host: c.Host, clock: c.Clock,
		table: NewTable(),
	}
	if e.clock == nil {
		e.clock = time.Now
	}
	e.Budget.state = c.State
	e.Budget.max.Store(c.MaxMemory)
	return e
}

// Exec runs the calls of w from the one at first on, in order, and returns how
// many it answered. It stops behind a call that ends the session (QUIT), and
// behind one whose reply may be large, so that it can be sent before the next
// one is made.
func (e *Engine) Exec(s *Session, w *Workspace, first int) int {
	n := e.execGated(s, w, first)
	if s.wrote {
		s.wrote = false
		if err := e.door.Sync(); err != nil {
			unkept(w.Calls[first:first+n], err)
		}
	}
	return n
}

func (e *Engine) execGated(s *Session, w *Workspace, first int) int {
	s.w = w
	e.gate.RLock()
	defer func() {
		e.gate.RUnlock()
		s.w = nil
	}()
	n := e.exec(s, w.Calls[first:])
	s.lastActive.Store(s.now.UnixNano())
	return n
}

// exec runs calls, group by group. The clock is read once per group: the end of
// one is the beginning of the next.
func (e *Engine) exec(s *Session, calls []Call) (done int) {
	s.tick(e.clock())
	for done < len(calls) && !s.Quit {
		n := e.step(s, calls[done:])
		began := s.now
		s.tick(e.clock())
		e.account(s, calls[done:done+n], s.now.Sub(began))
		if cmd := calls[done].cmd; cmd != nil && cmd.Flags&Write != 0 {
			s.wrote = true
		}
		done += n
		if cmd := calls[done-1].cmd; cmd != nil && cmd.Flags&heavy != 0 {
			break
		}
	}
	return done
}

func (s *Session) tick(now time.Time) {
	s.now = now
	s.ms = now.UnixMilli()
}

// step runs the first call, and with it those behind it that make one group
// with it, and returns how many that were.
func (e *Engine) step(s *Session, calls []Call) int {
	c := &calls[0]
	if !e.check(s, c) {
		finish(s, c)
		return 1
	}
	if s.multi && c.cmd.Flags&immediate == 0 {
		s.enqueue(e, c)
		finish(s, c)
		return 1
	}
	if c.cmd.filter == nil {
		return e.runPlain(s, calls)
	}
	n := 1
	for n < len(calls) && e.joins(c, &calls[n]) {
		n++
	}
	e.runFilter(s, calls[:n])
	for i := range calls[:n] {
		finish(s, &calls[i])
	}
	return n
}

// runPlain runs a command that is not on a filter, and fast ones of the same name
// behind it: they share a reading of the clock.
func (e *Engine) runPlain(s *Session, calls []Call) int {
	c := &calls[0]
	c.cmd.run(e, s, c)
	finish(s, c)
	n := 1
	if c.cmd.Flags&(Fast|immediate) != Fast {
		return n
	}
	for n < len(calls) && string(calls[n].Args[0]) == string(c.Args[0]) {
		next := &calls[n]
		if e.check(s, next) {
			next.cmd.run(e, s, next)
		}
		finish(s, next)
		n++
	}
	return n
}

// joins reports whether next belongs to the group that c begins: a filter
// command on the same key, reading or writing as c does.
func (e *Engine) joins(c, next *Call) bool {
	if len(next.Args) < 2 || len(c.Args) < 2 || c.cmd.Flags&heavy != 0 || string(next.Args[1]) != string(c.Args[1]) {
		return false
	}
	if string(next.Args[0]) == string(c.Args[0]) {
		next.cmd = c.cmd
	} else {
		next.cmd = e.table.Lookup(next.Args[0])
	}
	cmd := next.cmd
	if cmd == nil || cmd.filter == nil || !cmd.arity(len(next.Args)) {
		return false
	}
	f, g := cmd.filter, c.cmd.filter
	return f.family == g.family && (f.write == nil) == (g.write == nil) &&
		cmd.Flags&(heavy|DenyOOM) == c.cmd.Flags&(heavy|DenyOOM)
}

// check finds the command of a call and answers what can be answered without
// running it.
func (e *Engine) check(s *Session, c *Call) bool {
	c.cmd = nil
	cmd := e.table.Lookup(c.Args[0])
	if cmd == nil {
		if is(c.Args[0], "post") || is(c.Args[0], "host:") {
			s.Quit, c.Mute = true, true // a browser that was tricked into talking to us
		}
		c.answer(unknownCommand(c.Args))
		s.multiFailed = true
		return false
	}
	if cmd.subs != nil && len(c.Args) > 1 {
		sub := cmd.subs[lower(c.Args[1])]
		if sub == nil {
			c.answer(unknownSubcommand(upper(cmd.Name), c.Args[1]))
			s.multiFailed = true
			return false
		}
		cmd = sub
	}
	c.cmd = cmd
	if !cmd.arity(len(c.Args)) {
		return e.reject(s, c, wrongArity(cmd.full))
	}
	if !s.Authenticated && cmd.Flags&NoAuth == 0 && e.Settings.Password() != "" {
		return e.reject(s, c, fail(textNoAuth))
	}
	if cmd.Flags&DenyOOM != 0 && e.Budget.full() {
		return e.reject(s, c, fail(textOOM))
	}
	if cmd.Flags&Write != 0 {
		if err := e.door.Refuses(); err != nil {
			return e.reject(s, c, refused(err))
		}
	}
	if s.multi && cmd.Flags&NoMulti != 0 {
		return e.reject(s, c, fail("ERR Command not allowed inside a transaction"))
	}
	return true
}

func (e *Engine) reject(s *Session, c *Call, r Reply) bool {
	c.answer(r)
	c.cmd.stats.rejected.Add(1)
	c.cmd = nil // it was not run: account passes over it
	s.multiFailed = true
	return false
}

// finish notes the protocol of a reply and whether the client wants it.
func finish(s *Session, c *Call) {
	c.Proto = s.Proto
	c.answered = false
	if s.replies == repliesOn && !s.skipNext || s.inExec {
		return
	}
	c.Mute = true
	if c.cmd == nil || c.cmd.full != "client|reply" {
		s.skipNext = false
	}
}

// account counts calls that were run together.
func (e *Engine) account(s *Session, calls []Call, took time.Duration) {
	if cmd := calls[0].cmd; cmd != nil {
		s.lastCmd.Store(cmd)
	}
	each := took / time.Duration(len(calls))
	for i := 0; i < len(calls); {
		cmd, from, failed := calls[i].cmd, i, int64(0)
		if cmd == nil { // it was not run
			i++
			continue
		}
		for i < len(calls) && calls[i].cmd == cmd {
			if calls[i].Reply.Kind == Error {
				failed++
			}
			i++
		}
		cmd.stats.calls.Add(int64(i - from))
		cmd.stats.nanos.Add(int64(each) * int64(i-from))
		if failed > 0 {
			cmd.stats.failed.Add(failed)
		}
	}
	if took >= e.slow.threshold() {
		e.slow.add(s, calls, took)
	}
}

// Sweep removes what is past its deadline, at most so many entries, and returns
// how many it found.
func (e *Engine) Sweep(most int) int {
	now := e.clock().UnixMilli()
	if e.door.Refuses() != nil {
		return 0 // nobody sees what is past its deadline
	}
	ids := e.state.Names.Due(now, most)
	if len(ids) == 0 {
		return 0
	}
	op := door.Op{Record: store.Record{Op: store.OpEvict, At: now, IDs: ids}}
	e.gate.RLock()
	e.do(&op)
	e.gate.RUnlock()
	e.Settings.expired.Add(op.Result.N)
	return len(ids)
}

// do puts one record through the door.
func (e *Engine) do(op *door.Op) {
	ops := []*door.Op{op}
	e.door.Ready()
	e.door.Do(ops)
	e.door.Wait(ops)
}
