package command

import (
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfExists is CF.EXISTS key item.
var cfExists = Command{
	Name: "cf.exists", Arity: 3, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters",
	Summary: "Tells whether an item may be in a cuckoo filter.",
	filter:  &filter{family: cuckooFamily, contains: true, single: true, absent: noneThere, foreign: noneOf},
}

// cfMExists is CF.MEXISTS key item [item ...].
var cfMExists = Command{
	Name: "cf.mexists", Arity: -3, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key item [item ...]", Complexity: "O(m · n), m items and n sub-filters",
	Summary: "Tells for each item whether it may be in a cuckoo filter.",
	filter:  &filter{family: cuckooFamily, contains: true, absent: noneThere, foreign: noneOf},
}

// cfCount is CF.COUNT key item.
var cfCount = Command{
	Name: "cf.count", Arity: 3, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters",
	Summary: "Returns how often an item may be in a cuckoo filter.",
	filter: &filter{
		family: cuckooFamily,
		read: func(p *store.Part, c *Call, w *Workspace) {
			c.answer(integer(int64(p.Cuckoo().CountDigest(w.hashes[c.first]))))
		},
		absent:  func(_ *Engine, c *Call) { c.answer(integer(0)) },
		foreign: func(c *Call) { c.answer(integer(0)) },
	},
}
