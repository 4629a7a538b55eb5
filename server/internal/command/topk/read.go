package topk

// TOPK.QUERY, COUNT, LIST and INFO.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// query is TOPK.QUERY key item [item ...].
var query = engine.Command{
	Name: "topk.query", Arity: -3, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key item [item ...]", Complexity: "O(n · k), n being the number of items",
	Summary: "Reports for each item whether it is one of those that are kept.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1, Steps: steps,
		Ask: func(r *answer.Reply, p *contents.Part, item []byte) { *r = answer.Truth(p.TopK().Contains(item)) },
	},
}

// count is TOPK.COUNT key item [item ...].
var count = engine.Command{
	Name: "topk.count", Arity: -3, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key item [item ...]", Complexity: "O(n · (k + d)), n items and d rows",
	Summary: "Returns the counts of items, which are never too high but for rare collisions.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1, Steps: steps,
		Ask: func(r *answer.Reply, p *contents.Part, item []byte) {
			r.Kind, r.N = answer.Int, int64(p.TopK().Count(item))
		},
	},
}

// list is TOPK.LIST key [WITHCOUNT].
var list = engine.Command{
	Name: "topk.list", Arity: -2, Max: 3, Flags: traits.ReadOnly | traits.Module | traits.Heavy, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key [WITHCOUNT]", Complexity: "O(k · log k)",
	Summary: "Lists the items that are kept, the most frequent first.",
	On:      &bundle.OnSketch{Family: family, Missing: textMissing, Stride: 1, Early: checkWord, Look: lookList},
}

// checkWord takes any beginning of the word, even none of it, as RedisBloom does.
func checkWord(c *engine.Call) {
	const word = "withcount"
	if len(c.Args) < 3 {
		return
	}
	if n := len(c.Args[2]); n > len(word) || !answer.Is(c.Args[2], word[:n]) {
		c.Fail(textWithCount)
	}
}

// lookList copies the slots, and sorts them outside the gate.
func lookList(x *engine.Context, p *contents.Part, c *engine.Call) {
	t := p.TopK()
	// Items of the reply are copies, and the slots are sorted in one.
	if !x.Hold(int(t.Bytes()-t.CellBytes()) + 2*answer.ReplyBytes*int(t.K())) {
		c.Fail(answer.TextOOM)
		return
	}
	all, withCounts := t.All(), len(c.Args) > 2
	c.AnswerLater(func() answer.Reply {
		elems := []answer.Reply{}
		for item, n := range all {
			elems = append(elems, shown(item))
			if withCounts {
				elems = append(elems, answer.Integer(int64(n)))
			}
		}
		return answer.List(elems...)
	})
}

// info is TOPK.INFO key.
var info = engine.Command{
	Name: "topk.info", Arity: 2, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "fast", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a sketch of the most frequent items.",
	Cost:    engine.ByWords,
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1,
		Look: func(_ *engine.Context, p *contents.Part, c *engine.Call) {
			t := p.TopK()
			c.Answer(answer.Pairs(
				answer.Word("k"), answer.Integer(int64(t.K())),
				answer.Word("width"), answer.Integer(int64(t.Width())),
				answer.Word("depth"), answer.Integer(int64(t.Depth())),
				answer.Word("decay"), answer.Float(t.Decay()),
			))
		},
	},
}
