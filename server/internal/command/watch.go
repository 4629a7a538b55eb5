package command

import "github.com/bloomery/bloomery/server/internal/store"

// watched is what a key was when it was watched.
type watched struct {
	id       uint64 // 0 if there was none
	version  uint64
	deadline int64
}

// watchBytes is what a watched key takes besides its name.
const watchBytes = 96

// watchCmd is WATCH key [key ...].
var watchCmd = Command{
	Name: "watch", Arity: -2, Flags: Fast | NoScript | Loading | Stale | immediate, Keys: Keys{1, -1, 1}, KeyFlags: keyRO,
	Categories: []string{"fast", "transaction"}, Group: groupMulti, Since: "2.2.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Makes the next EXEC depend on keys not changing.",
	run: func(e *Engine, s *Session, c *Call) {
		if s.multi {
			c.answer(fail("ERR WATCH inside MULTI is not allowed"))
			return
		}
		if s.watches == nil {
			s.watches = make(map[string]watched)
		}
		for _, key := range c.Args[1:] {
			if _, ok := s.watches[string(key)]; ok {
				continue
			}
			size := len(key) + watchBytes
			s.watchedBytes += size
			if !e.Budget.Hold(size) {
				c.answer(fail(textOOM))
				return
			}
			s.watches[string(key)] = e.look(s, string(key))
		}
		c.answer(okReply)
	},
}

// unwatchCmd is UNWATCH.
var unwatchCmd = Command{
	Name: "unwatch", Arity: 1, Flags: Fast | NoScript | Loading | Stale,
	Categories: []string{"fast", "transaction"}, Group: groupMulti, Since: "2.2.0",
	Complexity: "O(1)", Summary: "Forgets the watched keys.",
	run: func(e *Engine, s *Session, c *Call) {
		e.unwatch(s)
		c.answer(okReply)
	},
}

// unwatch forgets the watched keys.
func (e *Engine) unwatch(s *Session) {
	e.Budget.Hold(-s.watchedBytes)
	s.watches, s.watchedBytes = nil, 0
}

// look tells what a key is now.
func (e *Engine) look(s *Session, key string) watched {
	entry, deadline := e.state.Names.Deadline([]byte(key), s.ms)
	if entry == nil {
		return watched{}
	}
	w := watched{id: entry.ID, deadline: deadline}
	if p := store.PartOf(entry); p != nil {
		w.version = p.Version()
	}
	return w
}

func (e *Engine) watchedChanged(s *Session) bool {
	for key, before := range s.watches {
		if e.look(s, key) != before {
			return true
		}
	}
	return false
}
