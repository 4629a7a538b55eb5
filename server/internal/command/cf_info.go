package command

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/store"
)

// cfInfo is CF.INFO key.
var cfInfo = Command{
	Name: "cf.info", Arity: 2, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "cuckoo", "fast"}, Tips: []string{"dont_cache"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a cuckoo filter.",
	filter:  &filter{family: cuckooFamily, parse: noItems, read: readCFInfo, absent: notFound},
}

// cfDebug is CF.DEBUG key.
var cfDebug = Command{
	Name: "cf.debug", Arity: 2, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "cuckoo"}, Tips: []string{"dont_cache"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a cuckoo filter in one line.",
	filter:  &filter{family: cuckooFamily, parse: noItems, read: readCFDebug, absent: notFound},
}

func readCFInfo(p *store.Part, c *Call, _ *Workspace) {
	f := p.Cuckoo()
	c.answer(pairs(
		status("Size"), integer(int64(f.Size())),
		status("Number of buckets"), integer(int64(f.Buckets())),
		status("Number of filters"), integer(int64(f.Filters())),
		status("Number of items inserted"), integer(int64(f.Items())),
		status("Number of items deleted"), integer(int64(f.Deletes())),
		status("Bucket size"), integer(int64(f.BucketSize())),
		status("Expansion rate"), integer(int64(f.Expansion())),
		status("Max iterations"), integer(int64(f.MaxIterations())),
	))
}

func readCFDebug(p *store.Part, c *Call, _ *Workspace) {
	f := p.Cuckoo()
	c.answer(bulk(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
		f.BucketSize(), f.Buckets(), f.Items(), f.Deletes(), f.Filters(), f.MaxIterations(), f.Expansion())))
}
