package command

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// flushAllCmd is FLUSHALL [ASYNC | SYNC].
var flushAllCmd = Command{
	Name: "flushall", Arity: -1, Flags: Write, Categories: []string{"keyspace", "write", "slow", "dangerous"}, Group: groupServer,
	Since: "1.0.0", Syntax: "[ASYNC | SYNC]", Complexity: "O(n), n being the number of keys", Summary: "Removes all keys.",
	run: runFlush,
}

// flushDBCmd is FLUSHDB [ASYNC | SYNC].
var flushDBCmd = Command{
	Name: "flushdb", Arity: -1, Flags: Write, Categories: []string{"keyspace", "write", "slow", "dangerous"}, Group: groupServer,
	Since: "1.0.0", Syntax: "[ASYNC | SYNC]", Complexity: "O(n), n being the number of keys", Summary: "Removes all keys.",
	run: runFlush,
}

func runFlush(e *Engine, s *Session, c *Call) {
	if len(c.Args) > 2 || len(c.Args) == 2 && !is(c.Args[1], "async") && !is(c.Args[1], "sync") {
		c.answer(fail(textSyntax))
		return
	}
	op := door.Op{Record: store.Record{Op: store.OpFlush, At: s.ms}}
	e.do(&op)
	c.answer(okReply)
}
