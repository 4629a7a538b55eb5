package cf

import (
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// del is CF.DEL key item.
var del = engine.Command{
	Name: "cf.del", Arity: 3, Flags: engine.Write | engine.Module | engine.Fast, Keys: engine.OneKey(engine.KeyRW),
	Categories: []string{"write", "cuckoo"}, Group: engine.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters; more when the filter is compacted",
	Summary: "Removes one occurrence of an item from a cuckoo filter. Remove only what was added.",
	Filter: &engine.Filter{
		Family: family, Single: true,
		Write: &engine.Writing{
			Op: store.OpDelete, Merge: true,
			Reply: func(c *engine.Call, res *store.Result) { c.AnswerBools(res.Bools) },
		},
		Absent:  func(c *engine.Call) { c.Fail(textMissing) },
		Foreign: func(c *engine.Call) { c.Fail(textMissing) },
	},
}
