package staging

// Items that are fed to a shadow.

import (
	"errors"
	"sync"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/shadow"
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
	body store.ShadowAdd
}

// feeds are used again: a rebuild is fed by many calls of few items.
var feeds = sync.Pool{New: func() any { return new(feed) }}

// Feed adds items to a shadow. It returns how many it took, and why not more. The reply
// reports that a record was not kept, and is None if all were.
func (a Area) Feed(sh *shadow.Shadow, items [][]byte) (done int, failed answer.Reply, err error) {
	f := feeds.Get().(*feed)
	defer func() {
		clear(f.made[:cap(f.made)]) // which would keep the shadow
		feeds.Put(f)
	}()
	h, _ := sh.Hasher()
	if !a.run.Shared() {
		for _, p := range contents.Parts(sh.Entry()) {
			if p.Untouched() && len(items) > p.FewItems() {
				p.Touch(a.run.Killed)
			}
		}
		if a.run.Killed() {
			return 0, answer.Fail(answer.TextStopped), nil
		}
	}
	for len(items) > 0 {
		n := min(len(items), feedPiece)
		h.HashKeys(f.hashes[:n], items[:n])
		f.sorted.Sort(f.hashes[:n], uint(sh.Plan().Parts))
		f.fill(sh, a.admit, a.run.Shared())
		failed, err := a.run.ApplyAll(f.ops)
		for try := 1; try < feedTries && failed.Kind == answer.None && errors.Is(err, contents.ErrRoom) && f.lacking(); try++ {
			failed, err = a.run.ApplyAll(f.ops)
		}
		if failed.Kind != answer.None || err != nil {
			return done, failed, err
		}
		items, done = items[n:], done+n
	}
	return done, answer.Reply{}, nil
}

// feedTries is how often a piece is fed that lacks room: other machines of a cluster may have
// taken what there was when it was prepared.
const feedTries = 3

// lacking leaves the ops that lacked room, of which nothing was done. It reports whether
// all others have succeeded.
func (f *feed) lacking() bool {
	rest := f.ops[:0]
	for _, op := range f.ops {
		switch {
		case errors.Is(op.Result.Err, contents.ErrRoom):
			rest = append(rest, op)
		case op.Result.Err != nil:
			return false
		}
	}
	f.ops = rest
	return true
}

// fill makes an op for every part of a shadow that has items.
func (f *feed) fill(sh *shadow.Shadow, admit door.Admitter, shared bool) {
	used := f.sorted.Used
	f.ops, f.made = routes.Resize(f.ops, len(used)), routes.Resize(f.made, len(used))
	for i, part := range used {
		from, to := f.sorted.Of(int(part))
		m := &f.made[i]
		m.body = store.ShadowAdd{Fed: true, Hashes: f.sorted.Hashes[from:to], Shared: shared, Ended: sh.Ended()}
		m.op = door.Op{
			Part: contents.PartAt(sh.Entry(), uint32(part)), Admit: admit,
			Record: store.Record{ID: sh.ID, Index: uint32(part), Body: &m.body},
		}
		m.op.Result.Bools = f.sorted.Bools[from:to]
		f.ops[i] = &m.op
	}
}
