package topk

import (
	"math"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/maker"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// reserve is TOPK.RESERVE key k [width depth decay].
var reserve = maker.Key{
	Kind: catalog.TopK, Exists: textExists, Foreign: textExists, NoMemory: textNoMemory,
	Fits: func(words int) bool { return words == 3 || words == 6 },
	Body: func(_ *engine.Context, c *engine.Call) (store.Body, string) {
		p, text := parseReserve(c.Args)
		return store.FromDump(catalog.TopK, c.Args[1], redisbloom.AppendTopKHeader(nil, p)), text
	},
}.Command(engine.Command{
	Name: "topk.reserve", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "fast", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key topk [width depth decay]", Complexity: "O(k + w · d), w cells in d rows",
	Summary: "Creates a sketch that keeps the k most frequent items. Give a width of 10 to 100 times k: the default is 8.",
})

// parseReserve reads the parameters of a new sketch. It returns the error text, or
// "".
func parseReserve(args [][]byte) (p redisbloom.TopKParams, text string) {
	p.Width, p.Depth, p.Decay = 8, 7, 0.9
	for i, o := range []struct {
		value *uint32
		text  string
	}{{&p.K, textK}, {&p.Width, textWidth}, {&p.Depth, textDepth}} {
		if i+2 >= len(args) {
			return p, ""
		}
		n, ok := answer.ParseInt(args[i+2])
		if !ok || n < 1 || n > math.MaxUint32 {
			return p, o.text
		}
		*o.value = uint32(n)
	}
	decay, ok := answer.ParseFloat(args[5])
	if !ok || decay <= 0 || decay > 1 {
		return p, textDecay
	}
	p.Decay = decay
	return p, ""
}
