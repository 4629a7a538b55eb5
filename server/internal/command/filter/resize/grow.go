package resize

import (
	"strconv"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Grow is FILTER.GROW key [ERROR rate].
var Grow = engine.Command{
	Name: "filter.grow", Arity: -2, Max: 4, Flags: traits.Write | traits.DenyOOM | traits.Outside, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key [ERROR rate]", Complexity: "O(n), n being the number of bytes",
	Summary:  "Turns a filter of kind bloom into a scalable one, which gets a layer when it is full. No item is lost. The false positive rate asked for doubles, unless ERROR sets another; ERROR must be more than the rate that the filter has now.",
	Cost:     engine.ByBytes(8),
	Assemble: assembleGrow,
	Run:      runGrow,
}

// runGrow grows part after part. Those that a call that was cut short has grown stay
// as they are, so it can be sent again.
func runGrow(x *engine.Context, c *engine.Call) {
	rate := 0.0
	if len(c.Args) > 2 {
		if len(c.Args) != 4 || !answer.Is(c.Args[2], "error") {
			c.Fail(answer.TextSyntax)
			return
		}
		if text := blueprint.Rate(c.Args[3], &rate, "ERROR"); text != "" {
			c.Fail(text)
			return
		}
	}
	entry := filters.Look(x, c)
	if entry == nil || !filters.Usable(c, entry) {
		return
	}
	var todo []uint32
	for i, p := range contents.Parts(entry) {
		if !x.Contents().Mine(entry, p) {
			continue
		}
		switch row := p.Row(); row.Name {
		case "bloom":
			todo = append(todo, uint32(i))
		case "scalable", "growing":
			if contents.PartCount(entry) == 1 {
				c.Fail("ERR FILTER.GROW is for kind bloom; a filter of kind " + row.Name + " grows by itself")
				return
			}
		default:
			if len(p.Sources()) > 0 { // which a rebuild would drop
				c.Fail(filters.Failure(contents.ErrSourced))
				return
			}
			larger := "FILTER.REBUILD makes a larger one"
			if _, text := blueprint.KindNamed(row.Name, true); text != "" {
				larger = "bloomery build makes a larger one, FILTER.LOAD takes it"
			}
			c.Fail("ERR FILTER.GROW is for kind bloom, not for " + row.Name + "; " + larger)
			return
		}
	}
	if len(todo) == 0 && !x.Contents().Assembled() {
		c.Fail("ERR FILTER.GROW is for kind bloom; a filter of kind " + contents.PartOf(entry).Row().Name + " grows by itself")
		return
	}
	for _, i := range todo {
		if !growPart(x, c, entry, i, rate) {
			return
		}
	}
	if x.Contents().Assembled() {
		c.Answer(answer.Integer(int64(len(todo))))
		return
	}
	c.Answer(answer.OK())
}

// assembleGrow answers for parts that nodes have grown. If there were none, all grow by themselves.
func assembleGrow(x *engine.Context, c *engine.Call, parts []answer.Reply) answer.Reply {
	if engine.Sum(x, c, parts).N == 0 {
		return answer.Fail("ERR FILTER.GROW is for kind bloom; all parts of this filter grow by themselves")
	}
	return answer.OK()
}

// growPart grows a part to a rate, 0 for twice what was asked for. It answers and
// reports false if that fails.
func growPart(x *engine.Context, c *engine.Call, entry *catalog.Entry, i uint32, rate float64) bool {
	p := contents.PartAt(entry, i)
	p.RLock()
	gone := p.Gone()
	asked, now, size := 0.0, 0.0, uint64(0)
	if !gone {
		s := p.Contents().Stats()
		asked, now, size = s.Asked, s.Predicted, p.Bytes()
	}
	p.RUnlock()
	switch {
	case gone:
		c.Fail(answer.TextNotFound)
		return false
	case len(p.Sources()) > 0:
		c.Fail(filters.Failure(contents.ErrSourced))
		return false
	}
	if rate == 0 {
		if rate = 2 * asked; rate >= 1 {
			c.Fail("ERR twice the rate " + decimal(asked) + " is too much: give ERROR")
			return false
		}
	}
	if rate <= asked {
		c.Fail("ERR ERROR must be more than " + decimal(asked) + ", the rate that the filter was made for")
		return false
	}
	if rate <= now {
		c.Fail("ERR the filter is over its rate and has " + decimal(now) + " now, which layers cannot lower: give ERROR of more than that, or build it again from its items")
		return false
	}
	r := store.Record{ID: entry.ID, Index: i, Body: &store.FilterGrow{Rate: rate, Equal: x.Contents().Level() < store.LevelShares}}
	res, failed := x.Contents().ApplyLarge(p, r, 3*size)
	return filters.Settled(c, &res, failed)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
