package keys

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// memory is MEMORY USAGE key [SAMPLES count].
var memory = engine.Command{
	Name: "memory", Arity: -2, Group: traits.GroupServer, Since: "4.0.0", Syntax: "subcommand", Summary: "Reports how much memory is used.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{{
		Name: "usage", Arity: -3, Flags: traits.ReadOnly | traits.Contents, Keys: traits.Keys{traits.KeyAt(2, traits.KeyRO)}, Categories: []string{"read", "slow"},
		Syntax: "key [SAMPLES count]", Complexity: "O(1)", Summary: "Returns the bytes that a key takes.",
		Cost: engine.ByKeys((*engine.Costs).Visit),
		Run:  runMemoryUsage, Assemble: engine.Sum,
	}},
}

// runMemoryUsage answers what a key takes in this server, its name and its place
// in the catalogue included, and what is noted for its followers.
func runMemoryUsage(x *engine.Context, c *engine.Call) {
	for i := 3; i < len(c.Args); i += 2 {
		if !answer.Is(c.Args[i], "samples") || i+1 == len(c.Args) {
			c.Fail(answer.TextSyntax)
			return
		}
		switch n, ok := answer.ParseInt(c.Args[i+1]); {
		case !ok:
			c.Fail(answer.TextInteger)
			return
		case n < 0:
			c.Fail(answer.TextSyntax)
			return
		}
	}
	entry := x.Names().Lookup(c.Args[2])
	if entry == nil {
		c.Answer(answer.Nil())
		return
	}
	if !x.Contents().Assembled() {
		c.Answer(answer.Integer(store.Cost(string(c.Args[2]), entry) + x.Contents().NewsBytes(entry)))
		return
	}
	n := int64(0)
	for _, p := range contents.Parts(entry) {
		if x.Contents().Mine(entry, p) {
			p.RLock()
			n += int64(p.Bytes())
			p.RUnlock()
		}
	}
	c.Answer(answer.Integer(n))
}
