package command

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// copyCmd is COPY source destination [DB index] [REPLACE]. Filters cannot be
// copied, as in RedisBloom.
var copyCmd = Command{
	Name: "copy", Arity: -3, Flags: Write | DenyOOM, Keys: Keys{1, 2, 1}, KeyFlags: keyRW,
	Categories: []string{"keyspace", "write", "slow"}, Group: groupGeneric, Since: "6.2.0",
	Syntax: "source destination [DB destination-db] [REPLACE]", Complexity: "O(n), n being the length of the string",
	Summary: "Copies a string. Filters are refused, as by RedisBloom.",
	run:     runCopy,
}

func parseCopy(args [][]byte) (replace bool, text string) {
	for i := 3; i < len(args); i++ {
		switch {
		case is(args[i], "replace"):
			replace = true
		case is(args[i], "db") && i+1 < len(args):
			i++
			n, ok := parseInt(args[i])
			if !ok {
				return false, textInteger
			}
			if n != 0 {
				return false, textDB
			}
		default:
			return false, textSyntax
		}
	}
	return replace, ""
}

func runCopy(e *Engine, s *Session, c *Call) {
	replace, text := parseCopy(c.Args)
	if text != "" {
		c.answer(fail(text))
		return
	}
	if string(c.Args[1]) == string(c.Args[2]) {
		c.answer(fail("ERR source and destination objects are the same"))
		return
	}
	entry, deadline := e.state.Names.Deadline(c.Args[1], s.ms)
	if entry == nil {
		c.answer(integer(0))
		return
	}
	if !replace && e.state.Names.Lookup(c.Args[2], s.ms) != nil {
		c.answer(integer(0))
		return
	}
	if entry.Kind != catalog.String {
		c.answer(fail(textModuleCopy))
		return
	}
	r := store.Record{Op: store.OpSet, Name: c.Args[2], Value: []byte(store.Text(entry)), At: s.ms, Deadline: deadline}
	if !replace {
		r.Flags = store.IfAbsent
	}
	op := door.Op{Record: r}
	e.do(&op)
	c.answer(flag(op.Result.Err == nil))
}
