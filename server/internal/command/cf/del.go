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

// compact is CF.COMPACT key. RedisBloom flags it readonly, although it writes:
// clients see that flag, and the engine treats it as the write it is.
var compact = engine.Command{
	Name: "cf.compact", Arity: -1, Flags: engine.ReadOnly | engine.Module | engine.Fast | engine.Wrote,
	Keys:       engine.OneKey(engine.KeyUpdate),
	Categories: []string{"read", "cuckoo"}, Group: engine.GroupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(s), s being the number of slots",
	Summary: "Moves the items of a cuckoo filter into its older sub-filters, as far as there is room.",
	Filter: &engine.Filter{
		Family:  family,
		Parse:   parseCompact,
		Write:   &engine.Writing{Op: store.OpCompact, Reply: func(c *engine.Call, _ *store.Result) { c.Answer(engine.OK()) }},
		Absent:  func(c *engine.Call) { c.Fail(textCompactMissing) },
		Foreign: func(c *engine.Call) { c.Fail(textCompactMissing) },
	},
}

// parseCompact counts the arguments: the table says "any number", as
// RedisBloom's does.
func parseCompact(_ *engine.Context, c *engine.Call) {
	c.Items = nil
	if len(c.Args) != 2 {
		c.Answer(engine.WrongArity(c.Command().Name))
	}
}
