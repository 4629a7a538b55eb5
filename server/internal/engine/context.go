package engine

// Context: what a handler sees.

import (
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/budget"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/cost"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Context is what every handler sees: clock, settings, who talks, and what holds for each
// answer. Names, Contents, Transaction and Server have what not all need. It sees no door,
// no gate and no map of sessions.
type Context struct {
	e *Engine
	s *Session
	// as, if it is not nil, is whose rights are asked for on a command that is not run.
	as  *acl.User
	cmd *Command
}

// Dry reports whether only rights are asked for: nothing is to be done.
func (x *Context) Dry() bool { return x.as != nil }

// who returns the user, and the command that is run.
func (x *Context) who() (*acl.User, *Command) {
	if x.Dry() {
		return x.as, x.cmd
	}
	return x.s.Rights(), x.s.running
}

// Names is what commands see of names, and of the right to use them.
type Names struct{ *Context }

// Contents is what commands see of what names stand for: how it is made, filled, changed
// in pieces, and judged.
type Contents struct{ *Context }

// Transaction is what commands see of the transaction of the client, and of the one that
// they are part of.
type Transaction struct{ *Context }

// Server is what commands see that are about the server and its clients.
type Server struct{ *Context }

// Names returns the names.
func (x *Context) Names() Names { return Names{x} }

// Contents returns what names stand for.
func (x *Context) Contents() Contents { return Contents{x} }

// Transaction returns the transaction of the client.
func (x *Context) Transaction() Transaction { return Transaction{x} }

// Server returns the server.
func (x *Context) Server() Server { return Server{x} }

// Now returns the time at which the bundle of this call began.
func (x *Context) Now() time.Time { return x.s.now }

// Milliseconds returns Now in milliseconds since 1970.
func (x *Context) Milliseconds() int64 { return x.s.ms }

// Can returns what the server can do.
func (x *Context) Can() *status.Abilities { return &x.e.can }

// Settings returns what CONFIG SET can change.
func (x *Context) Settings() *session.Settings { return x.e.Settings }

// Client returns who has sent the command.
func (x *Context) Client() *session.Client { return &x.s.Client }

// Table returns the table of commands.
func (x *Context) Table() *Table { return x.e.table }

// Budget returns the budget of memory.
func (x *Context) Budget() *budget.Budget { return &x.e.Budget }

// Lookup returns the entry of a name, nil if there is none.
func (x Names) Lookup(name []byte) *catalog.Entry { return x.e.state.Names.Lookup(name, x.s.ms) }

// Read is Lookup for a command that reads: it counts in keyspace_hits or
// keyspace_misses.
func (x Names) Read(name []byte) *catalog.Entry {
	entry := x.Lookup(name)
	x.e.notes.Counters.Looked(&x.s.Client, entry != nil, 1)
	return entry
}

// Deadline returns the entry of a name and its deadline, 0 for none.
func (x Names) Deadline(name []byte) (*catalog.Entry, int64) {
	return x.e.state.Names.Deadline(name, x.s.ms)
}

// Scan sets seen to the next names, as [catalog.Catalog.Scan] finds them, but only those
// that the user may read. It enters the gate, and compares names outside it. It looks at
// fewer than count if the user has so many patterns that it would take long.
func (x Names) Scan(cursor uint64, count int, seen *[]catalog.View) uint64 {
	const pieceBytes, usualName = 4 << 20, 32
	if each := cost.Patterns(x.s.Rights()) * usualName; each > 0 {
		count = min(count, max(1, int(pieceBytes/each)))
	}
	*seen = (*seen)[:0]
	x.Look(func() {
		cursor = x.e.state.Names.Scan(cursor, count, x.s.ms, func(v catalog.View) { *seen = append(*seen, v) })
	})
	if !x.s.Rights().All() {
		*seen = slices.DeleteFunc(*seen, func(v catalog.View) bool { return !x.Readable(v.Name) })
	}
	return cursor
}

// Look calls f inside the gate: for a command that runs outside it.
func (x *Context) Look(f func()) {
	x.e.enter(x.s)
	defer x.e.leave(x.s)
	f()
}

// Worked says that a handler has looked at n more names. It lets transactions in
// between if that was much: a command of very many keys is run in pieces.
func (x *Context) Worked(n int) {
	if x.s.weight += n; x.s.inside {
		x.e.enter(x.s)
	}
}

// Random returns some name, and a nil entry if there is none. The user may not be
// allowed to read it: see Readable.
func (x Names) Random() (string, *catalog.Entry) { return x.e.state.Names.Random(x.s.ms) }

// Count returns the number of names, and of those that have a deadline.
func (x Names) Count() (all, timed int) { return x.e.state.Names.Len(), x.e.state.Names.Timed() }

// Record returns an op for a record of the catalogue. It is the call's until that is answered.
func (x Contents) Record(b store.Body) *Op {
	op := x.s.w.takeOp()
	*op = Op{Op: door.Op{Record: store.Record{At: x.s.ms, Body: b}}}
	return op
}

// Creation returns the op that makes a filter, with what it costs. It reports
// false if the record makes none.
func (x Contents) Creation(b store.Body) (*Op, bool) {
	size, err := store.NewBytes(b)
	if err != nil || store.Deep(b) {
		return nil, false
	}
	op := x.Record(b)
	op.Cost = x.e.ownCost(&op.Record, size)
	return op, true
}

// ownCost returns what a record costs here that makes something of so many bytes.
func (e *Engine) ownCost(r *store.Record, size uint64) uint64 {
	if e.state.Holdings() != nil { // others have the rest
		size = min(size, e.state.TakesAt(r, e.router.Self()))
	}
	return uint64(store.NewCost(r.NewName(), size))
}

// Hold counts n bytes of the reply until it is written. It reports false, and
// counts nothing, if there is no room for them.
func (x *Context) Hold(n int) bool { return x.e.holdReply(x.s, n) }

// Unhold gives back n bytes that Hold has counted, before the reply is written.
func (x *Context) Unhold(n int) {
	x.s.replyBytes -= n
	x.e.Hold(x.s, -n)
}

// Held returns how many bytes Hold has counted.
func (x *Context) Held() int { return x.s.replyBytes }

// Alone reports whether this runs inside a transaction: nobody else runs, and
// nothing may wait.
func (x *Context) Alone() bool { return x.s.alone }

// Queued reports whether a Before runs for a command of a transaction: those that
// stand before it have not run yet.
func (x Transaction) Queued() bool { return x.s.multi && !x.s.alone }

// Memory returns the memory of digests: those of a call's items begin at First.
func (x *Context) Memory() *scratch.Memory { return &x.s.w.Memory }

// AnswerChunk answers a piece of a dump, which is a part of the contents of p,
// and the iterator of the next. Large ones are copied outside the gate, a little
// at a time: what is written meanwhile is in the copy or not, as it is between
// two pieces.
func (x *Context) AnswerChunk(c *Call, p *contents.Part, next int64, data []byte) {
	const little = 128 << 10
	if len(data) <= little {
		c.Answer(answer.List(answer.Integer(next), answer.Text(string(data))))
		return
	}
	if !x.Hold(len(data)) {
		c.Fail(answer.TextOOM)
		return
	}
	size, from := len(data), next-int64(len(data)) // data itself is not touched any more: a write may free it
	c.AnswerLater(func() answer.Reply {
		var text strings.Builder
		text.Grow(size)
		for text.Len() < size {
			if !copyChunk(&text, p, from, min(little, size-text.Len())) {
				return answer.Fail(answer.TextNotFound)
			}
		}
		return answer.List(answer.Integer(next), answer.Text(text.String()))
	})
}

// copyChunk appends the next n bytes of the chunk at an iterator to text. It
// reports false if they are not there any more.
func copyChunk(text *strings.Builder, p *contents.Part, iter int64, n int) bool {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false
	}
	at := text.Len()
	_, chunk := p.Contents().ScanDump(iter)
	if len(chunk) < at+n {
		return false
	}
	text.Write(chunk[at : at+n])
	return true
}

