package text

// Commands on several strings: MGET, MSET and their kin.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// mget is MGET key [key ...].
var mget = engine.Command{
	Name: "mget", Arity: -2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.AllKeys(traits.KeyGet),
	Categories: []string{"read", "string", "fast"}, Group: traits.GroupString, Since: "1.0.0",
	Tips:   []string{"request_policy:multi_shard"},
	Syntax: "key [key ...]", Complexity: "O(1) for every key", Summary: "Returns strings, nil for every key that holds none.",
	Cost: engine.ByWords,
	Run:  runMGet,
}

// replyBytes is what one of the replies takes besides its string, which is not
// copied.
const replyBytes = 128

func runMGet(x *engine.Context, c *engine.Call) {
	keys := c.Args[1:]
	if !x.Hold(len(keys) * replyBytes) {
		c.Fail(answer.TextOOM)
		return
	}
	elems := make([]answer.Reply, len(keys))
	for i, key := range keys {
		elems[i] = answer.Nil()
		if entry := x.Names().Read(key); entry != nil && entry.Kind == catalog.String {
			elems[i] = answer.Text(store.Text(entry))
		}
		x.Worked(1)
	}
	c.Answer(answer.List(elems...))
}

// mset is MSET key value [key value ...]. It runs alone: nobody sees a part of it.
var mset = engine.Command{
	Name: "mset", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Alone, Keys: traits.Keys{{First: 1, Last: -1, Step: 2, Access: traits.KeyOW}},
	Categories: []string{"write", "string", "slow", "delete"}, Group: traits.GroupString, Since: "1.0.1",
	Tips:   []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
	Syntax: "key value [key value ...]", Complexity: "O(1) for every key", Summary: "Stores strings, all or none, replacing whatever has their names.",
	Cost:   costOfMSet,
	Before: checkMSet, Prepare: prepareMSet,
	Reply: func(c *engine.Call, res *store.Result) {
		if res.Err != nil {
			reply(c, res)
			return
		}
		c.Answer(answer.OK())
	},
}

// checkMSet answers an MSET that cannot be, before anybody has to wait for it.
func checkMSet(_ *engine.Context, c *engine.Call) {
	switch {
	case len(c.Args)%2 == 0:
		c.Answer(answer.WrongArity("mset"))
	case !store.NamesFit(c.Args[1:]):
		c.Fail(fmt.Sprintf("ERR MSET takes %d bytes at most, about 10 more for every key and value: send several; MULTI and EXEC keep them together, if the server is in no cluster", store.MaxRecord))
	}
}

func prepareMSet(x *engine.Context, c *engine.Call) *engine.Op {
	pairs := c.Args[1:]
	op := x.Contents().Record(&store.SetMany{Pairs: pairs})
	for i := 0; i < len(pairs); i += 2 {
		op.Cost += uint64(store.NewCost(pairs[i], uint64(len(pairs[i+1]))))
	}
	return op
}

// setEx is SETEX key seconds value, psetEx PSETEX key milliseconds value.
var (
	setEx  = timedSet("setex", 1000, "key seconds value", "2.0.0", "Stores a string for so many seconds.")
	psetEx = timedSet("psetex", 1, "key milliseconds value", "2.6.0", "Stores a string for so many milliseconds.")
)

func timedSet(name string, scale int64, syntax, since, summary string) engine.Command {
	return engine.Command{
		Name: name, Arity: 4, Flags: traits.Write | traits.DenyOOM, Keys: traits.OneKey(traits.KeyOW),
		Categories: []string{"write", "string", "slow", "delete"}, Group: traits.GroupString, Since: since,
		Syntax: syntax, Complexity: "O(1)", Summary: summary,
		Cost: costOfSet,
		Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
			life := lifetime{arg: c.Args[2], scale: scale}
			deadline, text := life.deadline(x, name)
			if text != "" {
				c.Fail(text)
				return nil
			}
			return storing(x, c, &store.Set{String: store.String{Value: c.Args[3]}, Deadline: deadline})
		},
		Reply: replySet,
	}
}

// setNX is SETNX key value.
var setNX = engine.Command{
	Name: "setnx", Arity: 3, Flags: traits.Write | traits.DenyOOM | traits.Fast, Keys: traits.OneKey(traits.KeyNew),
	Categories: []string{"write", "string", "fast"}, Group: traits.GroupString, Since: "1.0.0",
	Syntax: "key value", Complexity: "O(1)", Summary: "Stores a string unless its name is taken.",
	Cost: costOfSet,
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		return storing(x, c, &store.Set{String: store.String{Value: c.Args[2]}, If: store.IfAbsent})
	},
	Reply: replySetNX,
}

func replySetNX(c *engine.Call, res *store.Result) {
	if res.Err != nil && !errors.Is(res.Err, store.ErrCondition) {
		reply(c, res)
		return
	}
	c.Answer(answer.Flag(res.Err == nil))
}
