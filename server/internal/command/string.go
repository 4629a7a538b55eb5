package command

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// getCmd is GET key.
var getCmd = Command{
	Name: "get", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, KeyFlags: "RO access",
	Categories: []string{"read", "string", "fast"}, Group: groupString, Since: "1.0.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Returns a string.",
	run: func(e *Engine, s *Session, c *Call) {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		switch {
		case entry == nil:
			c.answer(null())
		case entry.Kind != catalog.String:
			c.answer(fail(textWrongType))
		default:
			c.answer(bulk(store.Text(entry)))
		}
	},
}

// strLenCmd is STRLEN key.
var strLenCmd = Command{
	Name: "strlen", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "string", "fast"}, Group: groupString, Since: "2.2.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Returns the length of a string.",
	run: func(e *Engine, s *Session, c *Call) {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		switch {
		case entry == nil:
			c.answer(integer(0))
		case entry.Kind != catalog.String:
			c.answer(fail(textWrongType))
		default:
			c.answer(integer(int64(len(store.Text(entry)))))
		}
	},
}

// appendCmd is APPEND key value.
var appendCmd = Command{
	Name: "append", Arity: 3, Flags: Write | DenyOOM | Fast, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "string", "fast"}, Group: groupString, Since: "2.0.0",
	Syntax: "key value", Complexity: "O(n), n being the length of the string", Summary: "Adds to the end of a string.",
	run: func(e *Engine, s *Session, c *Call) {
		e.changeString(s, c, store.Record{Op: store.OpAppend, Value: c.Args[2]}, len(c.Args[2]))
	},
}

// setRangeCmd is SETRANGE key offset value.
var setRangeCmd = Command{
	Name: "setrange", Arity: 4, Flags: Write | DenyOOM, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "string", "slow"}, Group: groupString, Since: "2.2.0",
	Syntax: "key offset value", Complexity: "O(n), n being the length of the string", Summary: "Overwrites a part of a string.",
	run: func(e *Engine, s *Session, c *Call) {
		at, ok := parseInt(c.Args[2])
		switch {
		case !ok:
			c.answer(fail(textInteger))
		case at < 0:
			c.answer(fail(textOffset))
		default:
			grow := int(min(at, store.MaxString)) + len(c.Args[3])
			e.changeString(s, c, store.Record{Op: store.OpSetRange, Value: c.Args[3], Position: at}, grow)
		}
	},
}

// changeString puts a record that replaces a string through the door, with
// memory for a string that is grow bytes longer, and answers its number.
func (e *Engine) changeString(s *Session, c *Call, r store.Record, grow int) {
	r.Name, r.At = c.Args[1], s.ms
	size := grow
	if entry := e.state.Names.Lookup(c.Args[1], s.ms); entry != nil {
		size += len(store.Text(entry))
	}
	cost := uint64(store.NewCost(r.Name, uint64(size)))
	if !e.Budget.reserve(cost) {
		c.answer(fail(textOOM))
		return
	}
	defer e.Budget.release(cost)
	op := door.Op{Record: r}
	e.do(&op)
	c.answer(stringReply(&op.Result))
}

func stringReply(res *store.Result) Reply {
	switch {
	case res.Err == nil:
		return integer(res.N)
	case errors.Is(res.Err, store.ErrType):
		return fail(textWrongType)
	case errors.Is(res.Err, store.ErrNumber):
		return fail(textInteger)
	case errors.Is(res.Err, store.ErrOverflow):
		return fail(textOverflow)
	default:
		return fail(textLength)
	}
}

var (
	// incrCmd is INCR key.
	incrCmd = incrementCommand("incr", 2, "key", "Adds 1 to a number.", func(*Call) (int64, string) { return 1, "" })
	// decrCmd is DECR key.
	decrCmd = incrementCommand("decr", 2, "key", "Takes 1 from a number.", func(*Call) (int64, string) { return -1, "" })
	// incrByCmd is INCRBY key increment.
	incrByCmd = incrementCommand("incrby", 3, "key increment", "Adds to a number.", parseIncrBy)
	// decrByCmd is DECRBY key decrement.
	decrByCmd = incrementCommand("decrby", 3, "key decrement", "Takes from a number.", func(c *Call) (int64, string) {
		n, text := parseIncrBy(c)
		if n == math.MinInt64 {
			return 0, "ERR decrement would overflow"
		}
		return -n, text
	})
)

func incrementCommand(name string, arity int, syntax, summary string, parse func(*Call) (int64, string)) Command {
	return Command{
		Name: name, Arity: arity, Flags: Write | DenyOOM | Fast, Keys: oneKey, KeyFlags: keyRW,
		Categories: []string{"write", "string", "fast"}, Group: groupString, Since: "1.0.0",
		Syntax: syntax, Complexity: "O(1)", Summary: summary,
		run: func(e *Engine, s *Session, c *Call) {
			by, text := parse(c)
			if text != "" {
				c.answer(fail(text))
				return
			}
			e.changeString(s, c, store.Record{Op: store.OpIncrement, Position: by}, 20)
		},
	}
}

func parseIncrBy(c *Call) (int64, string) {
	n, ok := parseInt(c.Args[2])
	if !ok {
		return 0, textInteger
	}
	return n, ""
}
