package keys

// FLUSHALL and FLUSHDB.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// flushAll is FLUSHALL [ASYNC | SYNC].
var flushAll = engine.Command{
	Name: "flushall", Arity: -1, Flags: traits.Write | traits.Everything, Categories: []string{"keyspace", "write", "slow", "dangerous", "delete"}, Group: traits.GroupServer,
	Since: "1.0.0", Syntax: "[ASYNC | SYNC]", Complexity: "O(n), n being the number of keys", Summary: "Removes all keys.",
	Cost:    func(x *engine.Costs, _ *engine.Call) { x.FreeAll() },
	Prepare: prepareFlush, Reply: replyFlush, After: afterFlush,
}

// flushDB is FLUSHDB [ASYNC | SYNC].
var flushDB = engine.Command{
	Name: "flushdb", Arity: -1, Flags: traits.Write | traits.Everything, Categories: []string{"keyspace", "write", "slow", "dangerous", "delete"}, Group: traits.GroupServer,
	Since: "1.0.0", Syntax: "[ASYNC | SYNC]", Complexity: "O(n), n being the number of keys", Summary: "Removes all keys.",
	Cost:    func(x *engine.Costs, _ *engine.Call) { x.FreeAll() },
	Prepare: prepareFlush, Reply: replyFlush, After: afterFlush,
}

func prepareFlush(x *engine.Context, c *engine.Call) *engine.Op {
	if len(c.Args) > 2 || len(c.Args) == 2 && !answer.Is(c.Args[1], "async") && !answer.Is(c.Args[1], "sync") {
		c.Fail(answer.TextSyntax)
		return nil
	}
	return x.Contents().Record(&store.Flush{})
}

func replyFlush(c *engine.Call, res *store.Result) {
	if res.Left != nil && (len(c.Args) == 1 || answer.Is(c.Args[1], "sync")) {
		c.Option = res.Left
	}
	c.Answer(answer.OK())
}

// afterFlush waits, unless ASYNC was asked for, until the memory is given back.
// Other clients go on meanwhile.
func afterFlush(_ *engine.Context, c *engine.Call) {
	if left, ok := c.Option.(<-chan struct{}); ok {
		<-left
	}
}
