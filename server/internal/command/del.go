package command

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// delCmd is DEL key [key ...].
var delCmd = Command{
	Name: "del", Arity: -2, Flags: Write, Keys: Keys{1, -1, 1}, KeyFlags: keyDelete,
	Categories: []string{"keyspace", "write", "slow"}, Group: groupGeneric, Since: "1.0.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Removes keys.",
	run: runDel,
}

// unlinkCmd is UNLINK key [key ...]. Memory is freed in the background by DEL
// too.
var unlinkCmd = Command{
	Name: "unlink", Arity: -2, Flags: Write | Fast, Keys: Keys{1, -1, 1}, KeyFlags: keyDelete,
	Categories: []string{"keyspace", "write", "fast"}, Group: groupGeneric, Since: "4.0.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Removes keys, as DEL does.",
	run: runDel,
}

func runDel(e *Engine, s *Session, c *Call) {
	op := door.Op{Record: store.Record{Op: store.OpRemove, Names: c.Args[1:], At: s.ms}}
	e.do(&op)
	c.answer(integer(op.Result.N))
}

// existsCmd is EXISTS key [key ...].
var existsCmd = Command{
	Name: "exists", Arity: -2, Flags: ReadOnly | Fast, Keys: Keys{1, -1, 1}, KeyFlags: keyRO,
	Categories: []string{"keyspace", "read", "fast"}, Group: groupGeneric, Since: "1.0.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Returns how many of the keys are there.",
	run: runExists,
}

// touchCmd is TOUCH key [key ...].
var touchCmd = Command{
	Name: "touch", Arity: -2, Flags: ReadOnly | Fast, Keys: Keys{1, -1, 1}, KeyFlags: keyRO,
	Categories: []string{"keyspace", "read", "fast"}, Group: groupGeneric, Since: "3.2.1",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Returns how many of the keys are there.",
	run: runExists,
}

func runExists(e *Engine, s *Session, c *Call) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if e.state.Names.Lookup(key, s.ms) != nil {
			n++
		}
	}
	c.answer(integer(n))
}
