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

// fold is FILTER.FOLD key.
var fold = engine.Command{
	Name: "filter.fold", Arity: 2, Flags: traits.Write | traits.Outside, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.2.0",
	Syntax: "key", Complexity: "O(n), n being the number of bytes",
	Summary: "Halves a filter of kind bloom or standard that holds few items, and its capacity. No item is lost. It is refused if the predicted false positive rate would exceed the one asked for.",
	Cost:    engine.ByBytes(8),
	Run:     runFold,
}

// runFold tries all parts first and folds them then.
func runFold(x *engine.Context, c *engine.Call) {
	entry := look(x, c)
	if entry == nil || !usable(c, entry) {
		return
	}
	todo, size := unfolded(entry)
	if !x.Hold(int(size)) { // for the part that is tried
		c.Fail(answer.TextOOM)
		return
	}
	text := tryFold(x, entry, todo)
	x.Unhold(int(size))
	if text != "" {
		c.Fail(text)
		return
	}
	for i := range todo { // to the end: half of it would stay
		r := store.Record{ID: entry.ID, Index: i, Body: &store.FilterFold{}}
		if !settled(c, x.Contents().ApplyLarge, store.PartAt(entry, i), r, 2*size) {
			return
		}
	}
	c.Answer(answer.OK())
}

// unfolded returns the largest parts, and their size: all of them, but for those that
// a call that was cut short has folded.
func unfolded(entry *catalog.Entry) (todo map[uint32]bool, size uint64) {
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

// tryFold returns why the parts of a filter cannot be folded, or "".
func tryFold(x *engine.Context, entry *catalog.Entry, todo map[uint32]bool) string {
	asked, predicted := 1.0, 0.0
	for i, p := range store.Parts(entry) {
		if x.Stopped() {
			return answer.TextStopped
		}
		p.RLock()
		gone := p.Gone()
		var now bloomery.Stats
		if !gone {
			now = p.Contents().Stats()
		}
		p.RUnlock()
		if gone {
			return answer.TextNotFound
		}
		asked = min(asked, now.Asked)
		if !todo[uint32(i)] {
			predicted += now.Predicted
			continue
		}
		half, err := p.Folded()
		switch {
		case errors.Is(err, store.ErrRetry):
			return answer.TextNotFound
		case errors.Is(err, store.ErrType):
			return "ERR FILTER.FOLD is for kinds bloom and standard, not for " + p.Row().Name
		case errors.Is(err, bloomery.ErrIncompatible):
			return "ERR FILTER.FOLD: this filter cannot be halved: those that FILTER.CREATE makes from 16 KiB on can be, at least three times"
		case err != nil:
			return "ERR FILTER.FOLD: " + strings.TrimPrefix(answer.OneLine(err), "bloom: fold: ")
		}
		predicted += half.Stats().Predicted
	}
	if predicted /= float64(store.PartCount(entry)); predicted > asked {
		return "ERR FILTER.FOLD would raise the false positive rate to " + decimal(predicted) + ", the rate asked for is " + decimal(asked)
	}
	return ""
}
