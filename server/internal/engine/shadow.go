package engine

// Contents: shadows, secret keys and families, as commands see them.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/keyring"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// Shadow returns the shadow of a filter, nil if it has none.
func (x Contents) Shadow(entry *catalog.Entry) *shadow.Shadow { return x.e.state.ShadowOf(entry.ID) }

// Forgets returns the kind of a filter, or of the one that will take its place, if that
// forgets items, "" if not.
func (x Contents) Forgets(entry *catalog.Entry) string { return x.e.state.Forgets(entry) }

// ShadowNamed returns the shadow that will make a name, nil if there is none.
func (x Contents) ShadowNamed(name []byte) *shadow.Shadow { return x.e.state.ShadowNamed(name) }

// LastRebuild returns the number of the last rebuild of a filter that a record of p may say it
// knew: see [store.State.Known]. Without a cluster it is 0.
func (x Contents) LastRebuild(id uint64, p *contents.Part, sh *shadow.Shadow) uint64 {
	if x.e.shared == nil {
		return 0
	}
	return x.e.state.Known(id, p, sh)
}

// ShadowBy returns a shadow by its own id, nil if it is over.
func (x Contents) ShadowBy(id uint64) *shadow.Shadow { return x.e.state.ShadowByID(id) }

// ByID returns the filter of an id, nil if it is gone.
func (x Contents) ByID(id uint64) *catalog.Entry { return x.e.state.Names.ByID(id) }

// Committing notes that a commit of a static kind is run here.
func (x Contents) Committing(sh *shadow.Shadow) (done func()) {
	return x.e.state.Committing(sh.ID)
}

// CatchUp returns when this machine has what any other has acknowledged of a filter, or with
// nil of names and of what is known of rebuilds. The reply is None if it has.
func (x Contents) CatchUp(entry *catalog.Entry) answer.Reply {
	x.e.leave(x.s)
	defer x.e.back(x.s, x.e.awaits(x.s, "wait for others"))
	if entry == nil {
		if err := x.e.shared.FreshNames(); err != nil {
			return refusal.Read(x.e.shared, err)
		}
		return answer.Reply{}
	}
	seen := map[int]bool{}
	for i := range contents.Parts(entry) {
		lane := x.e.shared.LaneOf(entry.ID, uint32(i))
		if seen[lane] {
			continue
		}
		seen[lane] = true
		if err := x.e.shared.Fresh(entry.ID, uint32(i)); err != nil {
			return refusal.Read(x.e.shared, err)
		}
	}
	return answer.Reply{}
}

// Build builds the filters of a shadow of a static kind that a commit has sealed. It
// takes long.
func (x Contents) Build(sh *shadow.Shadow, commit uint64) (*contents.Built, error) {
	x.e.leave(x.s)
	x.e.waits(x.s, "build a filter")
	return x.e.state.Build(sh.Entry(), commit, x.Stopped)
}

// Keys returns the secret keys of hashes.
func (x Contents) Keys() keyring.Ring { return x.e.state.Keys() }

// Family returns what the commands on filters of a kind share, nil for strings.
func (x Contents) Family(k catalog.Kind) *Family { return x.e.table.Family(k) }
