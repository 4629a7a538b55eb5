// Package engine runs commands. It knows none of them: a [Table] says what there
// is, and a [Command] how it is run.
//
//	Exec ── run ── step ─┬─ runBundle  calls on one filter that follow each other
//	                     └─ perform    any other call
//	                          │
//	                 Prepare ─► door.Do ─► settle ─► Reply
//
// [Engine.Exec] takes all that a connection has sent. Calls that follow each
// other on one filter are hashed together and make one record, which takes one
// lock. Records are put in order by a door; those that it has not applied yet are
// waited for once, at the end, or before a call that looks at what they change.
// Everything that looks at data or changes it runs inside the gate, which a
// transaction closes; nothing waits inside.
//
// Handlers see a [Context]: clock, settings, who talks; and through it [Names],
// [Contents], [Transaction] and [Server]. They never see the door or the gate. Commands
// return values of package answer and know nothing of protocols.
//
// Locks, in the order in which they are taken: gate, catalogue, part, log;
// shards of the catalogue come last, nothing is called under them. Settings, users,
// slow log and session names have locks of their own, under which nothing else is
// taken, but that of users under that of settings: requirepass is the password of
// the user default.
package engine

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/checkup"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/gate"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Host is the server as commands see it.
type Host interface {
	// Sessions returns the sessions of all clients.
	Sessions() []*Session
	// Facts returns what INFO shows of the server.
	Facts() status.Server
	// Shutdown has the server end in order. It does not wait.
	Shutdown()
	// RewriteConfig writes the settings that were changed into the
	// configuration file.
	RewriteConfig() error
}

// Engine runs commands. Make it with New.
//
// Safe for concurrent use, each Session and Workspace by one goroutine at a
// time.
type Engine struct {
	Settings *session.Settings
	Budget   Budget
	Users    *session.Users
	Pause    session.Pause

	state *store.State
	door  door.Door
	// shared is the door if other machines write, too; nil if not.
	shared  door.Shared
	can     status.Abilities
	keep    door.Keeper
	host    Host
	clock   func() time.Time
	table   *Table
	slow    session.SlowLog
	late    session.Latency
	stats   *session.Counters
	pace    session.Pace
	well    *health.Keeper
	filters checkup.Filters
	runID   string
	gate    gate.Gate

	secrets  atomic.Pointer[secrets]
	monitors session.Monitors
	advanced atomic.Int64 // when windows were looked at, in milliseconds since 1970
	looked   atomic.Int64 // when filters without a name were, the same way

	memoryLimit func(int64)
	collect     func(int)
}

// Config is what an Engine is made from.
type Config struct {
	// Commands is what the engine can do.
	Commands []Command
	State    *store.State
	Door     door.Door
	// Keeper writes data to disk; nil means that there is none.
	Keeper   door.Keeper
	Host     Host
	Settings *session.Settings // nil means the defaults
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
	// MaxMemory bounds the memory of data, in bytes.
	MaxMemory int64
	// SetMaxMemory is called when CONFIG SET has changed the bound; nil if
	// nobody needs to know.
	SetMaxMemory func(int64)
	// Plain leaves clients untold that this is a cluster, if it is one.
	Plain bool
	// Users is the file that ACL LOAD and ACL SAVE use. The zero value means that
	// there is none.
	Users session.UserFile
	// SecretNames are for SetSecretNames.
	SecretNames map[string][]string
	// Collect is called before so many bytes are allocated at once for a
	// string; nil if nobody needs to know.
	Collect func(bytes int)
}

// New returns an engine.
func New(c Config) *Engine {
	e := &Engine{
		Settings: c.Settings, state: c.State, door: c.Door, keep: c.Keeper, host: c.Host, clock: c.Clock,
		table: NewTable(c.Commands), memoryLimit: c.SetMaxMemory, collect: c.Collect,
	}
	if e.clock == nil {
		e.clock = time.Now
	}
	if e.collect == nil {
		e.collect = func(int) {}
	}
	if e.Settings == nil {
		e.Settings = session.NewSettings(session.RedisBloomDefaults(), "")
	}
	e.shared, _ = c.Door.(door.Shared)
	e.can = status.Abilities{Cluster: e.shared != nil, Hidden: c.Plain, Disk: c.Keeper != nil && c.Keeper.Status().Kept}
	e.stats = session.NewCounters(e.table.count)
	e.Users = session.NewUsers(e.table.rules, e.Settings.Password(), c.Users)
	e.runID = newRunID()
	e.SetSecretNames(c.SecretNames)
	e.filters = checkup.Filters{State: c.State, Clock: e.clock, Can: e.can}
	e.well = e.filters.Keeper()
	c.State.OnClear(e.well.Clear)
	e.Budget.state = c.State
	if e.can.Cluster {
		e.Budget.others = otherItems
	}
	e.Budget.max.Store(c.MaxMemory)
	return e
}

