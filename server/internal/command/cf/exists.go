package cf

// CF.EXISTS, CF.MEXISTS and CF.COUNT.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// exists is CF.EXISTS key item.
var exists = engine.Command{
	Name: "cf.exists", Arity: 3, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters",
	Summary: "Reports whether an item may be in a cuckoo filter.",
	Many:    "cf.mexists",
	On:      &bundle.OnFilter{Family: family, Contains: true, Single: true, Absent: bundle.NoneOf, Foreign: bundle.NoneOf},
}

// mExists is CF.MEXISTS key item [item ...].
var mExists = engine.Command{
	Name: "cf.mexists", Arity: -3, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item [item ...]", Complexity: "O(m · n), m items and n sub-filters",
	Summary: "Reports for each item whether it may be in a cuckoo filter.",
	Many:    "cf.mexists",
	On:      &bundle.OnFilter{Family: family, Contains: true, Absent: bundle.NoneOf, Foreign: bundle.NoneOf},
}

// count is CF.COUNT key item.
var count = engine.Command{
	Name: "cf.count", Arity: 3, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters",
	Summary: "Returns how often an item may be in a cuckoo filter.",
	On: &bundle.OnFilter{
		Family: family,
		Read: func(x *engine.Context, p *contents.Part, c *engine.Call) {
			c.Answer(answer.Integer(int64(p.Cuckoo().CountDigest(x.Memory().Hashes[c.First]))))
		},
		Absent:  func(c *engine.Call) { c.Answer(answer.Integer(0)) },
		Foreign: func(c *engine.Call) { c.Answer(answer.Integer(0)) },
	},
}
