package rebuild

import (
	"errors"
	"math"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	textCommitting = "ERR a COMMIT is under way"
	textEnded      = "ERR the rebuild was aborted or committed meanwhile"
)

const textSourced = "ERR the filter is the union of its sources, which a rebuild drops: COMMIT FORCE drops them; " +
	"to keep them load sources of another size under a new key and RENAME it"

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
	if x.Can().Cluster { // others may have fed it
		if failed := x.Contents().CatchUp(sh.Entry()); failed.Kind != answer.None {
			c.Answer(failed)
			return
		}
	}
	old := uint64(0) // looked at first: what is added from here on goes to both
	if entry != nil && !force {
		l, ok, failed := progressOf(x, entry)
		switch {
		case failed.Kind != answer.None:
			c.Answer(failed)
			return
		case !ok:
			c.Fail(answer.TextNotFound)
			return
		case l.Sources > 0:
			c.Fail(textSourced)
			return
		}
		if old = l.Items; old != math.MaxUint64 {
			old -= min(old, l.Gone) // which nobody feeds
		}
	}
	v, ok, failed := x.Contents().Progress(sh.ID)
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
		return
	case !ok || x.Contents().ShadowBy(sh.ID) == nil:
		c.Fail(textEnded)
		return
	}
	if text := tooFew(old, v.Items); text != "" {
		c.Fail(text)
		return
	}
	if x.Can().Cluster {
		commitShared(x, c, sh, old, v.Items)
		return
	}
	r := &store.ShadowSwap{ID: sh.ID, Of: sh.Main}
	if sh.Main == 0 {
		r.Name = c.Args[1]
	}
	if !sh.Row().Features.Static {
		swap(x, c, r)
		return
	}
	commitStatic(x, c, sh, r, old, v.Items)
}

// commitShared is a commit in a cluster.
func commitShared(x *engine.Context, c *engine.Call, sh *shadow.Shadow, old, items uint64) {
	if !sh.Row().Features.Static {
		swap(x, c, &store.RebuildSwap{ID: sh.ID})
		return
	}
	if items == 0 {
		c.Fail(textNoItems)
		return
	}
	defer x.Contents().Committing(sh)()
	res, failed := x.Contents().ApplyNames(&store.RebuildStep{ID: sh.ID, What: store.StepAttempt}, 0)
	switch {
	case failed.Kind != answer.None: // if it was kept, Sweep ends the attempt
		c.Answer(failed)
		return
	case res.Err != nil:
		c.Fail(unswapped(res.Err))
		return
	}
	attempt := uint64(res.N)
	if buildShared(x, c, sh, attempt, old) && swap(x, c, &store.RebuildSwap{ID: sh.ID, Attempt: attempt}) {
		return
	}
	x.Contents().ApplyNames(&store.RebuildStep{ID: sh.ID, What: store.StepEnd, Attempt: attempt}, 0)
}

// buildShared seals the parts of a shadow, which the nodes that hold them build then, and waits for
// that. It answers and reports false if that is not to be swapped in.
func buildShared(x *engine.Context, c *engine.Call, sh *shadow.Shadow, attempt, old uint64) bool {
	if failed, err := x.Contents().ApplyParts(sh.Entry(), &store.RebuildSeal{Attempt: attempt}); failed.Kind != answer.None {
		c.Answer(failed)
		return false
	} else if err != nil {
		c.Fail(textEnded)
		return false
	}
	built, err := x.Contents().AwaitBuilt(sh, attempt)
	switch {
	case errors.Is(err, contents.ErrStopped):
		c.Fail(answer.TextStopped)
		return false
	case errors.Is(err, contents.ErrRetry):
		c.Fail(textEnded)
		return false
	case errors.Is(err, contents.ErrNoRoom):
		c.Fail("OOM a node that holds parts of the new filter has no memory to build them: " + filters.Cause(err))
		return false
	case err != nil:
		c.Fail("ERR " + sh.Row().Name + ": " + filters.Cause(err))
		return false
	}
	if text := tooFew(old, built); text != "" {
		c.Fail(text)
		return false
	}
	return true
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

const textNoItems = "ERR there are no items: FEED some first"

// beforeBuild sets the memory aside that it takes to build a static filter. It answers and
// reports false if there is not enough, or nothing to build.
func beforeBuild(x *engine.Context, c *engine.Call, items uint64) (release func(), ok bool) {
	if items == 0 {
		c.Fail(textNoItems)
		return nil, false
	}
	if release, ok = x.Contents().Reserve(contents.BuildBytes(items)); !ok {
		c.Fail(answer.TextOOM)
	}
	return release, ok
}

// commitStatic seals a shadow, builds the filters outside all locks and swaps them in.
// They must have 90% of old items.
func commitStatic(x *engine.Context, c *engine.Call, sh *shadow.Shadow, r *store.ShadowSwap, old, items uint64) {
	if sh.Closed() {
		c.Fail(textCommitting)
		return
	}
	release, ok := beforeBuild(x, c, items)
	if !ok {
		return
	}
	defer release()
	res, failed := x.Contents().ApplyNames(&store.ShadowSeal{ID: sh.ID}, 0)
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
	if errors.Is(err, contents.ErrStopped) {
		c.Fail(answer.TextStopped)
		return
	}
	if err != nil {
		c.Fail("ERR " + sh.Row().Name + ": " + filters.Cause(err))
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
func swap(x *engine.Context, c *engine.Call, r store.Body) bool {
	res, failed := x.Contents().ApplyNames(r, 0)
	switch {
	case failed.Kind != answer.None: // it may be done all the same: what was built is not touched
		c.Answer(failed)
		return true
	case res.Err != nil:
		c.Fail(unswapped(res.Err))
		return false
	}
	c.Answer(answer.OK())
	return true
}

// unswapped is why a shadow was not swapped in.
func unswapped(err error) string {
	switch {
	case errors.Is(err, store.ErrBroken):
		return textBroken
	case errors.Is(err, store.ErrNotReady):
		return textNotReady
	case errors.Is(err, store.ErrSealed):
		return textCommitting
	case errors.Is(err, contents.ErrRetry), errors.Is(err, store.ErrMissing):
		return textEnded
	case errors.Is(err, store.ErrExists):
		return "ERR the key was created meanwhile: ABORT, or remove it"
	}
	return filters.Failure(err)
}
