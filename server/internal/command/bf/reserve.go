package bf

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/maker"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// reserve is BF.RESERVE key error capacity [EXPANSION n] [NONSCALING].
var reserve = maker.Key{
	Kind: catalog.Bloom, Late: true, Exists: answer.TextItemExists, Foreign: answer.TextWrongType, NoMemory: answer.TextNoMemory,
	Body: func(x *engine.Context, c *engine.Call) (store.Body, string) {
		p, text := parseReserve(c.Args, x.Settings().Bloom().Expansion)
		return &store.MakeBloom{Name: c.Args[1], Params: p}, text
	},
}.Command(engine.Command{
	Name: "bf.reserve", Arity: -4, Max: 7, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "bloom", "fast"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key error_rate capacity [EXPANSION expansion] [NONSCALING]", Complexity: "O(1)",
	Summary: "Creates a Bloom filter.",
})

// parseReserve reads the parameters of a new filter. expansion is that of a
// filter made without saying. It returns the error text, or "".
func parseReserve(args [][]byte, expansion uint32) (p redisbloom.BloomParams, text string) {
	rate, ok := answer.ParseFloat(args[2])
	if !ok {
		return p, textErrorRate
	}
	if rate <= 0 || rate >= 1 {
		return p, textErrorRange
	}
	capacity, ok := answer.ParseInt(args[3])
	if !ok {
		return p, textCapacity
	}
	if capacity < 1 || capacity > redisbloom.MaxCapacity {
		return p, textCapacityRange
	}
	p.ErrorRate, p.Capacity, p.Expansion = min(rate, redisbloom.MaxErrorRate), uint64(capacity), expansion
	return p, parseExpansion(args, &p)
}

// parseExpansion looks for the option words anywhere, the key included, as
// RedisBloom does; other words are passed over.
func parseExpansion(args [][]byte, p *redisbloom.BloomParams) (text string) {
	p.NonScaling = p.Expansion == 0 || find(args[1:], "nonscaling") >= 0
	at := find(args[1:], "expansion")
	if at < 0 {
		return ""
	}
	if at+2 >= len(args) {
		return textNoExpansion
	}
	n, ok := answer.ParseInt(args[at+2])
	if !ok {
		return textExpansion
	}
	if n < 0 || n > redisbloom.MaxExpansion {
		return textExpansionRange
	}
	if n > 0 && p.NonScaling {
		return textNonScaling
	}
	p.Expansion = uint32(n)
	p.NonScaling = p.NonScaling || n == 0
	return ""
}

// find returns the index of a word in args, in letters of any case, or -1.
func find(args [][]byte, word string) int {
	for i, a := range args {
		if answer.Is(a, word) {
			return i
		}
	}
	return -1
}
