// Package shadow keeps track of the filters that will take the place of others: which are open, how they
// hash, and how far their commits are. Their items are in drafts of package contents.
package shadow

import (
	"slices"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// Shadow is a filter that is being made in the place of another, or under a new name.
//
// Safe for concurrent use.
type Shadow struct {
	ID   uint64 // of the shadow
	Main uint64 // the filter whose place it takes, 0 if there is none
	Name string // the name that it will have if Main is 0
	plan *contents.Shared
	same bool // its hash is that of the filter

	entry atomic.Pointer[catalog.Entry]

	broken atomic.Bool   // it lacks items
	sealed atomic.Uint64 // the commit that is under way, 0 for none: no more items are taken
	ended  atomic.Uint64 // in a cluster, the last attempt that is known to have ended
	ready  atomic.Bool   // in a cluster, every add knows of it
}

// New returns a shadow whose parts are those of an entry. It takes the place of the filter of, whose entry is
// main, nil if there is none, or will have a name.
func New(e *catalog.Entry, of uint64, main *catalog.Entry, name string, plan *contents.Shared) *Shadow {
	sh := &Shadow{ID: e.ID, Main: of, Name: name, plan: plan}
	sh.entry.Store(e)
	if main != nil && contents.PartOf(main) != nil {
		h, _ := contents.PartOf(main).Hasher()
		sh.same = h.Kind() == plan.Hasher.Kind() && h.Check() == plan.Hasher.Check()
	}
	return sh
}

// Entry returns the entry of the shadow, which has no name. It is another one when parts of it
// have come from other nodes, or have gone to them.
func (sh *Shadow) Entry() *catalog.Entry { return sh.entry.Load() }

// Hasher returns how the shadow hashes keys. It reports false if its secret key is not
// there.
func (sh *Shadow) Hasher() (hashing.Hasher, bool) {
	return sh.plan.Hasher, !sh.plan.Hasher.IsKeyless()
}

// Same reports whether the shadow hashes keys as its filter does.
func (sh *Shadow) Same() bool { return sh.same }

// Row returns the kind that the shadow will have.
func (sh *Shadow) Row() *codec.Kind { return sh.plan.Kind }

// Plan returns the plan of the shadow, nil if this node does not know it.
func (sh *Shadow) Plan() *contents.Plan {
	if sh.plan == nil {
		return nil
	}
	return &sh.plan.Plan
}

// Broken reports whether the shadow lacks items: it cannot take the place of its
// filter.
func (sh *Shadow) Broken() bool { return sh.broken.Load() }

// Ended returns the last attempt that is known to have ended, for records of the shadow in a
// cluster.
func (sh *Shadow) Ended() uint64 { return sh.ended.Load() }

// Ready reports whether every add to a filter of a cluster goes to its shadow, too: BEGIN is
// answered then.
func (sh *Shadow) Ready() bool { return sh.ready.Load() }

// Closed reports whether a commit is under way.
func (sh *Shadow) Closed() bool { return sh.sealed.Load() != 0 }

// Reopen undoes the seal of a commit that was given up. It does nothing if that is not the commit under way: what another one has
// sealed, nobody else may open. A start opens all shadows, so no record has this.
func (sh *Shadow) Reopen(commit uint64) { sh.sealed.CompareAndSwap(commit, 0) }

// SetEntry sets what Entry returns.
func (sh *Shadow) SetEntry(e *catalog.Entry) { sh.entry.Store(e) }

// SetBroken says whether the shadow lacks items.
func (sh *Shadow) SetBroken(broken bool) { sh.broken.Store(broken) }

// Seal has the shadow take no more items until a commit ends, or, if that is 0, take them again.
func (sh *Shadow) Seal(commit uint64) { sh.sealed.Store(commit) }

// Commit returns the commit that is under way, 0 for none.
func (sh *Shadow) Commit() uint64 { return sh.sealed.Load() }

// Note notes what the catalogue of a cluster says of the shadow.
func (sh *Shadow) Note(v *roster.Rebuild) {
	sh.broken.Store(v.Broken)
	sh.sealed.Store(v.Attempt)
	sh.ended.Store(v.Ended())
	sh.ready.Store(v.Ready)
}

// Progress returns how far the shadow has come. It reports false if it is gone, or not here.
func (sh *Shadow) Progress() (sum contents.Progress, ok bool) {
	for i, p := range contents.Parts(sh.Entry()) {
		v, ok := p.Progress()
		if !ok || !v.Open {
			return sum, false
		}
		if i == 0 {
			sum = v
		} else {
			sum.Add(&v)
		}
	}
	return sum, true
}

// Portion is what one part of a shadow gets of a record.
type Portion struct {
	Index  uint32
	Hashes []uint64
}

// Portions sorts hashes by the part of the shadow that they go to.
func (sh *Shadow) Portions(hashes []uint64) []Portion {
	log := uint(sh.plan.Parts)
	if log == 0 || len(hashes) == 1 {
		return []Portion{{uint32(bloomery.Route(hashes[0], log)), hashes}}
	}
	list := make([]Portion, 0, min(len(hashes), 1<<log))
	sorted := slices.Clone(hashes)
	slices.SortStableFunc(sorted, func(a, b uint64) int { return bloomery.Route(a, log) - bloomery.Route(b, log) })
	for from := 0; from < len(sorted); {
		part := bloomery.Route(sorted[from], log)
		to := from + 1
		for to < len(sorted) && bloomery.Route(sorted[to], log) == part {
			to++
		}
		list = append(list, Portion{uint32(part), sorted[from:to]})
		from = to
	}
	return list
}
