package engine

// Transactions: MULTI, EXEC and WATCH.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/store"
)

// watched is what a key was when it was watched.
type watched struct {
	id       uint64 // 0 if there was none
	version  uint64
	deadline int64
	parts    int
}

// What a watched key, and an argument of a queued command, take besides their
// bytes; and what a queued command takes besides its arguments: its place in the
// queue, which is copied when it grows, and when EXEC runs it a Call and a Reply.
const (
	watchBytes  = 96
	argBytes    = 24
	queuedBytes = 64 + callBytes + answer.ReplyBytes
)

// partsOfWatch is how many parts of a filter are looked at in the time of a watched key.
const partsOfWatch = 4

// Others wait while EXEC runs: a transaction is bounded.
const textTransaction = "ERR the transaction is too long: its commands may have %d words together, their names included (CONFIG SET max-transaction); " +
	"send them without MULTI (redis-py: pipeline(transaction=False)), or in several smaller transactions"

// enqueue keeps a call for EXEC. Its arguments are copied: the buffer they are
// in will be used again. Of a transaction that has failed nothing is kept.
func (e *Engine) enqueue(s *Session, c *Call) {
	c.Answer(answer.Word("QUEUED"))
	c.queued = true
	if s.multiFailed {
		e.unqueue(s)
		return
	}
	if s.queuedWords += len(c.Args); int64(s.queuedWords) > e.Settings.MaxTransaction.Load() {
		s.multiFailed = true
		e.unqueue(s)
		c.Fail(fmt.Sprintf(textTransaction, e.Settings.MaxTransaction.Load()))
		return
	}
	text := 0
	for _, a := range c.Args {
		text += len(a)
	}
	if text >= store.Long {
		e.leave(s)
	}
	size := queuedBytes + len(c.Args)*argBytes + text
	s.queuedBytes += size
	if !e.Hold(s, size) {
		s.multiFailed = true
		e.unqueue(s)
		c.Fail(answer.TextOOM)
		return
	}
	args, buf := make([][]byte, len(c.Args)), make([]byte, 0, text)
	for i, a := range c.Args {
		at := len(buf)
		buf = append(buf, a...)
		args[i] = buf[at:len(buf):len(buf)]
	}
	s.queue = append(s.queue, args)
	s.queuedWrite = s.queuedWrite || c.cmd.writes()
	s.InMulti.Add(1)
}

// unqueue forgets the queued commands.
func (e *Engine) unqueue(s *Session) {
	e.Hold(s, -s.queuedBytes)
	s.queue, s.queuedBytes, s.queuedWords = nil, 0, 0
}

// discard ends a transaction and forgets the watched keys.
func (e *Engine) discard(s *Session) {
	e.unqueue(s)
	e.unwatch(s)
	s.multi, s.multiFailed, s.queuedWrite = false, false, false
	s.InMulti.Store(0)
}

// unwatch forgets the watched keys.
func (e *Engine) unwatch(s *Session) {
	e.Hold(s, -s.watchBytes)
	s.watches, s.watchBytes, s.watchedParts = nil, 0, 0
	s.Watches.Store(0)
}

// Close gives back what a session holds when its connection ends.
func (e *Engine) Close(s *Session) {
	e.discard(s)
	e.unmonitor(s)
	e.unstage(s)
	e.unpark(s)
	e.uncopy(s)
	e.Release(s)
}

// watch notes what a key is now. It returns the error text if there is no room for
// it, "" otherwise.
func (e *Engine) watch(s *Session, key []byte) string {
	if _, ok := s.watches[string(key)]; ok {
		return ""
	}
	if most := e.Settings.MaxTransaction.Load(); int64(len(s.watches)) >= most {
		return fmt.Sprintf("ERR too many watched keys: at most %d (CONFIG SET max-transaction)", most)
	}
	if entry := e.state.Names.Lookup(key, s.ms); e.state.Holdings() != nil && entry != nil && !e.answers(entry) {
		return textWatchFar + e.nodesNamed(e.router.Holders(contents.PartOf(entry).Shard()))
	}
	size := len(key) + watchBytes
	s.watchBytes += size
	if !e.Hold(s, size) {
		return answer.TextOOM
	}
	if s.watches == nil {
		s.watches = make(map[string]watched)
	}
	w := e.look(s, key)
	s.watches[string(key)], s.watchedParts = w, s.watchedParts+max(1, w.parts/partsOfWatch)
	s.Watches.Add(1)
	return ""
}

