package staging

// Items that are fed to a shadow.

import (
	"sync"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/store"
)

// feedPiece is how many items are fed at a time.
const feedPiece = 256

// feed is what a piece needs: items by part, and an op for every part that has some.
type feed struct {
	hashes [feedPiece]uint64
	sorted routes.Table
	ops    []*door.Op
	made   []fedPart // what ops points into
}

type fedPart struct {
	op   door.Op
	body store.ShadowFeed
}

// feeds are used again: a rebuild is fed by many calls of few items.
var feeds = sync.Pool{New: func() any { return new(feed) }}

// Feed adds items to a shadow. It returns how many it took, and why not more. The reply
// reports that a record was not kept, and is None if all were.
func (a Area) Feed(sh *store.Shadow, items [][]byte) (done int, failed answer.Reply, err error) {
	f := feeds.Get().(*feed)
	defer func() {
		clear(f.made[:cap(f.made)]) // which would keep the shadow
		feeds.Put(f)
	}()
	h, _ := sh.Hasher()
	for len(items) > 0 {
		n := min(len(items), feedPiece)
		h.HashKeys(f.hashes[:n], items[:n])
		f.sorted.Sort(f.hashes[:n], uint(sh.Plan().Parts))
		f.fill(sh, a.admit)
		if failed, err := a.run.ApplyAll(f.ops); failed.Kind != answer.None || err != nil {
			return done, failed, err
		}
		items, done = items[n:], done+n
	}
	return done, answer.Reply{}, nil
}

// fill makes an op for every part of a shadow that has items.
func (f *feed) fill(sh *store.Shadow, admit door.Admitter) {
	used := f.sorted.Used
	f.ops, f.made = routes.Resize(f.ops, len(used)), routes.Resize(f.made, len(used))
	for i, part := range used {
		from, to := f.sorted.Of(int(part))
		m := &f.made[i]
		m.body = store.ShadowFeed{Hashes: f.sorted.Hashes[from:to]}
		m.op = door.Op{
			Part: store.PartAt(sh.Entry, uint32(part)), Admit: admit,
			Record: store.Record{ID: sh.Entry.ID, Index: uint32(part), Body: &m.body},
		}
		m.op.Result.Bools = f.sorted.Bools[from:to]
		f.ops[i] = &m.op
	}
}
