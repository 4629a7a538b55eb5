package cf

// CF.ADD and CF.ADDNX.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// add is CF.ADD key item.
var add = engine.Command{
	Name: "cf.add", Arity: 3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n + i), n sub-filters and i iterations",
	Summary: "Adds an item to a cuckoo filter, which is created if it is not there.",
	On:      &bundle.OnFilter{Family: family, Single: true, Write: single(false)},
}

// addNX is CF.ADDNX key item.
var addNX = engine.Command{
	Name: "cf.addnx", Arity: 3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n + i), n sub-filters and i iterations",
	Summary: "Adds an item to a cuckoo filter unless it seems to be there.",
	On:      &bundle.OnFilter{Family: family, Single: true, Write: single(true)},
}

// single is what commands do that insert one item.
func single(news bool) *bundle.Writing {
	body := func(m *store.Scratch, t bundle.Terms) store.Items {
		m.CuckooInsert = store.CuckooInsert{New: news, Way: store.Each, MaxFilters: t.MaxFilters}
		return &m.CuckooInsert
	}
	return &bundle.Writing{Body: body, Seeks: news, Merge: true, Codes: true, Grows: true, Reply: replyAdd, Create: create}
}

// create makes the record that creates a missing cuckoo filter.
func create(x *engine.Context, c *engine.Call) store.Body {
	p := x.Settings().Cuckoo()
	if o, ok := c.Option.(*options); ok && o.capacity != 0 {
		p.Capacity = o.capacity
	}
	return &store.MakeCuckoo{Name: c.Args[1], Params: p}
}

func replyAdd(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Reply.Kind, c.Reply.N = answer.Bool, int64(res.Codes[0])
	case errors.Is(res.Err, store.ErrExpansions):
		c.Fail(textMost)
	case errors.Is(res.Err, redisbloom.ErrFull):
		c.Fail(textFull)
	default:
		c.Fail(answer.TextOOM)
	}
}
