package topk

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// reserve is TOPK.RESERVE key k [width depth decay].
var reserve = engine.Command{
	Name: "topk.reserve", Arity: -3, Flags: engine.Write | engine.DenyOOM | engine.Module, Keys: engine.OneKey(engine.KeyRW),
	Categories: []string{"write", "fast", "topk"}, Group: engine.GroupTopK, Since: "2.0.0",
	Syntax: "key topk [width depth decay]", Complexity: "O(k + w · d), w cells in d rows",
	Summary: "Creates a sketch that keeps the k most frequent items. Give a width of 10 to 100 times k: the default is 8.",
	Cost:    costOfReserve,
	Prepare: prepareReserve, Reply: replyReserve,
}

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

func prepareReserve(x *engine.Context, c *engine.Call) *engine.Op {
	if n := len(c.Args); n != 3 && n != 6 {
		c.Answer(answer.WrongArity(c.Command().Name))
		return nil
	}
	if x.Names().Lookup(c.Args[1]) != nil {
		c.Fail(textExists)
		return nil
	}
	p, text := parseReserve(c.Args)
	if text != "" {
		c.Fail(text)
		return nil
	}
	op, ok := x.Contents().Creation(&store.Make{As: store.OpTopK, Name: c.Args[1], Header: redisbloom.AppendTopKHeader(nil, p)})
	if !ok {
		c.Fail(textNoMemory)
		return nil
	}
	op.NoMemory = textNoMemory
	return op
}

func replyReserve(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrExists):
		c.Fail(textExists)
	default:
		c.Fail(textNoMemory)
	}
}

func costOfReserve(x *engine.Costs, c *engine.Call) {
	if n := len(c.Args); n != 3 && n != 6 {
		return
	}
	if p, text := parseReserve(c.Args); text == "" {
		x.Make(c.Args[1], &store.Make{As: store.OpTopK, Header: redisbloom.AppendTopKHeader(nil, p)})
	}
}
