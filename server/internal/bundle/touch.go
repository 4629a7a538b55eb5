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

// run returns how many of n items may be read or written under one lock: of one, as many as of any. Of a filter that grows by large arrays,
// or has some whose pages are still not there, these are few.
func (f *OnFilter) run(t engine.Turn, entry *catalog.Entry, n int) int {
	if n == 1 {
		return maxRun
	}
	p, x := contents.PartOf(entry), t.Context()
	most := p.Run()
	if !f.adds() || x.Alone() {
		return most
	}
	if p.Untouched() && !x.Can().Cluster { // others have given it new ones again and again
		most = min(most, p.FewItems())
		t.Weigh(maxRun) // they have their turn after each
	}
	const some = 64 // of more parts, each gets few of the items
	if parts := contents.PartCount(entry); parts == 1 || parts <= some && p.Row().Name == "scalable" {
		for _, p := range contents.Parts(entry) {
			most = min(most, p.RunOf(n))
		}
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
