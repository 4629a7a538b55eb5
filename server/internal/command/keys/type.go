package keys

// TYPE and OBJECT.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// typeCmd is TYPE key.
var typeCmd = engine.Command{
	Name: "type", Arity: 2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"keyspace", "read", "fast"}, Group: traits.GroupGeneric, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Returns the type of a key.",
	Cost: engine.ByWords,
	Run: func(x *engine.Context, c *engine.Call) {
		entry := x.Names().Lookup(c.Args[1])
		if entry == nil {
			c.Answer(answer.Word("none"))
			return
		}
		c.Answer(answer.Word(contents.TypeName(entry.Kind)))
	},
}

// object is OBJECT, with its subcommands.
var object = engine.Command{
	Name: "object", Arity: -2, Group: traits.GroupGeneric, Since: "2.2.3", Syntax: "subcommand", Summary: "Describes how a key is stored.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{
		objectSub("encoding", "Returns the encoding of a key.", func(entry *catalog.Entry) answer.Reply {
			return answer.Text(encoding(entry))
		}),
		objectSub("freq", "Refused: there is no LFU policy.", func(*catalog.Entry) answer.Reply {
			return answer.Fail("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
		}),
		objectSub("idletime", "Returns 0: reading a key leaves no trace here.", func(*catalog.Entry) answer.Reply {
			return answer.Integer(0)
		}),
		objectSub("refcount", "Returns 1.", func(*catalog.Entry) answer.Reply { return answer.Integer(1) }),
	},
}

func objectSub(name, summary string, of func(*catalog.Entry) answer.Reply) engine.Command {
	return engine.Command{
		Name: name, Arity: 3, Flags: traits.ReadOnly, Keys: traits.Keys{traits.KeyAt(2, traits.KeyRO)},
		Categories: []string{"keyspace", "read", "slow"}, Syntax: "key", Complexity: "O(1)", Summary: summary,
		Cost: engine.ByWords,
		Run: func(x *engine.Context, c *engine.Call) {
			entry := x.Names().Lookup(c.Args[2])
			if entry == nil {
				c.Answer(answer.Nil())
				return
			}
			c.Answer(of(entry))
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
	if _, ok := answer.ParseInt([]byte(text)); ok {
		return "int"
	}
	const embedded = 44 // the longest string that Redis keeps inside the object
	if len(text) <= embedded {
		return "embstr"
	}
	return "raw"
}
