package command

import (
	"errors"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfAdd is CF.ADD key item.
var cfAdd = Command{
	Name: "cf.add", Arity: 3, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n + i), n sub-filters and i iterations",
	Summary: "Adds an item to a cuckoo filter, which is created if it is not there.",
	filter: &filter{
		family: cuckooFamily, single: true,
		write: &write{op: store.OpInsert, reply: replyCFAdd, create: prepareCuckoo},
	},
}

// cfAddNX is CF.ADDNX key item.
var cfAddNX = Command{
	Name: "cf.addnx", Arity: 3, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n + i), n sub-filters and i iterations",
	Summary: "Adds an item to a cuckoo filter unless it seems to be there.",
	filter: &filter{
		family: cuckooFamily, single: true,
		write: &write{op: store.OpInsertNew, reply: replyCFAdd, create: prepareCuckoo},
	},
}

// prepareCuckoo makes the record that creates a missing cuckoo filter.
func prepareCuckoo(e *Engine, c *Call) store.Record {
	p := e.Settings.cuckoo()
	if o := c.option; o != nil && o.set&setCapacity != 0 {
		p.Capacity = o.cuckoo.Capacity
	}
	return store.Record{Op: store.OpCuckoo, Cuckoo: p}
}

func replyCFAdd(c *Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Reply.Kind, c.Reply.N = Bool, int64(res.Codes[0])
	case errors.Is(res.Err, store.ErrExpansions):
		c.Reply = fail(textCuckooMost)
	case errors.Is(res.Err, redisbloom.ErrFull):
		c.Reply = fail(textCuckooFull)
	default:
		c.Reply = fail(textOOM)
	}
}
