package command

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// multiCmd is MULTI.
var multiCmd = Command{
	Name: "multi", Arity: 1, Flags: Fast | NoScript | Loading | Stale | immediate,
	Categories: []string{"fast", "transaction"}, Group: groupMulti,
	Since: "1.2.0", Complexity: "O(1)", Summary: "Begins a transaction.",
	run: func(_ *Engine, s *Session, c *Call) {
		if s.multi {
			c.answer(fail("ERR MULTI calls can not be nested"))
			return
		}
		s.multi, s.multiFailed = true, false
		s.inMulti.Store(true)
		c.answer(okReply)
	},
}

// discardCmd is DISCARD.
var discardCmd = Command{
	Name: "discard", Arity: 1, Flags: Fast | NoScript | Loading | Stale | immediate,
	Categories: []string{"fast", "transaction"}, Group: groupMulti,
	Since: "2.0.0", Complexity: "O(n), n being the number of queued commands", Summary: "Gives a transaction up.",
	run: func(e *Engine, s *Session, c *Call) {
		if !s.multi {
			c.answer(fail("ERR DISCARD without MULTI"))
			return
		}
		e.discard(s)
		c.answer(okReply)
	},
}

// execCmd is EXEC.
var execCmd = Command{
	Name: "exec", Arity: 1, Flags: NoScript | Loading | Stale | immediate,
	Categories: []string{"slow", "transaction"}, Group: groupMulti,
	Since: "1.2.0", Complexity: "that of the queued commands", Summary: "Runs the commands of a transaction, with no other in between.",
	run: runExec,
}

// enqueue keeps a call for EXEC. Its arguments are copied: the buffer they are
// in will be used again.
func (s *Session) enqueue(e *Engine, c *Call) {
	size := 0
	for _, a := range c.Args {
		size += len(a) + 24
	}
	s.queuedBytes += size
	if !e.Budget.Hold(size) {
		s.multiFailed = true
		c.answer(fail(textOOM))
		return
	}
	args := make([][]byte, len(c.Args))
	for i, a := range c.Args {
		args[i] = append([]byte(nil), a...)
	}
	s.queue = append(s.queue, args)
	c.answer(status("QUEUED"))
}

// discard ends a transaction and forgets the watched keys.
func (e *Engine) discard(s *Session) {
	e.Budget.Hold(-s.queuedBytes)
	e.unwatch(s)
	s.multi, s.multiFailed = false, false
	s.queue, s.queuedBytes = nil, 0
	s.inMulti.Store(false)
}

// Close gives back what a session holds when its connection ends.
func (e *Engine) Close(s *Session) { e.discard(s) }

func runExec(e *Engine, s *Session, c *Call) {
	if !s.multi {
		c.answer(fail("ERR EXEC without MULTI"))
		return
	}
	queue, failed := s.queue, s.multiFailed
	if failed {
		e.discard(s)
		c.answer(fail(textExecAbort))
		return
	}
	// Everything runs under the read lock of the gate; a transaction needs it
	// alone.
	e.gate.RUnlock()
	e.gate.Lock()
	defer func() {
		e.gate.Unlock()
		e.gate.RLock()
	}()
	if e.watchedChanged(s) {
		e.discard(s)
		c.answer(Reply{Kind: NullArray})
		return
	}
	e.discard(s)
	c.answer(array(e.execQueue(s, queue)...))
}

// execQueue runs the commands of a transaction one by one. If one of them
// writes, the records stand between marks: recovery takes all or none.
func (e *Engine) execQueue(s *Session, queue [][][]byte) []Reply {
	outer := s.w
	w := &Workspace{}
	s.w, s.inExec = w, true
	mark := e.writes(queue)
	if mark {
		s.wrote = true
		e.do(&door.Op{Record: store.Record{Op: store.OpBegin}})
		// Also if a command panics: what it has done stays in memory.
		defer e.do(&door.Op{Record: store.Record{Op: store.OpCommit}})
	}
	elems := make([]Reply, len(queue))
	for i, args := range queue {
		w.Calls = append(w.Calls[:0], Call{Args: args})
		quit := s.Quit
		e.exec(s, w.Calls)
		s.Quit = s.Quit || quit
		elems[i] = w.Calls[0].Reply
	}
	s.w, s.inExec = outer, false
	return elems
}

// writes reports whether a transaction may change data.
func (e *Engine) writes(queue [][][]byte) bool {
	for _, args := range queue {
		if cmd := e.table.Lookup(args[0]); cmd != nil && (cmd.Flags&Write != 0 || cmd.filter != nil && cmd.filter.write != nil) {
			return true
		}
	}
	return false
}
