package filter

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// fold is FILTER.FOLD key [FIT].
var fold = engine.Command{
	Name: "filter.fold", Arity: -2, Max: 3, Flags: traits.Write | traits.Outside, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key [FIT]", Complexity: "O(n), n being the number of bytes",
	Summary: "Halves a filter of kind bloom, standard or split that holds few items, and its capacity. No item is lost. It is refused if the predicted false positive rate would exceed the one asked for. With FIT it is halved as often as its size and rate allow, which may be never.",
	Cost:    engine.ByBytes(8),
	Run:     runFold,
}

// runFold halves a filter, with FIT until it can be no more. A call that is cut short leaves
// parts of two sizes, and the next one begins with the larger ones.
func runFold(x *engine.Context, c *engine.Call) {
	fit := len(c.Args) > 2
	if fit && !answer.Is(c.Args[2], "fit") {
		c.Fail(answer.TextSyntax)
		return
	}
	entry := look(x, c)
	if entry == nil || !usable(c, entry) {
		return
	}
	if store.PartOf(entry).Row().Name == "split" && x.Contents().Level() < store.LevelSplitFolds {
		c.Fail("ERR FILTER.FOLD of kind split: nodes of an older release cannot read the result: bloomery cluster upgrade first")
		return
	}
	for folds := 0; folds == 0 || fit; folds++ {
		why, ok := foldOnce(x, c, entry)
		switch {
		case !ok:
			return
		case why.text != "" && !(fit && why.smallest):
			c.Fail(why.text)
			return
		case why.text != "":
			c.Answer(answer.OK())
			return
		}
	}
	c.Answer(answer.OK())
}

// obstacle is why a filter is not folded, or zero.
type obstacle struct {
	text     string
	smallest bool // it is as small as its size and rate allow: with FIT all is done
}

// foldOnce tries all parts first and folds them then. It returns why they cannot be folded,
// and false if it has answered.
func foldOnce(x *engine.Context, c *engine.Call, entry *catalog.Entry) (why obstacle, ok bool) {
	todo, size := unfolded(entry)
	if !x.Hold(int(size)) { // for the part that is tried
		return obstacle{text: answer.TextOOM}, true
	}
	why = tryFold(x, entry, todo)
	x.Unhold(int(size))
	if why.text != "" {
		return why, true
	}
	for i := range todo { // to the end: half of it would stay
		r := store.Record{ID: entry.ID, Index: i, Body: &store.FilterFold{}}
		if !settled(c, x.Contents().ApplyLarge, store.PartAt(entry, i), r, 2*size) {
			return obstacle{}, false
		}
	}
	return obstacle{}, true
}

// unfolded returns the largest parts, and their size: all of them, but for those that
// a call that was cut short has folded.
func unfolded(entry *catalog.Entry) (todo map[uint32]bool, size uint64) {
	todo = map[uint32]bool{} // parts that are gone have no bytes
	for i, p := range store.Parts(entry) {
		p.RLock()
		n := p.Bytes()
		p.RUnlock()
		if n > size {
			todo, size = map[uint32]bool{}, n
		}
		if n == size {
			todo[uint32(i)] = true
		}
	}
	return todo, size
}

// tryFold returns why the parts of a filter cannot be folded, or zero.
func tryFold(x *engine.Context, entry *catalog.Entry, todo map[uint32]bool) obstacle {
	asked, predicted := 1.0, 0.0
	for i, p := range store.Parts(entry) {
		if x.Stopped() {
			return obstacle{text: answer.TextStopped}
		}
		p.RLock()
		gone := p.Gone()
		var now bloomery.Stats
		if !gone {
			now = p.Contents().Stats()
		}
		p.RUnlock()
		if gone {
			return obstacle{text: answer.TextNotFound}
		}
		asked = min(asked, now.Asked)
		if !todo[uint32(i)] {
			predicted += now.Predicted
			continue
		}
		half, err := p.Folded()
		switch {
		case errors.Is(err, store.ErrRetry):
			return obstacle{text: answer.TextNotFound}
		case errors.Is(err, store.ErrType):
			return obstacle{text: "ERR FILTER.FOLD is for kinds bloom, standard and split, not for " + p.Row().Name}
		case errors.Is(err, bloomery.ErrIncompatible):
			return obstacle{"ERR FILTER.FOLD: this filter cannot be halved any further", true}
		case err != nil:
			return obstacle{text: "ERR FILTER.FOLD: " + strings.TrimPrefix(answer.OneLine(err), "bloom: fold: ")}
		}
		predicted += half.Stats().Predicted
	}
	if predicted /= float64(store.PartCount(entry)); predicted > asked {
		return obstacle{"ERR FILTER.FOLD would raise the false positive rate to " + decimal(predicted) + ", the rate asked for is " + decimal(asked), true}
	}
	return obstacle{}
}
