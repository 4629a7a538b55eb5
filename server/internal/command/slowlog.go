package command

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// slowLogCmd is SLOWLOG, with its subcommands.
var slowLogCmd = Command{
	Name: "slowlog", Arity: -2, Group: groupServer, Since: "2.2.12", Syntax: "subcommand", Summary: "Tells which commands took long.",
	Categories: []string{"slow"},
	Subcommands: []Command{
		{
			Name: "get", Arity: -2, Max: 3, Flags: Admin | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Syntax: "[count]", Complexity: "O(n), n being the number of entries", Summary: "Returns the latest entries.",
			run: func(e *Engine, _ *Session, c *Call) {
				n := int64(10)
				if len(c.Args) == 3 {
					var ok bool
					if n, ok = parseInt(c.Args[2]); !ok || n < -1 {
						c.answer(fail("ERR count should be greater than or equal to -1"))
						return
					}
				}
				c.answer(e.slow.reply(n))
			},
		},
		{
			Name: "len", Arity: 2, Flags: Admin | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Returns the number of entries.",
			run: func(e *Engine, _ *Session, c *Call) { c.answer(integer(int64(e.slow.len()))) },
		},
		{
			Name: "reset", Arity: 2, Flags: Admin | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(n), n being the number of entries", Summary: "Removes the entries.",
			run: func(e *Engine, _ *Session, c *Call) {
				e.slow.reset()
				c.answer(okReply)
			},
		},
	},
}

// Limits of an entry, as in Redis.
const (
	slowArgs     = 32
	slowArgBytes = 128
)

// slowLog keeps the latest groups of commands that took long. The zero value
// keeps 128 of those that took 10 ms or more.
type slowLog struct {
	micros atomic.Int64 // 0 means 10,000; -1 turns the log off
	most   atomic.Int64 // 0 means 128

	mu      sync.Mutex
	next    int64
	entries []slowEntry // latest first
}

type slowEntry struct {
	id         int64
	at         time.Time
	took       time.Duration
	args       []string
	addr, name string
}

// slowerThan returns the threshold in microseconds, negative if the log is off.
func (l *slowLog) slowerThan() int64 {
	if v := l.micros.Load(); v != 0 {
		return v
	}
	return 10_000
}

func (l *slowLog) setSlowerThan(micros int64) {
	if micros == 0 {
		micros = 1 // 0 is "everything": no group takes less than a microsecond
	}
	l.micros.Store(micros)
}

func (l *slowLog) maxLen() int64 {
	if v := l.most.Load(); v != 0 {
		return v
	}
	return 128
}

func (l *slowLog) threshold() time.Duration {
	v := l.slowerThan()
	if v < 0 {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(v) * time.Microsecond
}

// add notes a group: its first command stands for it.
func (l *slowLog) add(s *Session, calls []Call, took time.Duration) {
	c := &calls[0]
	e := slowEntry{at: s.now, took: took, addr: s.Addr, name: s.name}
	for i, a := range c.Args {
		if i == slowArgs-1 && len(c.Args) > slowArgs {
			e.args = append(e.args, fmt.Sprintf("... (%d more arguments)", len(c.Args)-i))
			break
		}
		text := clip(a)
		if len(a) > slowArgBytes {
			text = fmt.Sprintf("%s... (%d more bytes)", text, len(a)-slowArgBytes)
		}
		e.args = append(e.args, text)
	}
	if len(calls) > 1 {
		e.args = append(e.args, fmt.Sprintf("... (%d more commands in the same run)", len(calls)-1))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.next
	l.next++
	l.entries = append([]slowEntry{e}, l.entries[:min(len(l.entries), int(l.maxLen())-1)]...)
}

func (l *slowLog) reply(n int64) Reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > int64(len(l.entries)) {
		n = int64(len(l.entries))
	}
	elems := []Reply{}
	for _, e := range l.entries[:n] {
		elems = append(elems, array(integer(e.id), integer(e.at.Unix()), integer(e.took.Microseconds()),
			bulks(e.args), bulk(e.addr), bulk(e.name)))
	}
	return array(elems...)
}

func (l *slowLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

func (l *slowLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
