package command

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

var (
	// expireCmd is EXPIRE key seconds [NX | XX | GT | LT].
	expireCmd = expireCommand("expire", "seconds", "Sets after how many seconds a key goes away.", "1.0.0", 1000, false)
	// pexpireCmd is PEXPIRE key milliseconds [NX | XX | GT | LT].
	pexpireCmd = expireCommand("pexpire", "milliseconds", "Sets after how many milliseconds a key goes away.", "2.6.0", 1, false)
	// expireAtCmd is EXPIREAT key unix-time-seconds [NX | XX | GT | LT].
	expireAtCmd = expireCommand("expireat", "unix-time-seconds", "Sets the second at which a key goes away.", "1.2.0", 1000, true)
	// pexpireAtCmd is PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT].
	pexpireAtCmd = expireCommand("pexpireat", "unix-time-milliseconds", "Sets the millisecond at which a key goes away.", "2.6.0", 1, true)
)

func expireCommand(name, unit, summary, since string, scale int64, absolute bool) Command {
	return Command{
		Name: name, Arity: -3, Flags: Write | Fast, Keys: oneKey, KeyFlags: keyRW,
		Categories: []string{"keyspace", "write", "fast"}, Group: groupGeneric, Since: since,
		Syntax: "key " + unit + " [NX | XX | GT | LT]", Complexity: "O(1)", Summary: summary,
		run: func(e *Engine, s *Session, c *Call) { runExpire(e, s, c, scale, absolute) },
	}
}

func runExpire(e *Engine, s *Session, c *Call, scale int64, absolute bool) {
	flags, text := parseExpireFlags(c.Args[3:])
	if text != "" {
		c.answer(fail(text))
		return
	}
	n, ok := parseInt(c.Args[2])
	if !ok {
		c.answer(fail(textInteger))
		return
	}
	base := s.ms
	if absolute {
		base = 0
	}
	deadline, ok := deadlineOf(n, scale, base)
	if !ok {
		c.answer(fail(textExpire + c.cmd.Name + "' command"))
		return
	}
	op := door.Op{Record: store.Record{Op: store.OpExpire, Name: c.Args[1], At: s.ms, Deadline: deadline, Flags: flags}}
	e.do(&op)
	c.answer(flag(op.Result.Err == nil))
}

// deadlineOf returns base + n·scale, and false if that is no time in 64 bits.
func deadlineOf(n, scale, base int64) (int64, bool) {
	if n > math.MaxInt64/scale || n < math.MinInt64/scale {
		return 0, false
	}
	n *= scale
	if n > 0 && base > math.MaxInt64-n {
		return 0, false
	}
	if n += base; n == 0 {
		n = -1 // 0 means no deadline; 1970 is long past either way
	}
	return n, true
}

// parseExpireFlags reads the conditions of EXPIRE. It returns the error text, or
// "".
func parseExpireFlags(args [][]byte) (flags uint8, text string) {
	for _, a := range args {
		switch {
		case is(a, "nx"):
			flags |= store.IfAbsent
		case is(a, "xx"):
			flags |= store.IfPresent
		case is(a, "gt"):
			flags |= store.IfLater
		case is(a, "lt"):
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

// persistCmd is PERSIST key.
var persistCmd = Command{
	Name: "persist", Arity: 2, Flags: Write | Fast, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"keyspace", "write", "fast"}, Group: groupGeneric, Since: "2.2.0",
	Syntax: "key", Complexity: "O(1)", Summary: "Takes the deadline of a key away.",
	run: func(e *Engine, s *Session, c *Call) {
		op := door.Op{Record: store.Record{Op: store.OpPersist, Name: c.Args[1], At: s.ms}}
		e.do(&op)
		c.answer(flag(op.Result.Err == nil))
	},
}

var (
	// ttlCmd is TTL key.
	ttlCmd = ttlCommand("ttl", "Returns in how many seconds a key goes away.", "1.0.0", func(deadline, now int64) int64 {
		return (deadline - now + 500) / 1000
	})
	// pttlCmd is PTTL key.
	pttlCmd = ttlCommand("pttl", "Returns in how many milliseconds a key goes away.", "2.6.0", func(deadline, now int64) int64 {
		return deadline - now
	})
	// expireTimeCmd is EXPIRETIME key.
	expireTimeCmd = ttlCommand("expiretime", "Returns the second at which a key goes away.", "7.0.0", func(deadline, _ int64) int64 {
		return (deadline + 500) / 1000
	})
	// pexpireTimeCmd is PEXPIRETIME key.
	pexpireTimeCmd = ttlCommand("pexpiretime", "Returns the millisecond at which a key goes away.", "7.0.0", func(deadline, _ int64) int64 {
		return deadline
	})
)

// ttlCommand makes a command that answers -2 for a missing key, -1 for one
// without deadline.
func ttlCommand(name, summary, since string, value func(deadline, now int64) int64) Command {
	return Command{
		Name: name, Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, KeyFlags: keyRO,
		Categories: []string{"keyspace", "read", "fast"}, Group: groupGeneric, Since: since,
		Syntax: "key", Complexity: "O(1)", Summary: summary,
		run: func(e *Engine, s *Session, c *Call) {
			entry, deadline := e.state.Names.Deadline(c.Args[1], s.ms)
			switch {
			case entry == nil:
				c.answer(integer(-2))
			case deadline == 0:
				c.answer(integer(-1))
			default:
				c.answer(integer(value(deadline, s.ms)))
			}
		},
	}
}

// renameCmd is RENAME key newkey.
var renameCmd = Command{
	Name: "rename", Arity: 3, Flags: Write, Keys: Keys{1, 2, 1}, KeyFlags: keyRW,
	Categories: []string{"keyspace", "write", "slow"}, Group: groupGeneric, Since: "1.0.0",
	Syntax: "key newkey", Complexity: "O(1)", Summary: "Gives a key another name, replacing what has it.",
	run: func(e *Engine, s *Session, c *Call) {
		if err := e.rename(s, c, 0); err != nil {
			c.answer(fail(textNoSuchKey))
			return
		}
		c.answer(okReply)
	},
}

// renameNXCmd is RENAMENX key newkey.
var renameNXCmd = Command{
	Name: "renamenx", Arity: 3, Flags: Write | Fast, Keys: Keys{1, 2, 1}, KeyFlags: keyRW,
	Categories: []string{"keyspace", "write", "fast"}, Group: groupGeneric, Since: "1.0.0",
	Syntax: "key newkey", Complexity: "O(1)", Summary: "Gives a key another name unless that is taken.",
	run: func(e *Engine, s *Session, c *Call) {
		err := e.rename(s, c, store.IfAbsent)
		if errors.Is(err, store.ErrMissing) {
			c.answer(fail(textNoSuchKey))
			return
		}
		c.answer(flag(err == nil))
	},
}

func (e *Engine) rename(s *Session, c *Call, flags uint8) error {
	op := door.Op{Record: store.Record{Op: store.OpRename, Name: c.Args[1], Other: c.Args[2], At: s.ms, Flags: flags}}
	e.do(&op)
	return op.Result.Err
}
