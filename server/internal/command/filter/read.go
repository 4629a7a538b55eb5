package filter

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// read is FILTER.READ OWNER | LOCAL.
var read = engine.Command{
	Name: "filter.read", Arity: 2, Flags: traits.Fast | traits.Loading | traits.Stale, Categories: []string{"filter", "fast", "connection"},
	Group: traits.GroupFilter, Since: "0.1.0", Syntax: "OWNER | LOCAL", Complexity: "O(1)",
	Summary: "Sets what the reads of this connection see in a cluster. OWNER: everything that any node had acknowledged when they were sent; " +
		"they wait for a majority of nodes. LOCAL, the default: what this node has. On a single server both are the same.",
	Run: func(x *engine.Context, c *engine.Call) {
		switch {
		case answer.Is(c.Args[1], "owner"):
			x.SetOwner(true)
		case answer.Is(c.Args[1], "local"):
			x.SetOwner(false)
		default:
			c.Fail(answer.TextSyntax + ": '" + blueprint.Clip(c.Args[1]) + "' is not OWNER or LOCAL")
			return
		}
		c.Answer(answer.OK())
	},
}
