package keys

// SCAN, KEYS, DBSIZE and RANDOMKEY.

import (
	"math"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/glob"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// scan is SCAN cursor [MATCH pattern] [COUNT count] [TYPE type].
var scan = engine.Command{
	Name: "scan", Arity: -2, Flags: traits.ReadOnly | traits.Outside, Categories: []string{"keyspace", "read", "slow"},
	Group: traits.GroupGeneric, Since: "2.8.0",
	Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Complexity: "O(1) for every call, O(n) for all keys",
	Summary: "Returns some of the keys, and the cursor of the next.",
	Cost:    costOfScan,
	Run:     runScan,
}

// query is what SCAN asks for.
type query struct {
	cursor  uint64
	pattern *glob.Pattern
	count   int
	kind    string
}

// parseScan reads the arguments of SCAN. It returns the error text, or "".
func parseScan(args [][]byte) (q query, text string) {
	const most = 1 << 20 // of one call; more would keep a client too long
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		return q, textCursor
	}
	q = query{cursor: cursor, pattern: glob.New("*"), count: 10}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return q, answer.TextSyntax
		}
		value := args[i+1]
		switch {
		case answer.Is(args[i], "count"):
			n, ok := answer.ParseInt(value)
			if !ok {
				return q, answer.TextInteger
			}
			if n < 1 {
				return q, answer.TextSyntax
			}
			q.count = int(min(n, most))
		case answer.Is(args[i], "match"):
			q.pattern = glob.New(string(value))
		case answer.Is(args[i], "type"):
			q.kind = string(value)
		default:
			return q, answer.TextSyntax
		}
	}
	return q, ""
}

func runScan(x *engine.Context, c *engine.Call) {
	q, text := parseScan(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	names := []answer.Reply{}
	next, ok := walk(x, q.cursor, q.count, func(v catalog.View) bool {
		return (q.kind == "" || strings.EqualFold(q.kind, contents.TypeName(v.Entry.Kind))) && q.pattern.Match(v.Name)
	}, &names)
	if !ok {
		c.Fail(answer.TextOOM)
		return
	}
	c.Answer(answer.List(answer.Text(strconv.FormatUint(next, 10)), answer.List(names...)))
}

// walk appends the names that match to names, from cursor on, until it has seen
// at least count, and returns the cursor to go on with. It looks at a few names
// at a time and compares them outside the gate. It reports false if there is no
// memory for the reply, or nobody to take it.
func walk(x *engine.Context, cursor uint64, count int, match func(catalog.View) bool, names *[]answer.Reply) (next uint64, ok bool) {
	const (
		few       = 128
		nameBytes = 128 // of a reply in memory, besides the name
	)
	var seen []catalog.View
	for {
		cursor = x.Names().Scan(cursor, min(count, few), &seen)
		size := 0
		for _, v := range seen {
			if match(v) {
				*names = append(*names, answer.Text(v.Name))
				size += nameBytes + len(v.Name)
			}
		}
		if !x.Hold(size) || x.Stopped() {
			return 0, false
		}
		// A walk that meets names past their deadline sees fewer than it has
		// passed.
		if count -= max(len(seen), min(count, few)); cursor == 0 || count <= 0 {
			return cursor, true
		}
	}
}

// keys is KEYS pattern.
var keys = engine.Command{
	Name: "keys", Arity: 2, Flags: traits.ReadOnly | traits.Heavy | traits.Outside,
	Categories: []string{"keyspace", "read", "slow", "dangerous"}, Group: traits.GroupGeneric,
	Since: "1.0.0", Syntax: "pattern", Complexity: "O(n), n being the number of keys", Summary: "Returns the keys that match a pattern.",
	Cost: func(x *engine.Costs, c *engine.Call) { x.Names(math.MaxInt, c.Args[1:]) },
	Run: func(x *engine.Context, c *engine.Call) {
		pattern := glob.New(string(c.Args[1]))
		names := []answer.Reply{}
		if _, ok := walk(x, 0, math.MaxInt, func(v catalog.View) bool { return pattern.Match(v.Name) }, &names); !ok {
			c.Fail(answer.TextOOM)
			return
		}
		c.Answer(answer.List(names...))
	},
}

// dbSize is DBSIZE.
var dbSize = engine.Command{
	Name: "dbsize", Arity: 1, Flags: traits.ReadOnly | traits.Fast, Categories: []string{"keyspace", "read", "fast"}, Group: traits.GroupServer,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Returns the number of keys.",
	Cost: engine.ByWords,
	Run: func(x *engine.Context, c *engine.Call) {
		all, _ := x.Names().Count()
		c.Answer(answer.Integer(int64(all)))
	},
}

// randomKey is RANDOMKEY.
var randomKey = engine.Command{
	Name: "randomkey", Arity: 1, Flags: traits.ReadOnly | traits.Outside, Categories: []string{"keyspace", "read", "slow"}, Group: traits.GroupGeneric,
	Since: "1.0.0", Complexity: "O(1); O(n), n being the number of keys, for a user who may read few of them", Summary: "Returns some key that the user may read.",
	Cost: func(x *engine.Costs, _ *engine.Call) { x.Slow(); x.Readable() },
	Run:  runRandomKey,
}

func runRandomKey(x *engine.Context, c *engine.Call) {
	const tries = 100
	for range tries {
		var name string
		var entry *catalog.Entry
		x.Look(func() { name, entry = x.Names().Random() })
		if entry == nil {
			c.Answer(answer.Nil())
			return
		}
		if x.Names().Readable(name) {
			c.Answer(answer.Text(name))
			return
		}
	}
	const few = 128
	var seen []catalog.View
	for cursor, more := uint64(0), true; more && len(seen) == 0; more = cursor != 0 {
		if x.GaveUp(c) {
			return
		}
		cursor = x.Names().Scan(cursor, few, &seen)
	}
	if len(seen) == 0 {
		c.Answer(answer.Nil())
		return
	}
	c.Answer(answer.Text(seen[0].Name))
}

func costOfScan(x *engine.Costs, c *engine.Call) {
	if q, text := parseScan(c.Args); text == "" {
		x.Names(q.count, c.Args[2:])
	}
}
