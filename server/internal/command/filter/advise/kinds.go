package advise

import (
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Kinds is FILTER.KINDS.
var Kinds = engine.Command{
	Name: "filter.kinds", Arity: 1, Flags: traits.ReadOnly | traits.Fast, Categories: []string{"read", "filter", "fast"},
	Group: traits.GroupFilter, Since: "0.1.0", Complexity: "O(1)",
	Summary: "Lists the kinds of filters and what each of them can do.",
	Cost:    engine.BySlow,
	Run: func(_ *engine.Context, c *engine.Call) {
		table := codec.Kinds()
		rows := make([]answer.Reply, len(table))
		for i := range table {
			rows[i] = describeKind(&table[i])
		}
		c.Answer(answer.List(rows...))
	},
}

// describeKind returns what a kind can do, as a map.
func describeKind(k *codec.Kind) answer.Reply {
	f := k.Features
	return answer.Pairs(
		answer.Text("kind"), answer.Text(k.Name),
		answer.Text("number"), answer.Integer(int64(k.Number)),
		answer.Text("add"), answer.Truth(f.Add || f.Insert),
		answer.Text("idempotent"), answer.Truth(f.Add),
		answer.Text("delete"), answer.Truth(f.Delete),
		answer.Text("count"), answer.Truth(f.Count),
		answer.Text("static"), answer.Truth(f.Static),
		answer.Text("grow"), answer.Truth(f.Grow),
		answer.Text("forget"), answer.Truth(f.Forget),
		answer.Text("expire"), answer.Truth(f.Expire),
	)
}
