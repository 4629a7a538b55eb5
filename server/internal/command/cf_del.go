package command

import (
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfDel is CF.DEL key item.
var cfDel = Command{
	Name: "cf.del", Arity: 3, Flags: Write | Module | Fast, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters; more when the filter is compacted",
	Summary: "Removes one occurrence of an item from a cuckoo filter. Remove only what was added.",
	filter: &filter{
		family: cuckooFamily, single: true,
		write:   &write{op: store.OpDelete, reply: func(c *Call, res *store.Result) { c.Reply = boolean(res.Bools[0]) }},
		absent:  func(_ *Engine, c *Call) { c.answer(fail(textCuckooMissing)) },
		foreign: func(c *Call) { c.answer(fail(textCuckooMissing)) },
	},
}

// cfCompact is CF.COMPACT key. RedisBloom flags it readonly, although it writes.
var cfCompact = Command{
	Name: "cf.compact", Arity: -1, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyUpdate,
	Categories: []string{"read", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(s), s being the number of slots",
	Summary: "Moves the items of a cuckoo filter into its older sub-filters, as far as there is room.",
	filter: &filter{
		family:  cuckooFamily,
		parse:   parseCFCompact,
		write:   &write{op: store.OpCompact, reply: func(c *Call, _ *store.Result) { c.Reply = okReply }},
		absent:  func(_ *Engine, c *Call) { c.answer(fail(textCompactMissing)) },
		foreign: func(c *Call) { c.answer(fail(textCompactMissing)) },
	},
}

// parseCFCompact counts the arguments: the table says "any number", as
// RedisBloom's does.
func parseCFCompact(c *Call, _ *Defaults) {
	c.items = nil
	if len(c.Args) != 2 {
		c.answer(wrongArity(c.cmd.Name))
	}
}
