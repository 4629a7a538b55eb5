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

// run returns how many items may be read or written under one lock. Of a filter that has arrays whose pages are still not
// there, since others have given it new ones again and again, these are few.
func (f *OnFilter) run(t engine.Turn, entry *catalog.Entry) int {
	p, x := contents.PartOf(entry), t.Context()
	most := p.Run()
	if p.Untouched() && f.adds() && !x.Alone() && !x.Can().Cluster {
		most = min(most, max(1, p.FewItems()))
		t.Weigh(maxRun) // they have their turn after each
	}
	return most
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
