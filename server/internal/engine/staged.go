package engine

// What clients have staged.

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Shelf returns what the client has staged.
func (x Contents) Shelf() *staging.Shelf {
	if x.s.shelf == nil {
		x.s.shelf = staging.NewShelf(func(n int) bool { return x.e.Hold(x.s, n) })
	}
	return x.s.shelf
}

// unstage removes what a client has left without a name.
func (e *Engine) unstage(s *Session) {
	if s.shelf == nil {
		return
	}
	s.shelf.Clear(func(t *staging.Staged) {
		op := &door.Op{Record: store.Record{At: e.clock().UnixMilli(), Body: &store.Evict{IDs: []uint64{t.ID}}}}
		ops := []*door.Op{op}
		e.door.Do(ops)
		if !op.Settled {
			e.door.Wait(ops)
		}
	})
	s.shelf = nil
}
