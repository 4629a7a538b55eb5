package text

// GET, STRLEN, APPEND, and parts of strings.

import (
	"math"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// get is GET key.
var get = engine.Command{
	Name: "get", Arity: 2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyGet),
	Categories: []string{"read", "string", "fast"}, Group: traits.GroupString, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Returns a string.",
	Cost: engine.ByWords,
	Run: func(x *engine.Context, c *engine.Call) {
		if text, ok := findString(x, c); ok {
			c.Answer(answer.Text(text))
		}
	},
}

// strLen is STRLEN key.
var strLen = engine.Command{
	Name: "strlen", Arity: 2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "string", "fast"}, Group: traits.GroupString, Since: "2.2.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Returns the length of a string.",
	Cost: engine.ByWords,
	Run: func(x *engine.Context, c *engine.Call) {
		entry := x.Names().Read(c.Args[1])
		switch {
		case entry == nil:
			c.Answer(answer.Integer(0))
		case entry.Kind != catalog.String:
			c.Fail(answer.TextWrongType)
		default:
			c.Answer(answer.Integer(int64(len(store.Text(entry)))))
		}
	},
}

// appendCmd is APPEND key value.
var appendCmd = engine.Command{
	Name: "append", Arity: 3, Flags: traits.Write | traits.DenyOOM | traits.Fast, Keys: traits.OneKey(traits.KeyAppend),
	Categories: []string{"write", "string", "fast"}, Group: traits.GroupString, Since: "2.0.0",
	Syntax: "key value", Complexity: "O(n), n being the length of the string", Summary: "Adds to the end of a string.",
	Cost: func(x *engine.Costs, c *engine.Call) { x.Append(c.Args[1], len(c.Args[2])) },
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		return change(x, c, &store.Append{String: store.String{Value: c.Args[2]}}, len(c.Args[2]))
	},
	Reply: reply,
}

// setRange is SETRANGE key offset value.
var setRange = engine.Command{
	Name: "setrange", Arity: 4, Flags: traits.Write | traits.DenyOOM, Keys: traits.OneKey(traits.KeyChange),
	Categories: []string{"write", "string", "slow"}, Group: traits.GroupString, Since: "2.2.0",
	Syntax: "key offset value", Complexity: "O(n), n being the length of the string", Summary: "Overwrites a part of a string.",
	Cost: costOfSetRange,
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		at, ok := answer.ParseInt(c.Args[2])
		switch {
		case !ok:
			c.Fail(answer.TextInteger)
		case at < 0:
			c.Fail(textOffset)
		default:
			grow := int(min(at, store.MaxString)) + len(c.Args[3])
			return change(x, c, &store.SetRange{String: store.String{Value: c.Args[3]}, Offset: at}, grow)
		}
		return nil
	},
	Reply: reply,
}

var (
	// incr is INCR key.
	incr = incrementCommand("incr", 2, "key", "Adds 1 to a number.", func(*engine.Call) (int64, string) { return 1, "" })
	// decr is DECR key.
	decr = incrementCommand("decr", 2, "key", "Takes 1 from a number.", func(*engine.Call) (int64, string) { return -1, "" })
	// incrBy is INCRBY key increment.
	incrBy = incrementCommand("incrby", 3, "key increment", "Adds to a number.", parseIncrBy)
	// decrBy is DECRBY key decrement.
	decrBy = incrementCommand("decrby", 3, "key decrement", "Takes from a number.", func(c *engine.Call) (int64, string) {
		n, text := parseIncrBy(c)
		if n == math.MinInt64 {
			return 0, "ERR decrement would overflow"
		}
		return -n, text
	})
)

func incrementCommand(name string, arity int, syntax, summary string, parse func(*engine.Call) (int64, string)) engine.Command {
	return engine.Command{
		Name: name, Arity: arity, Flags: traits.Write | traits.DenyOOM | traits.Fast, Keys: traits.OneKey(traits.KeyUpdate),
		Categories: []string{"write", "string", "fast"}, Group: traits.GroupString, Since: "1.0.0",
		Syntax: syntax, Complexity: "O(1)", Summary: summary,
		Cost: engine.ByKeys((*engine.Costs).Number),
		Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
			by, text := parse(c)
			if text != "" {
				c.Fail(text)
				return nil
			}
			const digits = 20 // of the longest number
			if x.Can().Cluster && !x.Contents().Fits(c, c.Args[1], digits) {
				return nil
			}
			op := x.Contents().Record(&store.Increment{Name: c.Args[1], By: by})
			op.Cost = uint64(store.NewCost(c.Args[1], digits))
			return op
		},
		Reply: reply,
	}
}

func parseIncrBy(c *engine.Call) (int64, string) {
	n, ok := answer.ParseInt(c.Args[2])
	if !ok {
		return 0, answer.TextInteger
	}
	return n, ""
}
