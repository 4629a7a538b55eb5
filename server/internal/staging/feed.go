package staging

// Items that are fed to a shadow.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/store"
)

// feedPiece is how many items are fed at a time.
const feedPiece = 256

// Feed adds items to a shadow. It returns how many it took, and why not more. The reply
// reports that a record was not kept, and is None if all were.
func (a Area) Feed(sh *store.Shadow, items [][]byte) (done int, failed answer.Reply, err error) {
	var sorted routes.Table
	hashes := make([]uint64, min(len(items), feedPiece))
	h, _ := sh.Hasher()
	for len(items) > 0 {
		n := min(len(items), feedPiece)
		h.HashKeys(hashes[:n], items[:n])
		sorted.Sort(hashes[:n], uint(sh.Plan().Parts))
		if failed, err := a.run.ApplyAll(a.feedOps(sh, &sorted)); failed.Kind != answer.None || err != nil {
			return done, failed, err
		}
		items, done = items[n:], done+n
	}
	return done, answer.Reply{}, nil
}

// feedOps returns an op for every part of a shadow that has items.
func (a Area) feedOps(sh *store.Shadow, sorted *routes.Table) []*door.Op {
	ops := make([]*door.Op, len(sorted.Used))
	for i, part := range sorted.Used {
		from, to := sorted.Of(int(part))
		ops[i] = &door.Op{
			Part: store.PartAt(sh.Entry, uint32(part)), Admit: a.admit,
			Record: store.Record{ID: sh.Entry.ID, Index: uint32(part), Body: &store.ShadowFeed{Hashes: sorted.Hashes[from:to]}},
		}
		ops[i].Result.Bools = sorted.Bools[from:to]
	}
	return ops
}
