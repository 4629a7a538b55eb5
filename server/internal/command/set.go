package command

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// setCmd is SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms |
// KEEPTTL].
var setCmd = Command{
	Name: "set", Arity: -3, Flags: Write | DenyOOM, Keys: oneKey, KeyFlags: keyOW,
	Categories: []string{"write", "string", "slow"}, Group: groupString, Since: "1.0.0",
	Syntax:     "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
	Complexity: "O(1)", Summary: "Stores a string, replacing whatever has its name.",
	run: runSet,
}

// set is what SET asks for.
type set struct {
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
func parseSet(args [][]byte) (q set, text string) {
	for i := 3; i < len(args); i++ {
		unit := int64(0)
		switch a := args[i]; {
		case is(a, "nx") && q.flags&store.IfPresent == 0:
			q.flags |= store.IfAbsent
		case is(a, "xx") && q.flags&store.IfAbsent == 0:
			q.flags |= store.IfPresent
		case is(a, "get"):
			q.get = true
		case is(a, "keepttl") && !q.timed:
			q.flags |= store.KeepTTL
		case is(a, "ex"), is(a, "exat"):
			unit = 1000
		case is(a, "px"), is(a, "pxat"):
			unit = 1
		default:
			return q, textSyntax
		}
		if unit == 0 {
			continue
		}
		if q.timed || q.flags&store.KeepTTL != 0 || i+1 == len(args) {
			return q, textSyntax
		}
		n, ok := parseInt(args[i+1])
		if !ok {
			return q, textInteger
		}
		q.timed, q.n, q.scale, q.absolute = true, n, unit, len(args[i]) == 4
		i++
	}
	return q, ""
}

func runSet(e *Engine, s *Session, c *Call) {
	q, text := parseSet(c.Args)
	if text != "" {
		c.answer(fail(text))
		return
	}
	r := store.Record{Op: store.OpSet, Name: c.Args[1], Value: c.Args[2], At: s.ms, Flags: q.flags}
	if q.timed {
		base := s.ms
		if q.absolute {
			base = 0
		}
		var ok bool
		if r.Deadline, ok = deadlineOf(q.n, q.scale, base); !ok || q.n <= 0 {
			c.answer(fail(textExpire + "set' command"))
			return
		}
	}
	if entry := e.state.Names.Lookup(c.Args[1], s.ms); q.get && entry != nil && entry.Kind != catalog.String {
		c.answer(fail(textWrongType))
		return
	}
	cost := uint64(store.NewCost(r.Name, uint64(len(r.Value))))
	if !e.Budget.reserve(cost) {
		c.answer(fail(textOOM))
		return
	}
	defer e.Budget.release(cost)
	op := door.Op{Record: r}
	e.do(&op)
	switch {
	case q.get && op.Result.Had:
		c.answer(bulk(op.Result.Old))
	case q.get, errors.Is(op.Result.Err, store.ErrCondition):
		c.answer(null())
	case op.Result.Err != nil:
		c.answer(stringReply(&op.Result))
	default:
		c.answer(okReply)
	}
}
