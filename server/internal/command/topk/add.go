package topk

// TOPK.ADD and TOPK.INCRBY.

import (
	"strconv"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// add is TOPK.ADD key item [item ...].
var add = engine.Command{
	Name: "topk.add", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key item [item ...]", Complexity: "O(n · (k + d)), n items and d rows",
	Summary: "Counts items and returns for each the item that it has expelled.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1, Body: counting, Grows: true, Fault: answer.TextOOM, Steps: steps,
		Check: func(c *engine.Call) {
			for _, item := range c.Items {
				if len(item) > store.MaxItem {
					c.Fail(textLong)
					return
				}
			}
		},
		Encode: func(b []byte, _ *contents.Part, item [][]byte) ([]byte, string) {
			return store.AppendCounted(b, 1, item[0]), ""
		},
		Element: expelled,
	},
}

// incrBy is TOPK.INCRBY key item increment [item increment ...]. An increment that
// is not valid ends the work: the pairs before it are done.
var incrBy = engine.Command{
	Name: "topk.incrby", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "topk"}, Group: traits.GroupTopK, Since: "2.0.0",
	Syntax: "key item increment [item increment ...]", Complexity: "O(n · (k + i · d)), n items, increments of i and d rows",
	Summary: "Adds to the counts of items and returns for each the item that it has expelled.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 2, Body: counting, Grows: true, Fault: answer.TextOOM, Steps: stepsOfPairs, Tries: tries, Slice: slice,
		Early: func(c *engine.Call) {
			if len(c.Args)%2 != 0 {
				c.Answer(answer.WrongArity(c.Command().Name))
			}
		},
		Check: checkPairs,
		Encode: func(b []byte, _ *contents.Part, item [][]byte) ([]byte, string) {
			n, _ := answer.ParseInt(item[1]) // Check has
			return store.AppendCounted(b, uint32(n), item[0]), ""
		},
		Element: expelled,
		Rest: func(first bool) answer.Reply {
			if first {
				return answer.Fail(textIncrement)
			}
			return answer.Fail(textSkipped)
		},
	},
}

// checkPairs cuts the items off in front of an increment that is not valid.
func checkPairs(c *engine.Call) {
	for i := 0; i < len(c.Items); i += 2 {
		if len(c.Items[i]) > store.MaxItem {
			c.Fail(textLong)
			return
		}
		if n, ok := answer.ParseInt(c.Items[i+1]); !ok || n < 0 || n > redisbloom.MaxIncrement {
			c.Items = c.Items[:i]
			return
		}
	}
}

// expelled answers the item that left for item i of a record.
func expelled(r *answer.Reply, res *store.Result, i int) {
	if r.Kind = answer.Null; res.Expelled[i] != nil {
		*r = shown(res.Expelled[i])
	}
}

// steps is how many steps an item takes: one for each row, more if it is long, and others
// to look for it among all slots.
func steps(p *contents.Part, c *engine.Call) int { return stepsOf(p, c, 1) }

// stepsOfPairs is steps for increments.
func stepsOfPairs(p *contents.Part, c *engine.Call) int {
	most := int64(1)
	for i := 1; i < len(c.Items); i += 2 {
		n, _ := answer.ParseInt(c.Items[i]) // Check has
		most = max(most, n)
	}
	return stepsOf(p, c, most)
}

// tries returns the sum of increments.
func tries(pairs [][]byte) (sum uint64) {
	for i := 1; i < len(pairs); i += 2 {
		if n, ok := answer.ParseInt(pairs[i]); ok && n > 0 {
			sum += uint64(min(n, redisbloom.MaxIncrement))
		}
	}
	return sum
}

// slice returns a pair with a part of an increment. Several increments that make the sum
// have the same chances as one.
func slice(p *contents.Part, pair [][]byte, done int) (piece [][]byte, next int) {
	n, _ := answer.ParseInt(pair[1]) // Check has
	left, most := int(n)-done, max(1, bundle.MaxSlice*triesAStep/p.Steps())
	if next = done + most; left <= most {
		most, next = left, 0
	}
	return [][]byte{pair[0], strconv.AppendInt(nil, int64(most), 10)}, next
}

// triesAStep is how often an increment tries to take the cell of another item in the time
// of a step.
const triesAStep = 8

// stepsOf returns the steps of an item with an increment.
func stepsOf(p *contents.Part, c *engine.Call, increment int64) int {
	return p.Steps() * (1 + int(increment/triesAStep) + bundle.Longest(c))
}

func counting(m *store.Scratch, items []byte) store.Body {
	m.TopKIncr.Items = items
	return &m.TopKIncr
}