// Exec runs the calls of w from the one at first on, in order, and returns how
// many it answered. It stops behind a call that ends the session (QUIT), and
// behind one whose reply may be large, so that it can be sent before the next
// one is made, or that changes what the next ones have to wait for; and in front of one that a pause of clients holds back: then the
// caller sends what is answered and calls Pause.Wait. Of a session that has ended no
// further call is run.
func (e *Engine) Exec(s *Session, w *Workspace, first int) int {
	e.Release(s)
	e.Users.Greet(&s.Client)
	s.w = w
	s.ctx = Context{e: e, s: s}
	defer e.end(s)
	calls := w.Calls[first:]
	if e.shared != nil {
		calls = stretch(calls)
		if s.stale = e.shared.Current(); s.stale == nil && s.owner {
			e.freshen(s, calls)
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
		e.hold(s, -s.replyBytes)
		s.replyBytes = 0
	}
}

// run runs calls, bundle by bundle. The clock is read once per bundle: the end of
// one is the beginning of the next.
func (e *Engine) run(s *Session, calls []Call) (done int) {
	s.tick(e.clock())
	for done < len(calls) && !s.Quit && (s.alone || !s.Ended()) && !(e.Pause.Any() && e.paused(s, &calls[done])) {
		n := e.step(s, calls[done:])
		began := s.now
		s.tick(e.clock())
		e.account(s, calls[done:done+n], s.now.Sub(began))
		last := calls[done+n-1].cmd
		if cmd := calls[done].cmd; cmd != nil && cmd.writes() {
			s.wrote = true
		}
		done += n
		if last != nil && last.Flags&Heavy != 0 {
			break
		}
	}
	return done
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

// step runs the first call, and with it those behind it that make one bundle
// with it, and returns how many that were.
func (e *Engine) step(s *Session, calls []Call) int {
	c := &calls[0]
	if !e.check(s, c) {
		s.note(c)
		return 1
	}
	if s.multi && c.cmd.Flags&Immediate == 0 {
		e.enqueue(s, c)
		s.note(c)
		return 1
	}
	if c.cmd.Sketch != nil {
		n := 1
		for n < len(calls) && joinsSketch(c, &calls[n]) {
			n++
		}
		if c.cmd.Sketch.Encode != nil && s.Rights().AddRate() > 0 {
			for i := range calls[:n] {
				e.charge(s, &calls[i], c.cmd.Sketch.items(len(calls[i].Args)-2))
			}
		}
		e.runSketch(s, calls[:n])
		for i := range calls[:n] {
			s.note(&calls[i])
		}
		return n
	}
	if c.cmd.Filter == nil {
		return e.runPlain(s, calls)
	}
	n := alike(calls)
	for n < len(calls) && e.joins(s, c, &calls[n]) {
		n++
	}
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
	if c.cmd.Flags&(Fast|Immediate|Outside) != Fast {
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
	c := &calls[0]
	cmd := c.cmd
	s.running = cmd
	if len(s.w.pending) > 0 && s.w.touched(c) {
		e.settle(s)
	}
	if cmd.quick {
		if cmd.gated {
			e.enter(s)
		} else if cmd.Flags&Fast == 0 {
			e.leave(s)
		}
		cmd.Run(&s.ctx, c)
		s.weight++
		return
	}
	if cmd.Before != nil && !s.alone {
		e.leave(s)
		cmd.Before(&s.ctx, c)
	}
	switch {
	case c.answered:
	case cmd.Flags&Alone != 0 && !s.alone && e.shared == nil:
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
	e.door.Ready()
	return true
}

// alike returns how many calls, from the first on, are of one command on one key, with
// equally many arguments: most pipelines. They make one bundle.
func alike(calls []Call) int {
	c := &calls[0]
	first, n := c.Args, 1
	if len(first) < 2 || c.cmd.Flags&Heavy != 0 {
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

// joins reports whether next belongs to the bundle that c begins: a filter
// command on the same key, reading or writing as c does.
func (e *Engine) joins(s *Session, c, next *Call) bool {
	if len(next.Args) < 2 || len(c.Args) < 2 || c.cmd.Flags&Heavy != 0 || string(next.Args[1]) != string(c.Args[1]) {
		return false
	}
	if string(next.Args[0]) == string(c.Args[0]) {
		next.cmd = c.cmd
		return c.cmd.Takes(len(next.Args))
	}
	cmd := e.table.Lookup(next.Args[0])
	next.cmd = cmd
	if cmd == nil || cmd.Filter == nil || !cmd.Takes(len(next.Args)) {
		return false
	}
	if cmd != c.cmd && !s.Rights().All() && !cmd.allowed(s.Rights(), next.Args) {
		return false // it is refused on its own
	}
	f, g := cmd.Filter, c.cmd.Filter
	return f.Family == g.Family && (f.Write == nil) == (g.Write == nil) &&
		cmd.Flags&(Heavy|DenyOOM) == c.cmd.Flags&(Heavy|DenyOOM)
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
		c.Answer(unknownCommand(c.Args))
		s.multiFailed = true
		return false
	}
	if cmd.subs != nil && len(c.Args) > 1 {
		sub := cmd.subs[answer.Lower(c.Args[1])]
		if sub == nil {
			c.Answer(unknownSubcommand(cmd.Name, c.Args[1]))
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
	if cmd.Flags&NoCluster != 0 && e.can.Cluster {
		return e.reject(s, c, answer.Fail("ERR "+strings.ToUpper(cmd.Name)+" is not possible in a cluster: it needs records of several filters in one order"))
	}
	if cmd.Flags&DenyOOM != 0 && e.Budget.full() {
		return e.reject(s, c, answer.Fail(answer.TextOOM))
	}
	if s.stale != nil && cmd.gated && !cmd.writes() {
		return e.reject(s, c, e.unread(s.stale))
	}
	if cmd.writes() {
		if err := e.door.Refuses(); err != nil {
			return e.reject(s, c, e.refused(err))
		}
	}
	if s.multi && cmd.Flags&NoMulti != 0 {
		return e.reject(s, c, answer.Fail("ERR Command not allowed inside a transaction"))
	}
	return true
}

func (e *Engine) reject(s *Session, c *Call, r answer.Reply) bool {
	c.Answer(r)
	e.stats.Of(&s.Client, c.cmd.index).Reject()
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

// account counts calls that were run together.
func (e *Engine) account(s *Session, calls []Call, took time.Duration) {
	if s.Watching {
		return
	}
	m := e.meter(s, calls[0].cmd)
	if cmd := calls[0].cmd; cmd != nil {
		s.Last.Store(&cmd.full)
	}
	each := took / time.Duration(len(calls))
	for i := 0; i < len(calls); {
		cmd, from, failed, asked, no := calls[i].cmd, i, 0, 0, 0
		if cmd == nil || calls[i].queued { // it was not run
			i++
			continue
		}
		asks := m != nil && cmd.work == health.Has
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
			m.Note(s.Slot, cmd.work, each*time.Duration(i-from), i-from, asked, no)
		}
		e.stats.Of(&s.Client, cmd.index).Add(i-from, each, failed)
	}
	if e.monitors.Any() && !s.alone { // those of a transaction are shown when others may go on
		e.feed(s, calls)
	}
	if took >= e.slow.Threshold() {
		c := &calls[0]
		e.slow.Add(&s.Client, s.now, took, len(c.Args), c.show, len(calls)-1)
	}
	if cmd := calls[0].cmd; cmd != nil && e.late.Over(took) {
		e.late.Add(eventOf(cmd), s.now, took)
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
		if c.cmd == nil || c.queued || c.cmd.Flags&Admin != 0 {
			continue
		}
		line = session.AppendLine(line[:0], &s.Client, s.now, len(c.Args), c.show)
		e.monitors.Feed(line)
	}
}

// eventOf returns the event of LATENCY that a command belongs to, as Redis names it.
func eventOf(c *Command) string {
	if c.Flags&Fast != 0 {
		return "fast-command"
	}
	return "command"
}

// paused reports whether a call is held back at present. Operators are not, so
// that they can end the pause, and neither is who gives a password.
func (e *Engine) paused(s *Session, c *Call) bool {
	if s.alone {
		return false
	}
	cmd := e.table.resolve(c.Args)
	if cmd == nil || cmd.Flags&(Admin|NoAuth) != 0 {
		return false
	}
	return e.Pause.Holds(cmd.writes() || cmd.Name == "exec" && s.queuedWrite)
}

// Sample notes how many commands were run so far. The server calls it about ten
// times a second.
func (e *Engine) Sample(at time.Time) {
	e.Budget.Used() // notes the peak
	if e.state.Names.Len() > 0 {
		e.well.Poke()
	}
	e.pace.Sample(at, e.stats.Calls())
}

// newRunID returns 40 digits that no other run of a server has.
func newRunID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
