// Package text is the commands on strings: the few that clients and tests
// expect. A string never changes: it is replaced, so readers need no lock.
package text

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Commands returns the commands on strings.
func Commands() []engine.Command {
	return []engine.Command{
		appendCmd, decr, decrBy, get, getDel, getEx, getSet, incr, incrBy, mget, mset, psetEx, set, setEx, setNX, setRange, strLen,
	}
}

const (
	textOverflow = "ERR increment or decrement would overflow"
	textOffset   = "ERR offset is out of range"
	textLength   = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
)

// storing returns the op of a record that stores a string.
func storing(x *engine.Context, c *engine.Call, o store.Texter) *engine.Op {
	t := o.Text()
	t.Name = c.Args[1]
	return x.Contents().Storing(c, o, nil, len(t.Value))
}

// change returns the op of a record that replaces a string, with memory for one
// that is grow bytes longer.
func change(x *engine.Context, c *engine.Call, o store.Texter, grow int) *engine.Op {
	o.Text().Name = c.Args[1]
	size := grow
	entry := x.Names().Lookup(c.Args[1])
	if entry != nil {
		size += len(store.Text(entry))
	}
	return x.Contents().Storing(c, o, entry, size)
}

// reply answers the number that a record has brought.
func reply(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.Integer(res.N))
	case errors.Is(res.Err, contents.ErrType):
		c.Fail(answer.TextWrongType)
	case errors.Is(res.Err, store.ErrNumber):
		c.Fail(answer.TextInteger)
	case errors.Is(res.Err, store.ErrOverflow):
		c.Fail(textOverflow)
	default:
		c.Fail(textLength)
	}
}

// costOfSet counts a string: a long one is kept as it was sent.
func costOfSet(x *engine.Costs, c *engine.Call) {
	longest := 0
	for _, a := range c.Args[2:] {
		longest = max(longest, len(a))
	}
	x.Store(c.Args[1], longest)
	if len(c.Args) > 3 { // SETEX, or SET with options
		x.Deadline()
	}
}

func costOfMSet(x *engine.Costs, c *engine.Call) {
	for i := 1; i+1 < len(c.Args); i += 2 {
		x.Store(c.Args[i], len(c.Args[i+1]))
	}
}

// costOfSetRange counts a copy of the string, which may be made longer.
func costOfSetRange(x *engine.Costs, c *engine.Call) {
	if at, ok := answer.ParseInt(c.Args[2]); ok && at >= 0 && at <= store.MaxString {
		x.Store(c.Args[1], int(at)+len(c.Args[3]))
		x.Append(c.Args[1], 0)
	}
}
