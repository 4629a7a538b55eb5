package cf

// CF.INFO and CF.DEBUG.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// info is CF.INFO key.
var info = engine.Command{
	Name: "cf.info", Arity: 2, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "cuckoo", "fast"}, Tips: []string{"dont_cache"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a cuckoo filter.",
	On:      &bundle.OnFilter{Family: family, Parse: bundle.NoItems, Read: readInfo, Absent: bundle.NotFound},
}

// debug is CF.DEBUG key.
var debug = engine.Command{
	Name: "cf.debug", Arity: 2, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "cuckoo"}, Tips: []string{"dont_cache"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a cuckoo filter in one line.",
	On:      &bundle.OnFilter{Family: family, Parse: bundle.NoItems, Read: readDebug, Absent: bundle.NotFound},
}

func readInfo(_ *engine.Context, p *contents.Part, c *engine.Call) {
	f := p.Cuckoo()
	c.Answer(answer.Pairs(
		answer.Word("Size"), answer.Integer(int64(f.Size())),
		answer.Word("Number of buckets"), answer.Integer(int64(f.Buckets())),
		answer.Word("Number of filters"), answer.Integer(int64(f.Filters())),
		answer.Word("Number of items inserted"), answer.Integer(int64(f.Items())),
		answer.Word("Number of items deleted"), answer.Integer(int64(f.Deletes())),
		answer.Word("Bucket size"), answer.Integer(int64(f.BucketSize())),
		answer.Word("Expansion rate"), answer.Integer(int64(f.Expansion())),
		answer.Word("Max iterations"), answer.Integer(int64(f.MaxIterations())),
	))
}

func readDebug(_ *engine.Context, p *contents.Part, c *engine.Call) {
	f := p.Cuckoo()
	c.Answer(answer.Text(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
		f.BucketSize(), f.Buckets(), f.Items(), f.Deletes(), f.Filters(), f.MaxIterations(), f.Expansion())))
}