// look returns what a key is now.
func (e *Engine) look(s *Session, key []byte) watched {
	entry, deadline := e.state.Names.Deadline(key, s.ms)
	if entry == nil {
		return watched{}
	}
	return lookAt(entry, deadline)
}

// lookAt returns what a key is that has an entry.
func lookAt(entry *catalog.Entry, deadline int64) watched {
	w := watched{id: entry.ID, deadline: deadline, parts: contents.PartCount(entry)}
	for _, p := range contents.Parts(entry) {
		w.version += p.Version() // versions only rise: so does their sum
	}
	return w
}

// commit runs the queued commands with no other in between, unless that takes too long
// for the others. What takes long is done before the gate is closed, or when it is open
// again.
func (e *Engine) commit(s *Session, c *Call) {
	if s.multiFailed {
		e.discard(s)
		c.Fail(answer.TextExecAbort)
		return
	}
	calls := make([]Call, len(s.queue))
	costs, writes, long := e.count(s, calls)
	defer func() { s.cleared = nil }()
	if e.abandoned(s, c) {
		return
	}
	if e.shared != nil && e.passBlock(s, c, calls) {
		return
	}
	if long {
		if text := costs.TooMuch(); text != "" {
			e.discard(s)
			c.Fail(text)
			return
		}
		e.before(s, calls)
		costs, _, _ = e.count(s, calls) // with what was made
	}
	note := e.bar(s, calls)
	if e.abandoned(s, c) {
		return
	}
	held := s.queuedBytes
	s.queuedBytes = 0 // until the replies are made
	defer e.Hold(s, -held)
	if writes {
		if err := e.door.Refuses(); err != nil { // it is not asked again, so that all is done or nothing
			e.discard(s)
			c.Answer(refusal.Write(e.shared, err))
			return
		}
	}
	if e.shared != nil {
		s.wrote = s.wrote || writes
		e.commitGroup(s, c, calls, costs)
	} else {
		e.commitAlone(s, c, calls, costs, writes)
	}
	e.finish(s, calls)
	e.discard(s)
	if c.answered {
		return
	}
	note()
	for i := range calls {
		if !calls[i].barred {
			e.feed(s, calls[i:i+1])
		}
	}
	elems := make([]answer.Reply, len(calls))
	for i := range calls {
		elems[i] = calls[i].Reply
	}
	c.Answer(answer.List(elems...))
}

// abandoned gives up a transaction whose client was killed while its rights were found out.
func (e *Engine) abandoned(s *Session, c *Call) bool {
	if !s.Ended() {
		return false
	}
	e.discard(s)
	c.Fail(answer.TextStopped)
	return true
}

// maxTouches is how often a transaction has pages made: other clients may give its filters new arrays meanwhile.
const maxTouches = 4

// commitAlone runs the queued commands while nobody else runs any. If it finds that pages have to be made first
// for what they add, it lets the others go on until that is done.
func (e *Engine) commitAlone(s *Session, c *Call, calls []Call, costs *Costs, writes bool) {
	for try := 0; ; try++ {
		var untouched, loose []*contents.Part
		e.closed(s, writes, func() {
			if text := costs.TooMuch(); text != "" { // first: what is watched is counted, too
				c.Fail(text)
				return
			}
			if e.changed(s, s.watches) {
				c.Answer(answer.Reply{Kind: answer.NullArray})
				return
			}
			if untouched, loose = costs.Pages(); len(untouched)+len(loose) > 0 {
				return
			}
			e.discard(s)
			e.runQueue(s, calls)
		})
		switch {
		case len(untouched)+len(loose) == 0:
			return
		case try == maxTouches:
			c.Fail(textAgain)
			return
		case !e.touch(s, untouched, loose):
			c.Fail(answer.TextStopped)
			return
		}
	}
}

