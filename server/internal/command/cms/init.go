package cms

// CMS.INITBYDIM and CMS.INITBYPROB.

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// initByDim is CMS.INITBYDIM key width depth.
var initByDim = engine.Command{
	Name: "cms.initbydim", Arity: 4, Flags: engine.Write | engine.DenyOOM | engine.Module, Keys: engine.OneKey(engine.KeyRW),
	Categories: []string{"write", "fast", "cms"}, Group: engine.GroupCountMin, Since: "2.0.0",
	Syntax: "key width depth", Complexity: "O(w · d), w counters in d rows",
	Summary: "Creates a count-min sketch of a number of counters and rows.",
	Cost:    func(x *engine.Costs, c *engine.Call) { costOfInit(x, c, byDim) },
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op { return prepareInit(x, c, byDim) }, Reply: replyInit,
}

// initByProb is CMS.INITBYPROB key error probability.
var initByProb = engine.Command{
	Name: "cms.initbyprob", Arity: 4, Flags: engine.Write | engine.DenyOOM | engine.Module, Keys: engine.OneKey(engine.KeyRW),
	Categories: []string{"write", "fast", "cms"}, Group: engine.GroupCountMin, Since: "2.0.0",
	Syntax: "key error probability", Complexity: "O(w · d), w counters in d rows",
	Summary: "Creates a count-min sketch for an error, a share of all increments, and the probability of a larger one.",
	Cost:    func(x *engine.Costs, c *engine.Call) { costOfInit(x, c, byProb) },
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op { return prepareInit(x, c, byProb) }, Reply: replyInit,
}

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

// prepareInit makes a sketch. Whether the key is there is asked before the
// arguments are.
func prepareInit(x *engine.Context, c *engine.Call, read func([][]byte) (redisbloom.CountMinParams, string)) *engine.Op {
	if x.Names().Lookup(c.Args[1]) != nil {
		c.Fail(textExists)
		return nil
	}
	r, text := initOf(c, read)
	if text != "" {
		c.Fail(text)
		return nil
	}
	op, ok := x.Contents().Creation(r)
	if !ok {
		c.Fail(textNoMemory)
		return nil
	}
	op.NoMemory = textNoMemory
	return op
}

func replyInit(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrExists):
		c.Fail(textExists)
	default:
		c.Fail(textNoMemory)
	}
}

// initOf returns the record that makes the sketch, or the error text.
func initOf(c *engine.Call, read func([][]byte) (redisbloom.CountMinParams, string)) (store.Body, string) {
	p, text := read(c.Args)
	if text == "" && p.Width > math.MaxInt64/p.Depth {
		text = textArguments
	}
	if text != "" {
		return nil, text
	}
	return &store.Make{As: store.OpCountMin, Name: c.Args[1], Header: redisbloom.AppendCountMinHeader(nil, p, 0)}, ""
}

func costOfInit(x *engine.Costs, c *engine.Call, read func([][]byte) (redisbloom.CountMinParams, string)) {
	if r, text := initOf(c, read); text == "" {
		x.Make(c.Args[1], r)
	}
}
