package filter

// FILTER.SET: what is asked of a filter, changed.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// set is FILTER.SET key NEWS changes.
var set = engine.Command{
	Name: "filter.set", Arity: 4, Flags: traits.Write | traits.Outside, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key NEWS changes", Complexity: "O(n), n being the number of parts",
	Summary: "Sets how many changes of a filter are kept for its followers, see FILTER.NEWS. They are kept whether or not anyone asks, and take 9 bytes each. " +
		"0 keeps as many as take a quarter of the filter, until nobody has asked for an hour. " +
		"A BF or CF has no such setting: the error is WRONGTYPE.",
	Cost:     engine.ByKeys((*engine.Costs).Change),
	Assemble: func(_ *engine.Context, _ *engine.Call, parts []answer.Reply) answer.Reply { return parts[0] },
	Run:      runSet,
}

// runSet changes part after part.
func runSet(x *engine.Context, c *engine.Call) {
	var n uint64
	if !answer.Is(c.Args[2], "news") {
		c.Fail(answer.TextSyntax + ": '" + blueprint.Clip(c.Args[2]) + "' is not NEWS")
		return
	}
	if text := blueprint.Number(c.Args[3], &n, 0, contents.MaxNews, "NEWS"); text != "" {
		c.Fail(text)
		return
	}
	entry := filters.Look(x, c)
	if entry == nil || !filters.Usable(c, entry) {
		return
	}
	if x.Contents().Level() < store.LevelNews {
		c.Fail(answer.NeedsUpgrade("NEWS"))
		return
	}
	for i, p := range contents.Parts(entry) {
		if !x.Contents().Mine(entry, p) {
			continue
		}
		res, failed := x.Contents().ApplyLarge(p, store.Record{ID: entry.ID, Index: uint32(i), Body: &store.FilterSet{News: n}}, contents.SetBytes(p, n))
		if !filters.Settled(c, &res, failed) {
			return
		}
	}
	c.Answer(answer.OK())
}
