package cms

// CMS.INITBYDIM and CMS.INITBYPROB.

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

// initByDim is CMS.INITBYDIM key width depth.
var initByDim = initBy(byDim).Command(engine.Command{
	Name: "cms.initbydim", Arity: 4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "fast", "cms"}, Group: traits.GroupCountMin, Since: "2.0.0",
	Syntax: "key width depth", Complexity: "O(w · d), w counters in d rows",
	Summary: "Creates a count-min sketch of a number of counters and rows.",
})

// initByProb is CMS.INITBYPROB key error probability.
var initByProb = initBy(byProb).Command(engine.Command{
	Name: "cms.initbyprob", Arity: 4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "fast", "cms"}, Group: traits.GroupCountMin, Since: "2.0.0",
	Syntax: "key error probability", Complexity: "O(w · d), w counters in d rows",
	Summary: "Creates a count-min sketch for an error, a share of all increments, and the probability of a larger one.",
})

// byDim reads width and depth. It returns the error text, or "".
func byDim(args [][]byte) (p redisbloom.CountMinParams, text string) {
	width, ok := answer.ParseInt(args[2])
	if !ok || width < 1 {
		return p, textWidth
	}
	depth, ok := answer.ParseInt(args[3])
	if !ok || depth < 1 {
		return p, textDepth
	}
	p.Width, p.Depth = uint64(width), uint64(depth)
	return p, ""
}

// byProb reads error and probability. It returns the error text, or "".
func byProb(args [][]byte) (p redisbloom.CountMinParams, text string) {
	rate, ok := answer.ParseFloat(args[2])
	if !ok || rate <= 0 || rate >= 1 {
		return p, textRate
	}
	probability, ok := answer.ParseFloat(args[3])
	if !ok || probability <= 0 || probability >= 1 {
		return p, textProbability
	}
	p, err := redisbloom.CountMinFor(rate, probability)
	if err != nil {
		return p, textArguments
	}
	return p, ""
}

// initBy makes a sketch of what its arguments say. Whether the key is there is asked before
// they are.
func initBy(read func([][]byte) (redisbloom.CountMinParams, string)) maker.Key {
	return maker.Key{
		Kind: catalog.CountMin, Exists: textExists, Foreign: textExists, NoMemory: textNoMemory,
		Body: func(_ *engine.Context, c *engine.Call) (store.Body, string) {
			p, text := read(c.Args)
			if text == "" && p.Width > math.MaxInt64/p.Depth {
				text = textArguments
			}
			return store.FromDump(catalog.CountMin, c.Args[1], redisbloom.AppendCountMinHeader(nil, p, 0)), text
		},
	}
}
