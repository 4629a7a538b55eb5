package text

// GETSET, GETDEL and GETEX.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// getSet is GETSET key value.
var getSet = engine.Command{
	Name: "getset", Arity: 3, Flags: traits.Write | traits.DenyOOM | traits.Fast, Keys: traits.OneKey(traits.KeyUpdate),
	Categories: []string{"write", "string", "fast", "delete"}, Group: traits.GroupString, Since: "1.0.0",
	Syntax: "key value", Complexity: "O(1)", Summary: "Stores a string and returns the one that was there.",
	Cost: costOfSet,
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		return storing(x, c, &store.Set{String: store.String{Value: c.Args[2]}, If: store.IfString})
	},
	Reply: replyOld,
}

// getDel is GETDEL key.
var getDel = engine.Command{
	Name: "getdel", Arity: 2, Flags: traits.Write | traits.Fast, Keys: traits.OneKey(traits.KeyTake),
	Categories: []string{"write", "string", "fast", "delete"}, Group: traits.GroupString, Since: "6.2.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Removes a string and returns it.",
	Cost: engine.ByKeys((*engine.Costs).Free),
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		return x.Contents().Record(&store.Take{Name: c.Args[1]})
	},
	Reply: replyOld,
}

// getEx is GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST].
var getEx = engine.Command{
	Name: "getex", Arity: -2, Flags: traits.Write | traits.Fast, Keys: traits.OneKey(traits.KeyUpdate),
	Categories: []string{"write", "string", "fast", "delete"}, Group: traits.GroupString, Since: "6.2.0",
	Syntax:     "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]",
	Complexity: "O(1)", Summary: "Returns a string and sets its deadline, or takes it away.",
	Cost:    engine.ByKeys((*engine.Costs).Free),
	Prepare: prepareGetEx, Reply: replyOld,
}

func prepareGetEx(x *engine.Context, c *engine.Call) *engine.Op {
	var life lifetime
	persist := false
	for i := 2; i < len(c.Args); i++ {
		switch {
		case answer.Is(c.Args[i], "persist") && life.arg == nil:
			persist = true
		case !persist && life.option(c.Args[i:]):
			i++
		default:
			c.Fail(answer.TextSyntax)
			return nil
		}
	}
	value, ok := findString(x, c) // that there is none is answered before a wrong time
	if !ok {
		return nil
	}
	r := &store.Touch{Name: c.Args[1]}
	if life.arg != nil {
		var text string
		if r.Deadline, text = life.deadline(x, "getex"); text != "" {
			c.Fail(text)
			return nil
		}
	} else if !persist {
		c.Answer(answer.Text(value))
		return nil
	}
	return x.Contents().Record(r)
}

// findString returns the string of the first key. It answers if there is none.
func findString(x *engine.Context, c *engine.Call) (text string, ok bool) {
	entry := x.Names().Read(c.Args[1])
	switch {
	case entry == nil:
		c.Answer(answer.Nil())
	case entry.Kind != catalog.String:
		c.Fail(answer.TextWrongType)
	default:
		return store.Text(entry), true
	}
	return "", false
}

// replyOld answers the string that a record has found, nil if there was none.
func replyOld(c *engine.Call, res *store.Result) {
	switch {
	case res.Had:
		c.Answer(answer.Text(res.Old))
	case res.Err == nil, errors.Is(res.Err, store.ErrMissing), errors.Is(res.Err, store.ErrCondition):
		c.Answer(answer.Nil())
	default:
		reply(c, res)
	}
}
