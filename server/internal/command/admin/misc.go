package admin

// TIME, WAIT, CLUSTER and other small commands.

import (
	"strconv"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// timeCommand is TIME.
var timeCommand = engine.Command{
	Name: "time", Arity: 1, Flags: traits.Fast | traits.Loading | traits.Stale, Categories: []string{"fast"}, Group: traits.GroupServer,
	Since: "2.6.0", Complexity: "O(1)", Summary: "Returns seconds and microseconds since 1970.",
	Run: func(x *engine.Context, c *engine.Call) {
		micros := x.Now().UnixMicro()
		c.Answer(answer.List(answer.Text(strconv.FormatInt(micros/1e6, 10)), answer.Text(strconv.FormatInt(micros%1e6, 10))))
	},
}

// wait is WAIT numreplicas timeout. There are no replicas, so there is
// nothing to wait for.
var wait = engine.Command{
	Name: "wait", Arity: 3, Flags: 0, Categories: []string{"slow", "connection"}, Group: traits.GroupGeneric,
	Since: "3.0.0", Syntax: "numreplicas timeout", Complexity: "O(1)", Summary: "Returns 0: there are no replicas.",
	Run: func(_ *engine.Context, c *engine.Call) {
		_, ok := answer.ParseInt(c.Args[1])
		timeout, ok2 := answer.ParseInt(c.Args[2])
		switch {
		case !ok:
			c.Fail(answer.TextInteger)
		case !ok2:
			c.Fail("ERR timeout is not an integer or out of range")
		case timeout < 0:
			c.Fail("ERR timeout is negative")
		default:
			c.Answer(answer.Integer(0))
		}
	},
}

// module is MODULE LIST.
var module = engine.Command{
	Name: "module", Arity: -2, Group: traits.GroupServer, Since: "4.0.0", Syntax: "LIST", Summary: "Lists modules.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{{
		Name: "list", Arity: 2, Flags: traits.Admin | traits.NoScript, Categories: []string{"admin", "slow", "dangerous"}, Complexity: "O(1)",
		Summary: "Lists the modules: bf, which is built in.",
		Run:     func(_ *engine.Context, c *engine.Call) { c.Answer(answer.List(answer.BloomModule())) },
	}},
}
