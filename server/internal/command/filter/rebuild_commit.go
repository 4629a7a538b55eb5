package filter

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// enough is the share of the items of the old filter that a new one must have.
const enough = 0.9

func runCommit(x *engine.Context, c *engine.Call) {
	force := len(c.Args) == 4 && engine.Is(c.Args[3], "force")
	if len(c.Args) > 3 && !force {
		c.Fail(engine.TextSyntax)
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
	v, ok := sh.Progress()
	if !ok {
		c.Fail("ERR the rebuild was aborted meanwhile")
		return
	}
	if text := tooFew(entry, v.Items); text != "" && !force {
		c.Fail(text)
		return
	}
	r := store.Record{Op: store.OpShadowSwap, ID: sh.Entry.ID, IDs: []uint64{sh.Main}}
	if sh.Main == 0 {
		r.Name = c.Args[1]
	}
	if !sh.Row().Features.Static {
		swap(x, c, sh, r)
		return
	}
	commitStatic(x, c, entry, sh, r, v, force)
}

// tooFew returns why n items do not suffice, or "".
func tooFew(entry *catalog.Entry, n uint64) string {
	if entry == nil {
		return ""
	}
	s, ok := statsOf(entry)
	switch {
	case !ok:
		return engine.TextNotFound
	case s.Items == math.MaxUint64:
		return "ERR the number of items in the old filter is not known: COMMIT FORCE if all were fed"
	case float64(n) < enough*float64(s.Items):
		return "ERR the new filter holds " + percentOf(n, s.Items) + " of the items of the old one: FEED the others, or COMMIT FORCE"
	}
	return ""
}

// buildBytes is what building a static filter takes for each hash: a copy of it, and
// the work of package fuse, which takes most.
const buildBytes = 8 + 31 + 8

// commitStatic seals a shadow, builds the filters outside all locks and swaps them in.
func commitStatic(x *engine.Context, c *engine.Call, entry *catalog.Entry, sh *store.Shadow, r store.Record, v store.Progress, force bool) {
	if sh.Closed() {
		c.Fail("ERR a COMMIT is under way")
		return
	}
	if v.Items == 0 {
		c.Fail("ERR there are no items: FEED some first")
		return
	}
	release, ok := x.Reserve(v.Items * buildBytes)
	if !ok {
		c.Fail(engine.TextOOM)
		return
	}
	defer release()
	res, failed := x.ApplyNames(store.Record{Op: store.OpShadowSeal, ID: sh.Entry.ID}, 0)
	switch {
	case failed.Kind != engine.None:
		c.Answer(failed)
		return
	case res.Err != nil:
		c.Fail("ERR the rebuild was aborted meanwhile")
		return
	}
	built, err := x.Build(sh)
	if err != nil {
		sh.Reopen()
		c.Fail("ERR " + sh.Row().Name + ": " + cause(err))
		return
	}
	if text := tooFew(entry, built.Items); text != "" && !force {
		built.Release()
		sh.Reopen()
		c.Fail(text)
		return
	}
	r.Built, r.IDs = built, append(r.IDs, built.Sums()...)
	if !swap(x, c, sh, r) {
		built.Release()
		sh.Reopen()
	}
}

// swap puts a shadow in the place of its filter and answers. It reports whether that
// is done.
func swap(x *engine.Context, c *engine.Call, sh *store.Shadow, r store.Record) bool {
	res, failed := x.ApplyNames(r, 0)
	switch {
	case failed.Kind != engine.None:
		c.Answer(failed)
	case errors.Is(res.Err, store.ErrBroken):
		c.Fail(textBroken)
	case errors.Is(res.Err, store.ErrRetry):
		c.Fail("ERR the rebuild was aborted meanwhile")
	case errors.Is(res.Err, store.ErrExists):
		c.Fail("ERR the key was created meanwhile: ABORT, or remove it")
	case res.Err != nil:
		c.Fail(failure(res.Err))
	default:
		c.Answer(engine.OK())
		return true
	}
	if !sh.Row().Features.Static {
		sh.Reopen()
	}
	return false
}
