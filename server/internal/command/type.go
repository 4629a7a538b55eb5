package command

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// typeCmd is TYPE key.
var typeCmd = Command{
	Name: "type", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"keyspace", "read", "fast"}, Group: groupGeneric, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Returns the type of a key.",
	run: func(e *Engine, s *Session, c *Call) {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		if entry == nil {
			c.answer(status("none"))
			return
		}
		c.answer(status(store.TypeName(entry.Kind)))
	},
}

// objectCmd is OBJECT, with its subcommands.
var objectCmd = Command{
	Name: "object", Arity: -2, Group: groupGeneric, Since: "2.2.3", Syntax: "subcommand", Summary: "Tells how a key is kept.",
	Categories: []string{"slow"},
	Subcommands: []Command{
		objectSub("encoding", "Returns the encoding of a key.", func(e *Engine, key []byte, entry *catalog.Entry) Reply {
			return bulk(encoding(entry))
		}),
		objectSub("freq", "Refused: there is no LFU policy.", func(*Engine, []byte, *catalog.Entry) Reply {
			return fail("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
		}),
		objectSub("idletime", "Returns 0: reading a key leaves no trace here.", func(*Engine, []byte, *catalog.Entry) Reply {
			return integer(0)
		}),
		objectSub("refcount", "Returns 1.", func(*Engine, []byte, *catalog.Entry) Reply { return integer(1) }),
	},
}

func objectSub(name, summary string, answer func(*Engine, []byte, *catalog.Entry) Reply) Command {
	return Command{
		Name: name, Arity: 3, Flags: ReadOnly, Keys: Keys{2, 2, 1}, KeyFlags: keyRO,
		Categories: []string{"keyspace", "read", "slow"}, Syntax: "key", Complexity: "O(1)", Summary: summary,
		run: func(e *Engine, s *Session, c *Call) {
			entry := e.state.Names.Lookup(c.Args[2], s.ms)
			if entry == nil {
				c.answer(null())
				return
			}
			c.answer(answer(e, c.Args[2], entry))
		},
	}
}

// encoding is what OBJECT ENCODING says: filters are raw, strings are told apart
// as in Redis.
func encoding(entry *catalog.Entry) string {
	if entry.Kind != catalog.String {
		return "raw"
	}
	text := store.Text(entry)
	if _, ok := parseInt([]byte(text)); ok {
		return "int"
	}
	const embedded = 44 // the longest string that Redis keeps inside the object
	if len(text) <= embedded {
		return "embstr"
	}
	return "raw"
}
