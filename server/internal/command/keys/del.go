package keys

// DEL, UNLINK, EXISTS and TOUCH.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// del is DEL key [key ...].
var del = engine.Command{
	Name: "del", Arity: -2, Flags: traits.Write, Keys: traits.AllKeys(traits.KeyDelete),
	Categories: []string{"keyspace", "write", "slow", "delete"}, Group: traits.GroupGeneric, Since: "1.0.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Removes keys.",
	Cost:    engine.ByKeys((*engine.Costs).Free),
	Prepare: prepareDel, Reply: replyDel,
}

// unlink is UNLINK key [key ...]. Memory is freed in the background by DEL
// too.
var unlink = engine.Command{
	Name: "unlink", Arity: -2, Flags: traits.Write | traits.Fast, Keys: traits.AllKeys(traits.KeyDelete),
	Categories: []string{"keyspace", "write", "fast", "delete"}, Group: traits.GroupGeneric, Since: "4.0.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Removes keys, as DEL does.",
	Cost:    engine.ByKeys((*engine.Costs).Free),
	Prepare: prepareDel, Reply: replyDel,
}

// maxNames is how many names one record removes. More are removed in several:
// others have their turn in between.
const maxNames = 128

// removal is how far a DEL of very many names has come.
type removal struct {
	done    int
	next    int // how far the record that is on its way comes
	removed int64
}

func prepareDel(x *engine.Context, c *engine.Call) *engine.Op {
	names := c.Args[1:]
	most := x.Contents().MaxRecord()
	if len(names) <= maxNames && (most == 0 || store.NamesWithin(names, most) == len(names)) || x.Transaction().Grouped() {
		return x.Contents().Record(&store.Remove{Names: names})
	}
	r, ok := c.Option.(*removal)
	if !ok {
		r = &removal{}
		c.Option = r
	}
	names = names[r.done:min(r.done+maxNames, len(names))]
	if most > 0 {
		names = names[:store.NamesWithin(names, most)]
	}
	r.next = r.done + len(names)
	return x.Contents().Record(&store.Remove{Names: names})
}

func replyDel(c *engine.Call, res *store.Result) {
	r, ok := c.Option.(*removal)
	if !ok {
		c.Answer(answer.Integer(res.N))
		return
	}
	r.removed += res.N
	if r.done = r.next; r.done >= len(c.Args)-1 {
		c.Answer(answer.Integer(r.removed))
	}
}

// exists is EXISTS key [key ...].
var exists = engine.Command{
	Name: "exists", Arity: -2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.AllKeys(traits.KeyRO),
	Categories: []string{"keyspace", "read", "fast"}, Group: traits.GroupGeneric, Since: "1.0.0",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Returns how many of the keys are there.",
	Cost: engine.ByWords,
	Run:  runExists,
}

// touch is TOUCH key [key ...].
var touch = engine.Command{
	Name: "touch", Arity: -2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.AllKeys(traits.KeyRO),
	Categories: []string{"keyspace", "read", "fast"}, Group: traits.GroupGeneric, Since: "3.2.1",
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Returns how many of the keys are there.",
	Cost: engine.ByWords,
	Run:  runExists,
}

func runExists(x *engine.Context, c *engine.Call) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if x.Names().Read(key) != nil {
			n++
		}
		x.Worked(1)
	}
	c.Answer(answer.Integer(n))
}
