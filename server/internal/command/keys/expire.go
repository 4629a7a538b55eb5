package keys

// EXPIRE and its kin, TTL, PERSIST, RENAME and RENAMENX.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

var (
	// expire is EXPIRE key seconds [NX | XX | GT | LT].
	expire = expireCommand("expire", "seconds", "Sets after how many seconds a key goes away.", "1.0.0", 1000, false)
	// pexpire is PEXPIRE key milliseconds [NX | XX | GT | LT].
	pexpire = expireCommand("pexpire", "milliseconds", "Sets after how many milliseconds a key goes away.", "2.6.0", 1, false)
	// expireAt is EXPIREAT key unix-time-seconds [NX | XX | GT | LT].
	expireAt = expireCommand("expireat", "unix-time-seconds", "Sets the second at which a key goes away.", "1.2.0", 1000, true)
	// pexpireAt is PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT].
	pexpireAt = expireCommand("pexpireat", "unix-time-milliseconds", "Sets the millisecond at which a key goes away.", "2.6.0", 1, true)
)

func expireCommand(name, unit, summary, since string, scale int64, absolute bool) engine.Command {
	return engine.Command{
		Name: name, Arity: -3, Flags: traits.Write | traits.Fast, Keys: traits.OneKey(traits.KeyChange),
		Categories: []string{"keyspace", "write", "fast", "delete"}, Group: traits.GroupGeneric, Since: since,
		Syntax: "key " + unit + " [NX | XX | GT | LT]", Complexity: "O(1)", Summary: summary,
		Cost:    engine.ByKeys((*engine.Costs).Free),
		Prepare: func(x *engine.Context, c *engine.Call) *engine.Op { return prepareExpire(x, c, scale, absolute) },
		Reply:   replyFlag,
	}
}

func prepareExpire(x *engine.Context, c *engine.Call, scale int64, absolute bool) *engine.Op {
	flags, text := parseExpireFlags(c.Args[3:])
	if text != "" {
		c.Fail(text)
		return nil
	}
	n, ok := answer.ParseInt(c.Args[2])
	if !ok {
		c.Fail(answer.TextInteger)
		return nil
	}
	base := x.Milliseconds()
	if absolute {
		base = 0
	}
	deadline, ok := answer.DeadlineOf(n, scale, base)
	if !ok {
		c.Fail(answer.TextExpire + c.Command().Name + "' command")
		return nil
	}
	return x.Contents().Record(&store.Expire{Name: c.Args[1], Deadline: deadline, If: flags})
}

// replyFlag answers 1 if the record did something.
func replyFlag(c *engine.Call, res *store.Result) { c.Answer(answer.Flag(res.Err == nil)) }

// parseExpireFlags reads the conditions of EXPIRE. It returns the error text, or
// "".
func parseExpireFlags(args [][]byte) (flags uint8, text string) {
	for _, a := range args {
		switch {
		case answer.Is(a, "nx"):
			flags |= store.IfAbsent
		case answer.Is(a, "xx"):
			flags |= store.IfPresent
		case answer.Is(a, "gt"):
			flags |= store.IfLater
		case answer.Is(a, "lt"):
			flags |= store.IfEarlier
		default:
			return 0, "ERR Unsupported option " + string(a)
		}
	}
	if flags&store.IfAbsent != 0 && flags&^store.IfAbsent != 0 {
		return 0, "ERR NX and XX, GT or LT options at the same time are not compatible"
	}
	if flags&store.IfLater != 0 && flags&store.IfEarlier != 0 {
		return 0, "ERR GT and LT options at the same time are not compatible"
	}
	return flags, ""
}

// persist is PERSIST key.
var persist = engine.Command{
	Name: "persist", Arity: 2, Flags: traits.Write | traits.Fast, Keys: traits.OneKey(traits.KeyChange),
	Categories: []string{"keyspace", "write", "fast"}, Group: traits.GroupGeneric, Since: "2.2.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Takes the deadline of a key away.",
	Cost: engine.ByWords,
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		return x.Contents().Record(&store.Persist{Name: c.Args[1]})
	},
	Reply: replyFlag,
}

