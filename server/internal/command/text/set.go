package text

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// set is SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms |
// KEEPTTL].
var set = engine.Command{
	Name: "set", Arity: -3, Flags: traits.Write | traits.DenyOOM,
	Keys:       traits.Keys{traits.KeyAt(1, traits.KeyOW), {At: oldValue, Access: traits.KeyGet, Hidden: true}},
	Categories: []string{"write", "string", "slow", "delete"}, Group: traits.GroupString, Since: "1.0.0",
	Syntax:     "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
	Complexity: "O(1)", Summary: "Stores a string, replacing whatever has its name.",
	Cost:    costOfSet,
	Prepare: prepareSet, Reply: replySet,
}

// oldValue returns where the key is if GET asks for its old value, 0 if not.
func oldValue(args [][]byte) int {
	for _, a := range args[min(3, len(args)):] {
		if answer.Is(a, "get") {
			return 1
		}
	}
	return 0
}

// setting is what SET asks for.
type setting struct {
	flags uint8
	get   bool
	life  lifetime
}

// parseSet reads the options of SET. It returns the error text, or "".
func parseSet(args [][]byte) (q setting, text string) {
	for i := 3; i < len(args); i++ {
		switch a := args[i]; {
		case answer.Is(a, "nx") && q.flags&store.IfPresent == 0:
			q.flags |= store.IfAbsent
		case answer.Is(a, "xx") && q.flags&store.IfAbsent == 0:
			q.flags |= store.IfPresent
		case answer.Is(a, "get"):
			q.get = true
		case answer.Is(a, "keepttl") && q.life.arg == nil:
			q.flags |= store.KeepTTL
		case q.flags&store.KeepTTL == 0 && q.life.option(args[i:]):
			i++
		default:
			return q, answer.TextSyntax
		}
	}
	return q, ""
}

func prepareSet(x *engine.Context, c *engine.Call) *engine.Op {
	q, text := parseSet(c.Args)
	if text != "" {
		c.Fail(text)
		return nil
	}
	r := &store.Set{String: store.String{Value: c.Args[2]}, If: q.flags}
	if q.life.arg != nil {
		if r.Deadline, text = q.life.deadline(x, "set"); text != "" {
			c.Fail(text)
			return nil
		}
	}
	if q.get {
		r.If |= store.IfString
		c.Option = q.get
	}
	return storing(x, c, r)
}

func replySet(c *engine.Call, res *store.Result) {
	get := c.Option != nil
	switch {
	case get && (res.Err == nil || errors.Is(res.Err, store.ErrCondition)):
		replyOld(c, res)
	case errors.Is(res.Err, store.ErrCondition):
		c.Answer(answer.Nil())
	case res.Err != nil:
		reply(c, res)
	default:
		c.Answer(answer.OK())
	}
}
