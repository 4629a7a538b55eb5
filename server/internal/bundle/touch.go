package bundle

// Pages of arrays that are made before items are added.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/routes"
)

// touched makes the pages of a filter to which items are about to be added. It reports whether it has
// left the gate to do so; then what was looked up may have changed.
func touched(t engine.Turn, entry *catalog.Entry, items int) (left bool) {
	for _, p := range contents.Parts(entry) {
		left = t.Touched(p, items) || left
	}
	return left
}

// run returns how many of n items may be read or written under one lock.
func (f *OnFilter) run(t engine.Turn, p *contents.Part, n int) int {
	if f.adds() && !t.Context().Alone() {
		return p.RunOf(n)
	}
	return p.Run()
}

// untouched reports whether pages may have to be made for one of the parts that items are in.
func untouched(entry *catalog.Entry, r *routes.Table) bool {
	for _, i := range r.Used {
		if contents.PartAt(entry, uint32(i)).Untouched() {
			return true
		}
	}
	return false
}

// countItems returns how many items calls have.
func countItems(calls []engine.Call) (n int) {
	for i := range calls {
		n += len(calls[i].Items)
	}
	return n
}
