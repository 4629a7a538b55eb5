package filter

// FILTER.SET: what is asked of a filter, changed.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
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
	if setNews(x, c, entry, n) {
		c.Answer(answer.OK())
	}
}

const (
	// mostSets is how often a call sets what another one has asked for meanwhile.
	mostSets = 16
	// textHalf is for a call that has changed some parts only.
	textHalf = "; parts of the filter may differ in NEWS now, and BLOCK may answer TRYAGAIN: repeat FILTER.SET"
)

// setNews changes part after part. Of several calls at once the last one at the first part decides for all: a call that finds
// another number there in the end sets that one. Where machines hold different parts, each sets its own, and nobody decides. It
// reports false if it has answered.
func setNews(x *engine.Context, c *engine.Call, entry *catalog.Entry, n uint64) bool {
	alone := contents.PartCount(entry) == 1 || x.Contents().Assembled() && !contents.Everywhere(entry)
	done := 0
	for round := range mostSets {
		for i, p := range contents.Parts(entry) {
			if !x.Contents().Mine(entry, p) || round > 0 && i == 0 { // what it has is what is set
				continue
			}
			if _, ok := setPart(x, c, entry, i, n, done > 0); !ok {
				return false
			}
			done++
		}
		if alone || done == 0 {
			return true
		}
		decided, ok := setPart(x, c, entry, 0, contents.SameNews, true)
		if !ok || decided == n {
			return ok
		}
		n = decided
	}
	c.Fail("TRYAGAIN other calls of FILTER.SET change the filter all the time" + textHalf)
	return false
}

// setPart changes a part, and returns what it has then. It reports false if it has answered: with half, that other parts were
// changed before.
func setPart(x *engine.Context, c *engine.Call, entry *catalog.Entry, i int, n uint64, half bool) (now uint64, ok bool) {
	p := contents.PartAt(entry, uint32(i))
	res, failed := x.Contents().ApplyLarge(p, store.Record{ID: entry.ID, Index: uint32(i), Body: &store.FilterSet{News: n}}, contents.SetBytes(p, n))
	if failed.Kind == answer.None && res.Err != nil {
		failed = answer.Fail(filters.Failure(res.Err))
	}
	if failed.Kind == answer.None {
		return uint64(res.N), true
	}
	if half {
		failed.Text += textHalf
	}
	c.Answer(failed)
	return 0, false
}
