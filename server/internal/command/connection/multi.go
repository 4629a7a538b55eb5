package connection

// MULTI, EXEC, DISCARD, WATCH and UNWATCH.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// multi is MULTI.
var multi = engine.Command{
	Name: "multi", Arity: 1, Flags: traits.Fast | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Categories: []string{"fast", "transaction"}, Group: traits.GroupMulti,
	Since: "1.2.0", Complexity: "O(1)", Summary: "Begins a transaction.",
	Run: func(x *engine.Context, c *engine.Call) {
		if !x.Transaction().Begin() {
			c.Fail("ERR MULTI calls can not be nested")
			return
		}
		c.Answer(answer.OK())
	},
}

// discard is DISCARD.
var discard = engine.Command{
	Name: "discard", Arity: 1, Flags: traits.Fast | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Categories: []string{"fast", "transaction"}, Group: traits.GroupMulti,
	Since: "2.0.0", Complexity: "O(n), n being the number of queued commands", Summary: "Gives a transaction up.",
	Run: func(x *engine.Context, c *engine.Call) {
		if !x.Transaction().Discard() {
			c.Fail("ERR DISCARD without MULTI")
			return
		}
		c.Answer(answer.OK())
	},
}

// exec is EXEC.
var exec = engine.Command{
	Name: "exec", Arity: 1, Flags: traits.NoScript | traits.Loading | traits.Stale | traits.Immediate | traits.Outside,
	Categories: []string{"slow", "transaction"}, Group: traits.GroupMulti,
	Since: "1.2.0", Complexity: "that of the queued commands", Summary: "Runs the commands of a transaction, with no other in between. A transaction that would touch more data than max-transaction allows is refused as a whole.",
	Run: func(x *engine.Context, c *engine.Call) {
		if !x.Transaction().Commit(c) {
			c.Fail("ERR EXEC without MULTI")
		}
	},
}

// watch is WATCH key [key ...].
var watch = engine.Command{
	Name: "watch", Arity: -2, Flags: traits.Fast | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Keys:       traits.AllKeys(traits.KeyRO),
	Categories: []string{"fast", "transaction"}, Group: traits.GroupMulti, Since: "2.2.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Makes the next EXEC depend on keys not changing.",
	Run: func(x *engine.Context, c *engine.Call) {
		for _, key := range c.Args[1:] {
			if text := x.Transaction().Watch(key); text != "" {
				c.Fail(text)
				return
			}
			x.Worked(1)
		}
		c.Answer(answer.OK())
	},
}

// unwatch is UNWATCH.
var unwatch = engine.Command{
	Name: "unwatch", Arity: 1, Flags: traits.Fast | traits.NoScript | traits.Loading | traits.Stale,
	Categories: []string{"fast", "transaction"}, Group: traits.GroupMulti, Since: "2.2.0",
	Complexity: "O(1)", Summary: "Forgets the watched keys.",
	Run: func(x *engine.Context, c *engine.Call) {
		x.Transaction().Unwatch()
		c.Answer(answer.OK())
	},
}
