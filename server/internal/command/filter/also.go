package filter

// What ACL DRYRUN asks besides the rights to commands and keys.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// alsoAdd is for adds to a filter that forgets.
func alsoAdd(x *engine.Context, c *engine.Call) {
	entry := x.Names().Lookup(c.Args[1])
	if entry != nil && entry.Kind == catalog.Filter {
		refuseForgetting(x, c, entry)
	}
}

// alsoCreate is for the secret key of a new filter.
func alsoCreate(x *engine.Context, c *engine.Call) {
	kind, text := blueprint.KindNamed(string(c.Args[2]), false)
	if text != "" {
		return
	}
	o, text := blueprint.Parse(kind.Name, c.Args[3:])
	if text != "" {
		return
	}
	if o.Given["like"] {
		x.Names().MayCopy(c, c.Args[1], x.Names().Lookup(o.Like))
		return
	}
	resolve(x, c, o)
}

// alsoLoad is for the secret key of the data.
func alsoLoad(x *engine.Context, c *engine.Call) {
	if h, err := store.HashOf(c.Args[3]); err == nil {
		x.Names().MayHash(c, c.Args[1], h)
	}
}

// alsoRebuild is for the secret key of the filter that is built.
func alsoRebuild(x *engine.Context, c *engine.Call) {
	entry, sh := target(x, c)
	switch {
	case c.Answered():
	case answer.Is(c.Args[2], "begin"):
		if o, _, text := beginOptions(x, c, entry); text == "" && !c.Answered() {
			x.Names().MayHash(c, c.Args[1], o.Hasher)
		}
	case answer.Is(c.Args[2], "commit") && sh != nil:
		h, _ := sh.Hasher()
		x.Names().MayHash(c, c.Args[1], h)
	}
}
