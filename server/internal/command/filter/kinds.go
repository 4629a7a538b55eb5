package filter

import (
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// kindsCmd is FILTER.KINDS.
var kindsCmd = engine.Command{
	Name: "filter.kinds", Arity: 1, Flags: engine.ReadOnly | engine.Fast, Categories: []string{"read", "filter", "fast"},
	Group: engine.GroupFilter, Since: "0.2.0", Complexity: "O(1)",
	Summary: "Lists the kinds of filters and what each of them can do.",
	Cost:    engine.BySlow,
	Run: func(_ *engine.Context, c *engine.Call) {
		table := codec.Kinds()
		rows := make([]engine.Reply, len(table))
		for i := range table {
			rows[i] = describeKind(&table[i])
		}
		c.Answer(engine.List(rows...))
	},
}

// describeKind returns what a kind can do, as a map.
func describeKind(k *codec.Kind) engine.Reply {
	f := k.Features
	return engine.Pairs(
		engine.Text("kind"), engine.Text(k.Name),
		engine.Text("number"), engine.Integer(int64(k.Number)),
		engine.Text("add"), engine.Truth(f.Add || f.Insert),
		engine.Text("idempotent"), engine.Truth(f.Add),
		engine.Text("delete"), engine.Truth(f.Delete),
		engine.Text("count"), engine.Truth(f.Count),
		engine.Text("static"), engine.Truth(f.Static),
		engine.Text("grow"), engine.Truth(f.Grow),
		engine.Text("forget"), engine.Truth(f.Forget),
		engine.Text("expire"), engine.Truth(f.Expire),
	)
}
