package text

import (
	"errors"
	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// set is SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms |
// KEEPTTL].
var set = engine.Command{
	Name: "set", Arity: -3, Flags: engine.Write | engine.DenyOOM, Keys: engine.OneKey(engine.KeyOW),
	Categories: []string{"write", "string", "slow"}, Group: engine.GroupString, Since: "1.0.0",
	Syntax:     "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
	Complexity: "O(1)", Summary: "Stores a string, replacing whatever has its name.",
	Prepare: prepareSet, Reply: replySet,
}

// setting is what SET asks for.
type setting struct {
	flags uint8
	get   bool
	// timed tells that a time was given: n units of scale, from now unless
	// absolute.
	timed    bool
	n        int64
	scale    int64
	absolute bool
}

// parseSet reads the options of SET. It returns the error text, or "".
func parseSet(args [][]byte) (q setting, text string) {
	for i := 3; i < len(args); i++ {
		unit := int64(0)
		switch a := args[i]; {
		case engine.Is(a, "nx") && q.flags&store.IfPresent == 0:
			q.flags |= store.IfAbsent
		case engine.Is(a, "xx") && q.flags&store.IfAbsent == 0:
			q.flags |= store.IfPresent
		case engine.Is(a, "get"):
			q.get = true
		case engine.Is(a, "keepttl") && !q.timed:
			q.flags |= store.KeepTTL
		case engine.Is(a, "ex"), engine.Is(a, "exat"):
			unit = 1000
		case engine.Is(a, "px"), engine.Is(a, "pxat"):
			unit = 1
		default:
			return q, engine.TextSyntax
		}
		if unit == 0 {
			continue
		}
		if q.timed || q.flags&store.KeepTTL != 0 || i+1 == len(args) {
			return q, engine.TextSyntax
		}
		n, ok := engine.ParseInt(args[i+1])
		if !ok {
			return q, engine.TextInteger
		}
		q.timed, q.n, q.scale, q.absolute = true, n, unit, len(args[i]) == 4
		i++
	}
	return q, ""
}

func prepareSet(x *engine.Context, c *engine.Call) *engine.Op {
	q, text := parseSet(c.Args)
	if text != "" {
		c.Fail(text)
		return nil
	}
	r := store.Record{Op: store.OpSet, Name: c.Args[1], Value: c.Args[2], Flags: q.flags}
	if q.timed {
		base := x.Milliseconds()
		if q.absolute {
			base = 0
		}
		var ok bool
		if r.Deadline, ok = engine.DeadlineOf(q.n, q.scale, base); !ok || q.n <= 0 {
			c.Fail(engine.TextExpire + "set' command")
			return nil
		}
	}
	if q.get {
		if entry := x.Lookup(c.Args[1]); entry != nil && entry.Kind != catalog.String {
			c.Fail(engine.TextWrongType)
			return nil
		}
		c.Option = q.get
	}
	op := x.Record(r)
	op.Cost = uint64(store.NewCost(r.Name, uint64(len(r.Value))))
	return op
}

func replySet(c *engine.Call, res *store.Result) {
	get := c.Option != nil
	switch {
	case get && res.Had:
		c.Answer(engine.Text(res.Old))
	case get, errors.Is(res.Err, store.ErrCondition):
		c.Answer(engine.Nil())
	case res.Err != nil:
		reply(c, res)
	default:
		c.Answer(engine.OK())
	}
}
