// Package resize is FILTER.FOLD and FILTER.GROW: a filter becomes smaller or larger, and loses
// no item.
package resize

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Fold is FILTER.FOLD key [FIT].
var Fold = engine.Command{
	Name: "filter.fold", Arity: -2, Max: 3, Flags: traits.Write | traits.Outside | traits.Apart, Keys: traits.OneKey(traits.KeyRW),
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
	entry := filters.Look(x, c)
	if entry == nil || !filters.Usable(c, entry) {
		return
	}
	if contents.PartOf(entry).Row().Name == "split" && x.Contents().Level() < store.LevelSplitFolds {
		c.Fail("ERR FILTER.FOLD of kind split: nodes of an older release cannot read the result: bloomery cluster upgrade first")
		return
	}
	for folds, tries := 0, 0; folds == 0 || fit; folds++ {
		why, again, ok := foldOnce(x, c, entry)
		switch {
		case !ok:
			return
		case again && tries == maxTries*contents.PartCount(entry):
			c.Fail("TRYAGAIN Other clients change the size of the filter at the same time")
			return
		case again:
			tries++
			folds--
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

// maxTries is how often a fold looks again, for each part of a filter that others have folded meanwhile, or made grow.
const maxTries = 16

// obstacle is why a filter is not folded, or zero.
type obstacle struct {
	text     string
	smallest bool // it is as small as its size and rate allow: with FIT all is done
}

// foldOnce tries all parts first and folds them then. It returns why they cannot be folded, whether
// another call was faster with one of them, so that it has to be tried again, and false if it has answered.
func foldOnce(x *engine.Context, c *engine.Call, entry *catalog.Entry) (why obstacle, again, ok bool) {
	parts, failed := tryFolds(x, entry)
	if failed.Kind != answer.None {
		c.Answer(failed)
		return obstacle{}, false, false
	}
	size := uint64(0)
	for i := range parts {
		size = max(size, parts[i].bytes)
	}
	if why := folds(parts, size); why.text != "" {
		return why, false, true
	}
	for i := range parts { // to the end: half of it would stay
		if parts[i].bytes < size {
			continue // a call that was cut short has folded it
		}
		fold := &store.FilterFold{}
		if x.Contents().Level() >= store.LevelFoldOf {
			fold.Bits = parts[i].bits
		}
		res, failed := x.Contents().ApplyLarge(contents.PartAt(entry, uint32(i)), store.Record{ID: entry.ID, Index: uint32(i), Body: fold}, 2*size)
		if failed.Kind == answer.None && errors.Is(res.Err, store.ErrCondition) {
			return obstacle{}, true, true
		}
		if !filters.Settled(c, &res, failed) {
			return obstacle{}, false, false
		}
	}
	return obstacle{}, false, true
}

// tried is a part and what it would be when it is folded.
type tried struct {
	kind      string
	bytes     uint64
	bits      uint64 // of its array, 0 if it has no single one
	now, half bloomery.Stats
	err       error // of the fold
}

// tryFolds folds copies of the parts of a filter, one by one, wherever they lie.
func tryFolds(x *engine.Context, entry *catalog.Entry) (parts []tried, failed answer.Reply) {
	for i := range contents.Parts(entry) {
		if x.Stopped() {
			return nil, answer.Fail(answer.TextStopped)
		}
		p, giveBack, failed := x.Contents().Borrow(entry, uint32(i))
		if failed.Kind != answer.None {
			return nil, failed
		}
		v, failed := tryFold(x, p)
		if giveBack(); failed.Kind != answer.None {
			return nil, failed
		}
		parts = append(parts, v)
	}
	return parts, failed
}

func tryFold(x *engine.Context, p *contents.Part) (v tried, failed answer.Reply) {
	p.RLock()
	gone := p.Gone()
	if !gone {
		v.kind, v.bytes, v.now = p.Row().Name, p.Bytes(), p.Contents().Stats()
		v.bits = p.ArrayBits()
	}
	p.RUnlock()
	if gone {
		return v, answer.Fail(answer.TextNotFound)
	}
	copies := int(3 * v.bytes) // bytes, the filter, and half of it
	if !x.Hold(copies) {
		return v, answer.Fail(answer.TextOOM)
	}
	defer x.Unhold(copies)
	half, err := p.Folded()
	if v.err = err; err == nil {
		v.half = half.Stats()
	}
	return v, failed
}

// folds returns why parts cannot be folded of which the largest have so many bytes, or zero. The others are folded already.
func folds(parts []tried, size uint64) obstacle {
	asked, predicted := 1.0, 0.0
	for i := range parts {
		v := &parts[i]
		asked = min(asked, v.now.Asked)
		if v.bytes < size {
			predicted += v.now.Predicted
			continue
		}
		switch err := v.err; {
		case errors.Is(err, contents.ErrRetry):
			return obstacle{text: answer.TextNotFound}
		case errors.Is(err, contents.ErrType):
			return obstacle{text: "ERR FILTER.FOLD is for kinds bloom, standard and split, not for " + v.kind}
		case errors.Is(err, bloomery.ErrIncompatible):
			return obstacle{"ERR FILTER.FOLD: this filter cannot be halved any further", true}
		case err != nil:
			return obstacle{text: "ERR FILTER.FOLD: " + strings.TrimPrefix(answer.OneLine(err), "bloom: fold: ")}
		}
		predicted += v.half.Predicted
	}
	if predicted /= float64(len(parts)); predicted > asked {
		return obstacle{"ERR FILTER.FOLD would raise the false positive rate to " + decimal(predicted) + ", the rate asked for is " + decimal(asked), true}
	}
	return obstacle{}
}
