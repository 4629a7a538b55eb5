package cf

// CF.INFO and CF.DEBUG.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/store"
)

// info is CF.INFO key.
var info = engine.Command{
	Name: "cf.info", Arity: 2, Flags: engine.ReadOnly | engine.Module | engine.Fast, Keys: engine.OneKey(engine.KeyRO),
	Categories: []string{"read", "cuckoo", "fast"}, Tips: []string{"dont_cache"}, Group: engine.GroupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a cuckoo filter.",
	Filter:  &engine.OnFilter{Family: family, Parse: engine.NoItems, Read: readInfo, Absent: engine.NotFound},
}

// debug is CF.DEBUG key.
var debug = engine.Command{
	Name: "cf.debug", Arity: 2, Flags: engine.ReadOnly | engine.Module | engine.Fast, Keys: engine.OneKey(engine.KeyRO),
	Categories: []string{"read", "cuckoo"}, Tips: []string{"dont_cache"}, Group: engine.GroupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a cuckoo filter in one line.",
	Filter:  &engine.OnFilter{Family: family, Parse: engine.NoItems, Read: readDebug, Absent: engine.NotFound},
}

func readInfo(_ *engine.Context, p *store.Part, c *engine.Call) {
	f := p.Cuckoo()
	c.Answer(engine.Pairs(
		engine.Word("Size"), engine.Integer(int64(f.Size())),
		engine.Word("Number of buckets"), engine.Integer(int64(f.Buckets())),
		engine.Word("Number of filters"), engine.Integer(int64(f.Filters())),
		engine.Word("Number of items inserted"), engine.Integer(int64(f.Items())),
		engine.Word("Number of items deleted"), engine.Integer(int64(f.Deletes())),
		engine.Word("Bucket size"), engine.Integer(int64(f.BucketSize())),
		engine.Word("Expansion rate"), engine.Integer(int64(f.Expansion())),
		engine.Word("Max iterations"), engine.Integer(int64(f.MaxIterations())),
	))
}

func readDebug(_ *engine.Context, p *store.Part, c *engine.Call) {
	f := p.Cuckoo()
	c.Answer(engine.Text(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
		f.BucketSize(), f.Buckets(), f.Items(), f.Deletes(), f.Filters(), f.MaxIterations(), f.Expansion())))
}
