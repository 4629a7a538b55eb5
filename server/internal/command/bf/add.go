package bf

// BF.ADD and BF.MADD.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// add is BF.ADD key item.
var add = engine.Command{
	Name: "bf.add", Arity: 3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "bloom"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(k), k being the number of hash functions",
	Summary: "Adds an item to a Bloom filter, which is created if it is not there.",
	On:      &bundle.OnFilter{Family: family, Single: true, Write: adding},
}

// mAdd is BF.MADD key item [item ...].
var mAdd = engine.Command{
	Name: "bf.madd", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "bloom"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key item [item ...]", Complexity: "O(k · n), k hash functions and n items",
	Summary: "Adds items to a Bloom filter, which is created if it is not there.",
	On:      &bundle.OnFilter{Family: family, Write: adding},
}

// adding is what all commands do that add to a Bloom filter.
var adding = &bundle.Writing{Body: body, Merge: true, Grows: true, Reply: replyAdd, Create: create}

// create makes the record that creates a missing Bloom filter: as the options
// say, and as configured where they say nothing.
func create(x *engine.Context, c *engine.Call) store.Body {
	p := x.Settings().Bloom()
	if o, ok := c.Option.(*options); ok {
		if o.set&setCapacity != 0 {
			p.Capacity = o.params.Capacity
		}
		if o.set&setError != 0 {
			p.ErrorRate = o.params.ErrorRate
		}
		if o.set&setExpansion != 0 {
			p.Expansion = o.params.Expansion
		}
		p.NonScaling = o.params.NonScaling
	}
	return &store.MakeBloom{Name: c.Args[1], Params: p}
}

func body(m *store.Scratch, _ bundle.Terms) store.Items {
	m.BloomAdd = store.BloomAdd{}
	return &m.BloomAdd
}

// replyAdd answers which items were new. If one could not be added the array
// ends there, with the error as its last element.
func replyAdd(c *engine.Call, res *store.Result) {
	text := textGrowth
	switch {
	case res.Err == nil:
		c.AnswerBools(res.Bools)
		return
	case refusal.NoRoom(res.Err):
		c.Fail(answer.TextOOM)
		return
	case errors.Is(res.Err, redisbloom.ErrFull):
		text = textFull
	}
	if bundle.Of(c).Single {
		c.Fail(text)
		return
	}
	c.Answer(answer.Reply{Kind: answer.Bools, Bools: res.Bools[:res.Done], Text: text})
}
