package filter

// What ACL DRYRUN asks besides the rights to commands and keys.

import (
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
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
	if h, err := contents.HashOf(c.Args[3]); err == nil {
		x.Names().MayHash(c, c.Args[1], h)
	}
}
