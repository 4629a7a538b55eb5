package bf

// BF.EXISTS and BF.MEXISTS.

import (
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// exists is BF.EXISTS key item.
var exists = engine.Command{
	Name: "bf.exists", Arity: 3, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "bloom"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(k), k being the number of hash functions",
	Summary: "Reports whether an item may have been added to a Bloom filter.",
	Many:    "bf.mexists",
	On:      &bundle.OnFilter{Family: family, Contains: true, Single: true, Absent: bundle.NoneOf, Foreign: bundle.NoneOf},
}

// mExists is BF.MEXISTS key item [item ...].
var mExists = engine.Command{
	Name: "bf.mexists", Arity: -3, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "bloom"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key item [item ...]", Complexity: "O(k · n), k hash functions and n items",
	Summary: "Reports for each item whether it may have been added to a Bloom filter.",
	Many:    "bf.mexists",
	On:      &bundle.OnFilter{Family: family, Contains: true, Absent: bundle.NoneOf, Foreign: bundle.NoneOf},
}
