package keys

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// copyCmd is COPY source destination [DB index] [REPLACE]. Filters cannot be
// copied, as in RedisBloom.
var copyCmd = engine.Command{
	Name: "copy", Arity: -3, Flags: engine.Write | engine.DenyOOM, Keys: []engine.Keys{engine.KeyAt(1, engine.KeyGet), engine.KeyAt(2, engine.KeyOW)},
	Categories: []string{"keyspace", "write", "slow"}, Group: engine.GroupGeneric, Since: "6.2.0",
	Syntax: "source destination [DB destination-db] [REPLACE]", Complexity: "O(n), n being the length of the string",
	Summary: "Copies a string. Filters are refused, as by RedisBloom.",
	Prepare: prepareCopy, Reply: replyCopy,
}

func parseCopy(args [][]byte) (replace bool, text string) {
	for i := 3; i < len(args); i++ {
		switch {
		case engine.Is(args[i], "replace"):
			replace = true
		case engine.Is(args[i], "db") && i+1 < len(args):
			i++
			n, ok := engine.ParseInt(args[i])
			if !ok {
				return false, engine.TextInteger
			}
			if n != 0 {
				return false, engine.TextDB
			}
		default:
			return false, engine.TextSyntax
		}
	}
	return replace, ""
}

func prepareCopy(x *engine.Context, c *engine.Call) *engine.Op {
	replace, text := parseCopy(c.Args)
	if text != "" {
		c.Fail(text)
		return nil
	}
	if string(c.Args[1]) == string(c.Args[2]) {
		c.Fail("ERR source and destination objects are the same")
		return nil
	}
	entry, deadline := x.Deadline(c.Args[1])
	if entry == nil || !replace && x.Lookup(c.Args[2]) != nil {
		c.Answer(engine.Integer(0))
		return nil
	}
	if entry.Kind != catalog.String {
		c.Fail(textModuleCopy)
		return nil
	}
	r := store.Record{Op: store.OpSet, Name: c.Args[2], Deadline: deadline}
	r.Keep(store.Text(entry), nil) // strings never change: both names share it
	if !replace {
		r.Flags = store.IfAbsent
	}
	return x.Storing(c, r, nil, len(r.Value))
}

func replyCopy(c *engine.Call, res *store.Result) { c.Answer(engine.Flag(res.Err == nil)) }
