package command

import (
	"fmt"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bfCard is BF.CARD key.
var bfCard = Command{
	Name: "bf.card", Arity: 2, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "bloom", "fast"}, Group: groupBloom, Since: "2.4.4",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Returns how many items were new when they were added to a Bloom filter.",
	filter: &filter{
		family: bloomFamily, parse: noItems,
		read:   func(p *store.Part, c *Call, _ *Workspace) { c.answer(integer(int64(p.Bloom().Items()))) },
		absent: func(_ *Engine, c *Call) { c.answer(integer(0)) },
	},
}

// bfInfo is BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION].
var bfInfo = Command{
	Name: "bf.info", Arity: -2, Max: 3, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "bloom", "fast"}, Tips: []string{"dont_cache"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]", Complexity: "O(1)",
	Summary: "Describes a Bloom filter, or tells one fact about it.",
	filter:  &filter{family: bloomFamily, parse: noItems, read: readBFInfo, absent: notFound},
}

// bfDebug is BF.DEBUG key.
var bfDebug = Command{
	Name: "bf.debug", Arity: 2, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "bloom"}, Tips: []string{"dont_cache"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key", Complexity: "O(n), n being the number of layers",
	Summary: "Describes every layer of a Bloom filter.",
	filter:  &filter{family: bloomFamily, parse: noItems, read: readBFDebug, absent: notFound},
}

// bloomFields are the fields of BF.INFO, with the words that ask for one.
var bloomFields = []struct {
	word, name string
	value      func(*redisbloom.Bloom) Reply
}{
	{"capacity", "Capacity", func(b *redisbloom.Bloom) Reply { return integer(int64(b.Capacity())) }},
	{"size", "Size", func(b *redisbloom.Bloom) Reply { return integer(int64(b.Size())) }},
	{"filters", "Number of filters", func(b *redisbloom.Bloom) Reply { return integer(int64(b.Layers())) }},
	{"items", "Number of items inserted", func(b *redisbloom.Bloom) Reply { return integer(int64(b.Items())) }},
	{"expansion", "Expansion rate", func(b *redisbloom.Bloom) Reply {
		if b.NonScaling() {
			return null()
		}
		return integer(int64(b.Expansion()))
	}},
}

// noItems is the parse of commands that take a key only.
func noItems(c *Call, _ *Defaults) { c.items = nil }

// notFound answers that there is no such key.
func notFound(_ *Engine, c *Call) { c.answer(fail(textNotFound)) }

// readBFInfo looks at the field only when the key is known to be there, as
// RedisBloom does.
func readBFInfo(p *store.Part, c *Call, _ *Workspace) {
	var elems []Reply
	for _, f := range bloomFields {
		if len(c.Args) == 2 {
			elems = append(elems, status(f.name), f.value(p.Bloom()))
		} else if is(c.Args[2], f.word) {
			c.answer(Reply{Kind: Fields, Elems: []Reply{status(f.name), f.value(p.Bloom())}})
			return
		}
	}
	if elems == nil {
		c.answer(fail(textInfoValue))
		return
	}
	c.answer(pairs(elems...))
}

func readBFDebug(p *store.Part, c *Call, _ *Workspace) {
	elems := []Reply{bulk(fmt.Sprint("size:", p.Bloom().Items()))}
	for i := range p.Bloom().Layers() {
		l := p.Bloom().Layer(i)
		elems = append(elems, bulk(fmt.Sprintf(
			"bytes:%d bits:%d hashes:%d hashwidth:%d capacity:%d size:%d ratio:%s",
			l.Bytes, l.Bits, l.Hashes, l.HashWidth, l.Capacity, l.Size, formatG(l.Error))))
	}
	c.answer(array(elems...))
}
