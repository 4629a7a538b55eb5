package filter

// What the FILTER commands on items share.

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/command/filter/rebuild"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the FILTER commands on items share.
var family = &engine.Family{
	Kind:  catalog.Filter,
	Hash:  hashItems,
	Check: check,
	Contains: func(w *scratch.Memory, p *contents.Part, found []bool, first int) {
		p.Filter().ContainsHashes(found, w.Hashes[first:first+len(found)])
	},
	Fill: func(w *scratch.Memory, items store.Items, first, n int) {
		items.Hold(nil, w.Hashes[first:first+n])
	},
	Pack: pack, PackPart: packed, ReadValue: unpack, Version: 1,
}

// hashItems hashes items as the filter does.
func hashItems(w *scratch.Memory, p *contents.Part, items [][]byte) (first int) {
	h, _ := p.Hasher() // check has asked for the key
	first = len(w.Hashes)
	w.Hashes = slices.Grow(w.Hashes, len(items))[:first+len(items)]
	h.HashKeys(w.Hashes[first:], items)
	return first
}

// check answers calls that a filter of this kind cannot serve, or not without its
// key, and lets time pass for a window.
func check(x *engine.Context, entry *catalog.Entry, calls []engine.Call) (again bool) {
	plan := contents.PartOf(entry).Shared()
	row, usable := plan.Kind, !plan.Hasher.IsKeyless()
	sh := x.Contents().Shadow(entry)
	for i := range calls {
		c := &calls[i]
		switch f := bundle.Of(c); {
		case !usable:
			c.Fail(filters.MissingKey(&plan.Plan))
		case f.Hash != nil && plan.Hasher.Kind() != hashing.XXH3:
			c.Fail("ERR " + strings.ToUpper(c.Command().Name) + " is refused on a filter with a secret key")
		case f.Write == adding:
			checkAdd(x, c, entry, row, sh != nil)
		case f.Write == deleting && !row.Features.Delete:
			c.Fail(unable(c, row, func(f codec.Features) bool { return f.Delete }))
		case f.Write == reporting && !keepsAll(row.Features):
			c.Fail(unable(c, row, keepsAll))
		case f.Write == reporting && x.Contents().Level() < store.LevelGone:
			c.Fail(answer.NeedsUpgrade("FILTER.GONE"))
		}
	}
	if sh != nil && rebuild.Check(x, sh, calls, adding) {
		return true
	}
	if plan.Generation == 0 {
		return false
	}
	return filters.Advance(x, entry)
}

// checkAdd answers a call that adds to a filter, which may be rebuilt, if it cannot or must not.
func checkAdd(x *engine.Context, c *engine.Call, entry *catalog.Entry, row *codec.Kind, rebuilt bool) {
	switch {
	case !row.Features.Add && !row.Features.Insert:
		c.Fail(unable(c, row, func(f codec.Features) bool { return f.Add || f.Insert }))
	case rebuilt || row.Features.Forget:
		refuseForgetting(x, c, entry)
	}
}

// keepsAll reports whether a kind can neither delete items nor forgets them by itself.
func keepsAll(f codec.Features) bool { return !f.Delete && !f.Forget && !f.Expire }

// refuseForgetting refuses a call of who may not delete, if the filter, or the one that will take its
// place, forgets items when others are added.
func refuseForgetting(x *engine.Context, c *engine.Call, entry *catalog.Entry) {
	if kind := x.Contents().Forgets(entry); kind != "" && !x.Names().MayAlso("filter.del", c.Args[1]) {
		c.Fail(textForgets(kind))
	}
}

func textForgets(kind string) string {
	return "NOPERM a filter of kind " + kind + " forgets items when others are added: that needs the right to 'filter.del' on this key, too"
}

// unable is the error of a command that a kind cannot do.
func unable(c *engine.Call, row *codec.Kind, can func(codec.Features) bool) string {
	var names []string
	for _, k := range codec.Kinds() {
		if can(k.Features) {
			names = append(names, k.Name)
		}
	}
	return "ERR " + strings.ToUpper(c.Command().Name) + " is not for kind " + row.Name + "; it is for " + strings.Join(names, ", ")
}
