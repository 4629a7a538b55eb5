package command

import (
	"errors"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfInsert is CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item ...].
var cfInsert = Command{
	Name: "cf.insert", Arity: -4, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]", Complexity: "O(m · (n + i)), m items, n sub-filters, i iterations",
	Summary: "Adds items to a cuckoo filter, which is created with this capacity if it is not there.",
	filter: &filter{
		family: cuckooFamily, parse: parseCFInsert, absent: unlessNoCreate,
		write: &write{op: store.OpInsert, reply: replyCFInsert, create: prepareCuckoo},
	},
}

// cfInsertNX is CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item [item ...].
var cfInsertNX = Command{
	Name: "cf.insertnx", Arity: -4, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]", Complexity: "O(m · (n + i)), m items, n sub-filters, i iterations",
	Summary: "Adds items to a cuckoo filter unless they seem to be there.",
	filter: &filter{
		family: cuckooFamily, parse: parseCFInsert, absent: unlessNoCreate,
		write: &write{op: store.OpInsertNew, reply: replyCFInsert, create: prepareCuckoo},
	},
}

// parseCFInsert reads the options from left to right; the first letter of a word
// counts.
func parseCFInsert(c *Call, d *Defaults) {
	o := &options{}
	c.option = o
	for i := 2; i < len(c.Args); i++ {
		switch at(c.Args[i], 0) {
		case 'i':
			if c.items = c.Args[i+1:]; len(c.items) == 0 {
				c.answer(wrongArity(c.cmd.Name))
			}
			return
		case 'n':
			o.noCreate = true
		case 'c':
			if i++; i == len(c.Args) {
				break
			}
			n, ok := parseInt(c.Args[i])
			if !ok {
				c.answer(fail(textInsertCapacity))
				return
			}
			if n < 2*d.CuckooBucket || n > redisbloom.MaxCapacity {
				c.answer(fail(textCuckooInsert))
				return
			}
			o.set |= setCapacity
			o.cuckoo.Capacity = uint64(n)
		default:
			c.answer(fail(textUnknownArgument))
			return
		}
	}
	c.answer(wrongArity(c.cmd.Name))
}

// replyCFInsert answers what became of every item. One that found no room is
// -1, whatever the reason.
func replyCFInsert(c *Call, res *store.Result) {
	if errors.Is(res.Err, store.ErrExpansions) {
		c.Reply = fail(textCuckooMost)
		return
	}
	c.Reply.Kind, c.Reply.Codes = Codes, res.Codes
	if c.cmd.filter.write.op == store.OpInsertNew {
		c.Reply.Kind = CodeInts
	}
}