var (
	// ttl is TTL key.
	ttl = ttlCommand("ttl", "Returns in how many seconds a key goes away.", "1.0.0", func(deadline, now int64) int64 {
		return (deadline - now + 500) / 1000
	})
	// pttl is PTTL key.
	pttl = ttlCommand("pttl", "Returns in how many milliseconds a key goes away.", "2.6.0", func(deadline, now int64) int64 {
		return deadline - now
	})
	// expireTime is EXPIRETIME key.
	expireTime = ttlCommand("expiretime", "Returns the second at which a key goes away.", "7.0.0", func(deadline, _ int64) int64 {
		return (deadline + 500) / 1000
	})
	// pexpireTime is PEXPIRETIME key.
	pexpireTime = ttlCommand("pexpiretime", "Returns the millisecond at which a key goes away.", "7.0.0", func(deadline, _ int64) int64 {
		return deadline
	})
)

// ttlCommand makes a command that answers -2 for a missing key, -1 for one
// without deadline.
func ttlCommand(name, summary, since string, value func(deadline, now int64) int64) engine.Command {
	return engine.Command{
		Name: name, Arity: 2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
		Categories: []string{"keyspace", "read", "fast"}, Group: traits.GroupGeneric, Since: since,
		Syntax: "key", Complexity: "O(1)", Summary: summary,
		Cost: engine.ByWords,
		Run: func(x *engine.Context, c *engine.Call) {
			entry, deadline := x.Names().Deadline(c.Args[1])
			switch {
			case entry == nil:
				c.Answer(answer.Integer(-2))
			case deadline == 0:
				c.Answer(answer.Integer(-1))
			default:
				c.Answer(answer.Integer(value(deadline, x.Milliseconds())))
			}
		},
	}
}

// rename is RENAME key newkey.
var rename = engine.Command{
	Name: "rename", Arity: 3, Flags: traits.Write, Keys: renameKeys,
	Categories: []string{"keyspace", "write", "slow", "delete"}, Group: traits.GroupGeneric, Since: "1.0.0",
	Syntax: "key newkey", Complexity: "O(1)", Summary: "Gives a key another name, replacing what has it.",
	Cost:    costOfRename,
	Also:    alsoRename,
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op { return prepareRename(x, c, 0) },
	Reply: func(c *engine.Call, res *store.Result) {
		if res.Err != nil {
			c.Fail(answer.TextNoSuchKey)
			return
		}
		c.Answer(answer.OK())
	},
}

// renameNX is RENAMENX key newkey.
var renameNX = engine.Command{
	Name: "renamenx", Arity: 3, Flags: traits.Write | traits.Fast, Keys: renameKeys,
	Categories: []string{"keyspace", "write", "fast", "delete"}, Group: traits.GroupGeneric, Since: "1.0.0",
	Syntax: "key newkey", Complexity: "O(1)", Summary: "Gives a key another name unless that is taken.",
	Cost:    costOfRename,
	Also:    alsoRename,
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op { return prepareRename(x, c, store.IfAbsent) },
	Reply: func(c *engine.Call, res *store.Result) {
		if errors.Is(res.Err, store.ErrMissing) {
			c.Fail(answer.TextNoSuchKey)
			return
		}
		c.Answer(answer.Flag(res.Err == nil))
	},
}

var renameKeys = traits.Keys{traits.KeyAt(1, traits.KeyTake), traits.KeyAt(2, traits.KeyOW)}

func prepareRename(x *engine.Context, c *engine.Call, flags uint8) *engine.Op {
	if !x.Names().MayMove(c, c.Args[2], x.Names().Lookup(c.Args[1])) {
		return nil
	}
	return x.Contents().Record(&store.Rename{From: c.Args[1], To: c.Args[2], If: flags})
}

// alsoRename is for the secret key of a filter that gets another name.
func alsoRename(x *engine.Context, c *engine.Call) {
	x.Names().MayMove(c, c.Args[2], x.Names().Lookup(c.Args[1]))
}

func costOfRename(x *engine.Costs, c *engine.Call) {
	x.Same(c.Args[1], c.Args[2])
	x.Free(c.Args[2])
}
