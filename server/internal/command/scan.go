package command

import (
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// scanCmd is SCAN cursor [MATCH pattern] [COUNT count] [TYPE type].
var scanCmd = Command{
	Name: "scan", Arity: -2, Flags: ReadOnly, Categories: []string{"keyspace", "read", "slow"}, Group: groupGeneric, Since: "2.8.0",
	Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Complexity: "O(1) for every call, O(n) for all keys",
	Summary: "Returns some of the keys, and the cursor of the next.",
	run:     runScan,
}

// scan is what SCAN asks for.
type scan struct {
	cursor  uint64
	pattern string
	count   int
	kind    string
}

// parseScan reads the arguments of SCAN. It returns the error text, or "".
func parseScan(args [][]byte) (q scan, text string) {
	const most = 1 << 20 // of one call; more would keep a client too long
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		return q, textCursor
	}
	q = scan{cursor: cursor, pattern: "*", count: 10}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return q, textSyntax
		}
		value := args[i+1]
		switch {
		case is(args[i], "count"):
			n, ok := parseInt(value)
			if !ok {
				return q, textInteger
			}
			if n < 1 {
				return q, textSyntax
			}
			q.count = int(min(n, most))
		case is(args[i], "match"):
			q.pattern = string(value)
		case is(args[i], "type"):
			q.kind = string(value)
		default:
			return q, textSyntax
		}
	}
	return q, ""
}

func runScan(e *Engine, s *Session, c *Call) {
	q, text := parseScan(c.Args)
	if text != "" {
		c.answer(fail(text))
		return
	}
	names := []Reply{}
	next := e.state.Names.Scan(q.cursor, q.count, s.ms, func(v catalog.View) {
		if (q.kind == "" || strings.EqualFold(q.kind, store.TypeName(v.Entry.Kind))) && (q.pattern == "*" || match(q.pattern, v.Name)) {
			names = append(names, bulk(v.Name))
		}
	})
	c.answer(array(bulk(strconv.FormatUint(next, 10)), array(names...)))
}

// keysCmd is KEYS pattern.
var keysCmd = Command{
	Name: "keys", Arity: 2, Flags: ReadOnly | heavy, Categories: []string{"keyspace", "read", "slow", "dangerous"}, Group: groupGeneric,
	Since: "1.0.0", Syntax: "pattern", Complexity: "O(n), n being the number of keys", Summary: "Returns the keys that match a pattern.",
	run: func(e *Engine, s *Session, c *Call) {
		pattern := string(c.Args[1])
		names := []Reply{}
		for cursor := uint64(0); ; {
			cursor = e.state.Names.Scan(cursor, 1024, s.ms, func(v catalog.View) {
				if pattern == "*" || match(pattern, v.Name) {
					names = append(names, bulk(v.Name))
				}
			})
			if cursor == 0 {
				break
			}
		}
		c.answer(array(names...))
	},
}

// dbSizeCmd is DBSIZE.
var dbSizeCmd = Command{
	Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast, Categories: []string{"keyspace", "read", "fast"}, Group: groupServer,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Returns the number of keys.",
	run: func(e *Engine, _ *Session, c *Call) { c.answer(integer(int64(e.state.Names.Len()))) },
}

// randomKeyCmd is RANDOMKEY.
var randomKeyCmd = Command{
	Name: "randomkey", Arity: 1, Flags: ReadOnly, Categories: []string{"keyspace", "read", "slow"}, Group: groupGeneric,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Returns some key.",
	run: func(e *Engine, s *Session, c *Call) {
		name, entry := e.state.Names.Random(s.ms)
		if entry == nil {
			c.answer(null())
			return
		}
		c.answer(bulk(name))
	},
}
