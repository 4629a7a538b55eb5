package bf

// BF.CARD, BF.INFO and BF.DEBUG.

import (
	"fmt"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// card is BF.CARD key.
var card = engine.Command{
	Name: "bf.card", Arity: 2, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "bloom", "fast"}, Group: traits.GroupBloom, Since: "2.4.4",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Returns how many items were new when they were added to a Bloom filter.",
	On: &bundle.OnFilter{
		Family: family, Parse: bundle.NoItems,
		Read: func(_ *engine.Context, p *contents.Part, c *engine.Call) {
			c.Answer(answer.Integer(int64(p.Bloom().Items())))
		},
		Absent: func(c *engine.Call) { c.Answer(answer.Integer(0)) },
	},
}

// info is BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION].
var info = engine.Command{
	Name: "bf.info", Arity: -2, Max: 3, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "bloom", "fast"}, Tips: []string{"dont_cache"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]", Complexity: "O(1)",
	Summary: "Describes a Bloom filter, or returns one fact about it.",
	On:      &bundle.OnFilter{Family: family, Parse: bundle.NoItems, Read: readInfo, Absent: bundle.NotFound},
}

// debug is BF.DEBUG key.
var debug = engine.Command{
	Name: "bf.debug", Arity: 2, Flags: traits.ReadOnly | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "bloom"}, Tips: []string{"dont_cache"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key", Complexity: "O(n), n being the number of layers",
	Summary: "Describes every layer of a Bloom filter.",
	Cost:    engine.ByKeys((*engine.Costs).Look),
	On:      &bundle.OnFilter{Family: family, Parse: bundle.NoItems, Read: readDebug, Absent: bundle.NotFound},
}

// fields are the fields of BF.INFO, with the words that ask for one.
var fields = []struct {
	word, name string
	value      func(*redisbloom.Bloom) answer.Reply
}{
	{"capacity", "Capacity", func(b *redisbloom.Bloom) answer.Reply { return answer.Integer(int64(b.Capacity())) }},
	{"size", "Size", func(b *redisbloom.Bloom) answer.Reply { return answer.Integer(int64(b.Size())) }},
	{"filters", "Number of filters", func(b *redisbloom.Bloom) answer.Reply { return answer.Integer(int64(b.Layers())) }},
	{"items", "Number of items inserted", func(b *redisbloom.Bloom) answer.Reply { return answer.Integer(int64(b.Items())) }},
	{"expansion", "Expansion rate", func(b *redisbloom.Bloom) answer.Reply {
		if b.NonScaling() {
			return answer.Nil()
		}
		return answer.Integer(int64(b.Expansion()))
	}},
}

// readInfo looks at the field only when the key is known to be there, as
// RedisBloom does.
func readInfo(_ *engine.Context, p *contents.Part, c *engine.Call) {
	var elems []answer.Reply
	for _, f := range fields {
		if len(c.Args) == 2 {
			elems = append(elems, answer.Word(f.name), f.value(p.Bloom()))
		} else if answer.Is(c.Args[2], f.word) {
			c.Answer(answer.Reply{Kind: answer.Fields, Elems: []answer.Reply{answer.Word(f.name), f.value(p.Bloom())}})
			return
		}
	}
	if elems == nil {
		c.Fail(textInfoValue)
		return
	}
	c.Answer(answer.Pairs(elems...))
}

func readDebug(_ *engine.Context, p *contents.Part, c *engine.Call) {
	elems := []answer.Reply{answer.Text(fmt.Sprint("size:", p.Bloom().Items()))}
	for i := range p.Bloom().Layers() {
		l := p.Bloom().Layer(i)
		elems = append(elems, answer.Text(fmt.Sprintf(
			"bytes:%d bits:%d hashes:%d hashwidth:%d capacity:%d size:%d ratio:%s",
			l.Bytes, l.Bits, l.Hashes, l.HashWidth, l.Capacity, l.Size, answer.FormatG(l.ErrorRate))))
	}
	c.Answer(answer.List(elems...))
}
