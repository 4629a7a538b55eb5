package keys

import (
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// flushAll is FLUSHALL [ASYNC | SYNC].
var flushAll = engine.Command{
	Name: "flushall", Arity: -1, Flags: engine.Write, Categories: []string{"keyspace", "write", "slow", "dangerous"}, Group: engine.GroupServer,
	Since: "1.0.0", Syntax: "[ASYNC | SYNC]", Complexity: "O(n), n being the number of keys", Summary: "Removes all keys.",
	Prepare: prepareFlush, Reply: replyFlush,
}

// flushDB is FLUSHDB [ASYNC | SYNC].
var flushDB = engine.Command{
	Name: "flushdb", Arity: -1, Flags: engine.Write, Categories: []string{"keyspace", "write", "slow", "dangerous"}, Group: engine.GroupServer,
	Since: "1.0.0", Syntax: "[ASYNC | SYNC]", Complexity: "O(n), n being the number of keys", Summary: "Removes all keys.",
	Prepare: prepareFlush, Reply: replyFlush,
}

func prepareFlush(x *engine.Context, c *engine.Call) *engine.Op {
	if len(c.Args) > 2 || len(c.Args) == 2 && !engine.Is(c.Args[1], "async") && !engine.Is(c.Args[1], "sync") {
		c.Fail(engine.TextSyntax)
		return nil
	}
	return x.Record(store.Record{Op: store.OpFlush})
}

func replyFlush(c *engine.Call, _ *store.Result) { c.Answer(engine.OK()) }