// touch has the system make the pages of parts, and move those of loose ones, outside of the gate. It reports false if the client
// was killed meanwhile: then nothing more is done for it.
func (e *Engine) touch(s *Session, untouched, loose []*contents.Part) bool {
	e.leave(s)
	e.waits(s, "pages of arrays")
	for _, p := range untouched { // once the client is gone, Touch and Gather do nothing
		p.Touch(s.Ended)
	}
	for _, p := range loose {
		p.Gather(s.Ended)
	}
	for !s.helps && !s.Ended() && e.Pause.Holds(true) { // it has begun meanwhile
		e.Pause.Wait(&s.Client, s.Ended)
	}
	return !s.Ended()
}

// count makes calls of the queued commands and counts what they cost. It reports whether
// one of them writes, and whether one has something to do outside the gate first. What
// the user may do is found out here, too, since it takes long with very many patterns.
func (e *Engine) count(s *Session, calls []Call) (costs *Costs, writes, long bool) {
	costs = e.newCosts(s)
	s.cleared = s.Rights()
	var cmd *Command
	for i, args := range s.queue {
		c := &calls[i]
		if c.Args, c.own = args, true; s.Ended() {
			break
		}
		if i == 0 || cmd == nil || cmd.sub || string(args[0]) != string(s.queue[i-1][0]) {
			cmd = e.table.resolve(args)
		}
		if cmd == nil {
			continue
		}
		writes = writes || cmd.writes()
		if c.barred = !cmd.allowed(s, s.cleared, args); !c.barred {
			long = long || cmd.Before != nil
			costs.call(cmd, c)
		}
	}
	return costs, writes, long
}

// before does what commands of a transaction do outside the gate.
func (e *Engine) before(s *Session, calls []Call) {
	for i := range calls {
		c := &calls[i]
		if cmd := e.table.resolve(c.Args); cmd != nil && !c.barred && cmd.Before != nil {
			c.cmd, s.running = cmd, cmd
			cmd.Before(&s.ctx, c)
		}
	}
}

// runQueue runs the commands of a transaction, each on its own.
func (e *Engine) runQueue(s *Session, calls []Call) {
	outer := s.w
	s.w = &Workspace{}
	defer func() { s.w = outer }()
	quit := s.Quit
	for i := range calls {
		if s.Quit = false; calls[i].barred {
			continue
		}
		cmd := calls[i].cmd
		held := s.replyBytes
		e.run(s, calls[i:i+1])
		e.settle(s)
		e.keepReply(s, &calls[i], held)
		if calls[i].cmd == nil { // it was refused: After cleans up behind Before all the same
			calls[i].cmd, calls[i].barred = cmd, true
		}
		quit = quit || s.Quit
	}
	s.Quit = quit
}

// Alone runs f while nothing looks at data or changes it, but for f: a door of several
// machines applies groups so. It waits for nothing that a client does.
func (e *Engine) Alone(f func()) {
	e.gate.Close()
	defer e.gate.Open()
	f()
}

// closed runs f while the gate is closed for all others. If f writes, its records
// stand between marks: recovery takes all or none.
func (e *Engine) closed(s *Session, writes bool, f func()) {
	e.waits(s, "room in the log")
	if writes {
		e.door.Ready(false)
	}
	e.gate.Close()
	s.alone = true
	defer func() {
		s.alone = false
		e.gate.Open()
	}()
	if writes {
		s.wrote = true
		e.mark(&store.Begin{})
		defer e.mark(&store.Commit{}) // also if a command panics: what it has done stays in memory
	}
	f()
}

func (e *Engine) mark(b store.Body) {
	ops := []*door.Op{{Record: store.Record{Body: b}}}
	e.door.Do(ops)
	if !ops[0].Settled {
		e.door.Wait(ops)
	}
}
