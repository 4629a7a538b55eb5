package command

import (
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfScanDump is CF.SCANDUMP key iter.
var cfScanDump = Command{
	Name: "cf.scandump", Arity: 3, Flags: ReadOnly | Module | Fast | heavy, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"read", "cuckoo"}, Tips: []string{"dont_cache"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key iterator", Complexity: "O(n), n being the number of bytes returned",
	Summary: "Returns one piece of a cuckoo filter, and the iterator of the next.",
	filter:  &filter{family: cuckooFamily, parse: parseCFScanDump, read: readCFScanDump, absent: notFound},
}

func parseCFScanDump(c *Call, _ *Defaults) {
	c.items = nil
	n, ok := parseInt(c.Args[2])
	if !ok || n < 0 {
		c.answer(fail(textPosition))
		return
	}
	c.option = &options{position: n}
}

func readCFScanDump(p *store.Part, c *Call, _ *Workspace) {
	next, data, err := p.Cuckoo().ScanDump(c.option.position)
	switch {
	case err != nil:
		c.answer(fail(textPosition))
	case next == 0:
		c.answer(array(integer(0), null()))
	default:
		c.answer(array(integer(next), bulk(string(data))))
	}
}
