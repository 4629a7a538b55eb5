package cms

// CMS.INCRBY, CMS.QUERY and CMS.INFO.

import (
	"math"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// incrBy is CMS.INCRBY key item increment [item increment ...].
var incrBy = engine.Command{
	Name: "cms.incrby", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cms"}, Group: traits.GroupCountMin, Since: "2.0.0",
	Syntax: "key item increment [item increment ...]", Complexity: "O(n · d), n items and d rows",
	Summary: "Adds to the counts of items and returns them.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 2, Early: pairs,
		Fault: answer.TextOOM, Steps: rows,
		Body: func(m *store.Scratch, items []byte) store.Body {
			m.CountMinIncr.Items = items
			return &m.CountMinIncr
		},
		Encode: func(b []byte, p *contents.Part, item [][]byte) ([]byte, string) {
			n, ok := answer.ParseInt(item[1])
			switch {
			case !ok:
				return b, textNumber
			case n < 0:
				return b, textNegative
			}
			return store.AppendIncrement(b, uint64(n), item[0], p.Depth()), ""
		},
		Element: func(r *answer.Reply, res *store.Result, i int) {
			if r.Kind, r.N = answer.Int, int64(res.Counts[i]); r.N == math.MaxUint32 {
				*r = answer.Fail(textOverflow)
			}
		},
	},
}

// pairs asks that every item has a number.
func pairs(c *engine.Call) {
	if len(c.Args)%2 != 0 {
		c.Answer(answer.WrongArity(c.Command().Name))
	}
}

// rows is how many steps an item takes: each row is in another place of memory, and has
// another hash.
func rows(p *contents.Part, c *engine.Call) int {
	return int(p.Depth()) * (1 + bundle.Longest(c))
}

// query is CMS.QUERY key item [item ...].
var query = engine.Command{
	Name: "cms.query", Arity: -3, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "cms"}, Group: traits.GroupCountMin, Since: "2.0.0",
	Syntax: "key item [item ...]", Complexity: "O(n · d), n items and d rows",
	Summary: "Returns the counts of items, which are never too low.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1, Steps: rows,
		Ask: func(r *answer.Reply, p *contents.Part, item []byte) {
			r.Kind, r.N = answer.Int, int64(p.CountMin().Count(item))
		},
	},
}

// info is CMS.INFO key.
var info = engine.Command{
	Name: "cms.info", Arity: 2, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "fast", "cms"}, Tips: []string{"dont_cache"}, Group: traits.GroupCountMin, Since: "2.0.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a count-min sketch.",
	Cost:    engine.ByWords,
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1,
		Look: func(_ *engine.Context, p *contents.Part, c *engine.Call) {
			s := p.CountMin()
			c.Answer(answer.Pairs(
				answer.Word("width"), answer.Integer(int64(s.Width())),
				answer.Word("depth"), answer.Integer(int64(s.Depth())),
				answer.Word("count"), answer.Integer(int64(s.Total())),
			))
		},
	},
}