// Reset puts the session back to its beginning.
func (x *Context) Reset() {
	x.e.discard(x.s)
	x.e.unmonitor(x.s)
	x.s.Reset()
	x.s.owner = false
	x.e.Users.LogOut(&x.s.Client)
}

// Begin begins a transaction. It reports false if one has begun.
func (x Transaction) Begin() bool {
	if x.s.multi {
		return false
	}
	x.s.multi, x.s.multiFailed = true, false
	x.s.InMulti.Store(1)
	return true
}

// Discard gives a transaction up. It reports false if none has begun.
func (x Transaction) Discard() bool {
	if !x.s.multi {
		return false
	}
	x.e.discard(x.s)
	return true
}

// Commit runs the queued commands and answers c. It reports false if no transaction has
// begun.
func (x Transaction) Commit(c *Call) bool {
	if !x.s.multi {
		return false
	}
	x.e.commit(x.s, c)
	return true
}

// Watch makes the next transaction depend on a key. It returns the error text if one has
// begun or there is no room for that, "" otherwise.
func (x Transaction) Watch(key []byte) string {
	if x.s.multi {
		return "ERR WATCH inside MULTI is not allowed"
	}
	return x.e.watch(x.s, key)
}

// Unwatch forgets the watched keys.
func (x Transaction) Unwatch() { x.e.unwatch(x.s) }

// unmonitor ends the monitor of a session, if it has one.
func (e *Engine) unmonitor(s *Session) {
	if e.notes.Monitors.Remove(&s.Client) {
		e.Hold(s, -session.MonitorBytes)
	}
}

// Refuses returns why writes are refused at present, nil if they are not.
func (x *Context) Refuses() error { return x.e.door.Refuses() }
