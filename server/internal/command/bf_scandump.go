package command

import (
	"github.com/bloomery/bloomery/server/internal/store"
)

// bfScanDump is BF.SCANDUMP key iter.
var bfScanDump = Command{
	Name: "bf.scandump", Arity: 3, Flags: ReadOnly | Module | Fast | heavy, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"read", "bloom"}, Tips: []string{"dont_cache"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key iterator", Complexity: "O(n), n being the number of bytes returned",
	Summary: "Returns one piece of a Bloom filter, and the iterator of the next.",
	filter:  &filter{family: bloomFamily, parse: noItems, read: readBFScanDump, absent: notFound},
}

// readBFScanDump reads the iterator only when the key is known to be there, as
// RedisBloom does.
func readBFScanDump(p *store.Part, c *Call, _ *Workspace) {
	iter, ok := parseInt(c.Args[2])
	if !ok {
		c.answer(fail(textScanNumber))
		return
	}
	next, data := p.Bloom().ScanDump(iter)
	c.answer(array(integer(next), bulk(string(data))))
}
