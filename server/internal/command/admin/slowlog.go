package admin

// SLOWLOG and MONITOR.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// slowLog is SLOWLOG, with its subcommands.
var slowLog = engine.Command{
	Name: "slowlog", Arity: -2, Group: traits.GroupServer, Since: "2.2.12", Syntax: "subcommand", Summary: "Lists the commands that took long.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{
		{
			Name: "get", Arity: -2, Max: 3, Flags: traits.Admin | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Syntax: "[count]", Complexity: "O(n), n being the number of entries", Summary: "Returns the latest entries.",
			Run: func(x *engine.Context, c *engine.Call) {
				n := int64(10)
				if len(c.Args) == 3 {
					var ok bool
					if n, ok = answer.ParseInt(c.Args[2]); !ok || n < -1 {
						c.Fail("ERR count should be greater than or equal to -1")
						return
					}
				}
				c.Answer(slowReply(x.Server().Notes().Slow.Latest(n)))
			},
		},
		{
			Name: "len", Arity: 2, Flags: traits.Admin | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Returns the number of entries.",
			Run: func(x *engine.Context, c *engine.Call) {
				c.Answer(answer.Integer(int64(x.Server().Notes().Slow.Len())))
			},
		},
		{
			Name: "reset", Arity: 2, Flags: traits.Admin | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(n), n being the number of entries", Summary: "Removes the entries.",
			Run: func(x *engine.Context, c *engine.Call) {
				x.Server().Notes().Slow.Reset()
				c.Answer(answer.OK())
			},
		},
	},
}

// monitor is MONITOR.
var monitor = engine.Command{
	Name: "monitor", Arity: 1, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Loading | traits.Stale,
	Categories: []string{"admin", "slow", "dangerous"}, Group: traits.GroupServer, Since: "1.0.0", Complexity: "O(1)",
	Summary: "Shows the commands of all clients as they are run, without passwords and without those of operators. " +
		"A client that does not take them as fast as they come is closed.",
	Run: func(x *engine.Context, c *engine.Call) {
		if !x.Server().Monitor() {
			c.Fail(answer.TextOOM)
			return
		}
		c.Answer(answer.OK())
	},
}

func slowReply(entries []session.SlowEntry) answer.Reply {
	elems := []answer.Reply{}
	for _, e := range entries {
		elems = append(elems, answer.List(answer.Integer(e.ID), answer.Integer(e.At.Unix()), answer.Integer(e.Took.Microseconds()),
			answer.Texts(e.Args), answer.Text(e.Addr), answer.Text(e.Name)))
	}
	return answer.List(elems...)
}
