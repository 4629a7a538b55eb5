package filter

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	textCommitting = "ERR a COMMIT is under way"
	textEnded      = "ERR the rebuild was aborted or committed meanwhile"
)

// enough is the share of the items of the old filter that a new one must have.
const enough = 0.9

func runCommit(x *engine.Context, c *engine.Call) {
	force := len(c.Args) == 4 && answer.Is(c.Args[3], "force")
	if len(c.Args) > 3 && !force {
		c.Fail(answer.TextSyntax)
		return
	}
	entry, sh := open(x, c)
	if sh == nil {
		return
	}
	if sh.Broken() {
		c.Fail(textBroken)
		return
	}
	if h, _ := sh.Hasher(); !x.Names().MayHash(c, c.Args[1], h) { // the filter may have another name now
		return
	}
	old := uint64(0) // looked at first: what is added from here on goes to both
	if entry != nil && !force {
		l, ok := x.Contents().Watched(entry).Look()
		if !ok {
			c.Fail(answer.TextNotFound)
			return
		}
		if old = l.Items; old != math.MaxUint64 {
			old -= l.Gone // which nobody feeds
		}
	}
	v, ok := sh.Progress()
	if !ok {
		c.Fail(textEnded)
		return
	}
	if text := tooFew(old, v.Items); text != "" {
		c.Fail(text)
		return
	}
	r := &store.ShadowSwap{ID: sh.Entry.ID, Of: sh.Main}
	if sh.Main == 0 {
		r.Name = c.Args[1]
	}
	if !sh.Row().Features.Static {
		swap(x, c, r)
		return
	}
	commitStatic(x, c, sh, r, old, v.Items)
}

// tooFew returns why n items do not suffice in the place of old ones, or "".
func tooFew(old, n uint64) string {
	switch {
	case old == math.MaxUint64:
		return "ERR the number of items in the old filter is not known: COMMIT FORCE if all were fed"
	case float64(n) < enough*float64(old):
		return "ERR the new filter holds " + percentOf(n, old) + " of the items of the old one: FEED the others, or COMMIT FORCE"
	}
	return ""
}

// buildBytes is what building a static filter takes for each hash: a copy of it, and
// the work of package fuse, which takes most.
const buildBytes = 8 + 31 + 8

// commitStatic seals a shadow, builds the filters outside all locks and swaps them in.
// They must have 90% of old items.
func commitStatic(x *engine.Context, c *engine.Call, sh *store.Shadow, r *store.ShadowSwap, old, items uint64) {
	if sh.Closed() {
		c.Fail(textCommitting)
		return
	}
	if items == 0 {
		c.Fail("ERR there are no items: FEED some first")
		return
	}
	release, ok := x.Contents().Reserve(items * buildBytes)
	if !ok {
		c.Fail(answer.TextOOM)
		return
	}
	defer release()
	res, failed := x.Contents().ApplyNames(&store.ShadowSeal{ID: sh.Entry.ID}, 0)
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
		return
	case errors.Is(res.Err, store.ErrSealed):
		c.Fail(textCommitting)
		return
	case res.Err != nil:
		c.Fail(textEnded)
		return
	}
	commit := uint64(res.N)
	defer sh.Reopen(commit) // a shadow that is swapped in stays known to nobody
	built, err := x.Contents().Build(sh, commit)
	if err != nil {
		c.Fail("ERR " + sh.Row().Name + ": " + cause(err))
		return
	}
	if text := tooFew(old, built.Items); text != "" {
		built.Release()
		c.Fail(text)
		return
	}
	r.Built, r.Sums = built, built.Sums()
	if !swap(x, c, r) {
		built.Release()
	}
}

// swap puts a shadow in the place of its filter and answers. It reports whether that
// is done, or may be.
func swap(x *engine.Context, c *engine.Call, r *store.ShadowSwap) bool {
	res, failed := x.Contents().ApplyNames(r, 0)
	switch {
	case failed.Kind != answer.None: // it may be done all the same: what was built is not touched
		c.Answer(failed)
		return true
	case errors.Is(res.Err, store.ErrBroken):
		c.Fail(textBroken)
	case errors.Is(res.Err, store.ErrRetry):
		c.Fail(textEnded)
	case errors.Is(res.Err, store.ErrExists):
		c.Fail("ERR the key was created meanwhile: ABORT, or remove it")
	case res.Err != nil:
		c.Fail(failure(res.Err))
	default:
		c.Answer(answer.OK())
		return true
	}
	return false
}
