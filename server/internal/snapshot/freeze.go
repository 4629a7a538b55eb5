package snapshot

// Copies of parts that change meanwhile.

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
)

const (
	// pieceBytes is how much of a part is copied under its lock at a time.
	pieceBytes = 256 << 10
	// maxSaved is how much writers may put aside of a part that is being
	// copied before they wait for the copy.
	maxSaved = 16 << 20
)

// freeze is a part that is being copied while it changes.
type freeze struct {
	part   *contents.Part
	mu     sync.Mutex // before that of part; for frozen
	frozen contents.Frozen
	moved  sync.Cond
	done   bool
	saved  atomic.Int64 // bytes that writers put aside
}

// Throttle waits while too much of the part that is being copied was put aside. The
// caller holds no lock.
func (s *Saver) Throttle() {
	z := s.frozen.Load()
	if z == nil || z.saved.Load() < maxSaved {
		return
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for !z.done && z.saved.Load() >= maxSaved {
		z.moved.Wait()
	}
}

// Crowded reports whether Throttle would wait.
func (s *Saver) Crowded() bool {
	z := s.frozen.Load()
	return z != nil && z.saved.Load() >= maxSaved
}

// Note notes how much of p was put aside, if it is being copied. The caller has
// changed it, and holds its lock.
func (s *Saver) Note(p *contents.Part) {
	if z := s.frozen.Load(); z != nil && z.part == p {
		z.saved.Store(int64(z.frozen.Saved()))
	}
}

// contents finds or makes the place of one item.
func (s *Saver) contents(src Source, w *partsWriter, m *Manifest, it *Item, v value) error {
	old, had := s.find(it.ID)
	if v.part == nil { // a string never changes
		it.Position = m.Position()
		if had {
			it.File, it.Size, it.Sum = old.file, old.size, old.sum
			return nil
		}
		return w.text(it, v.text)
	}
	it.Shard = v.part.Shard()
	if s.away(m, it, v) {
		return nil
	}
	var (
		frozen contents.Frozen
		z      *freeze
		size   int64
		err    error
	)
	begin := func(lane int, position uint64) {
		it.Lane, it.Position, it.Version = lane, position, v.part.Changes()
		if v.part.Moved() {
			it.Leave(v.part)
			return
		}
		if it.Gone = v.part.Gone(); it.Gone || had && old.version == it.Version {
			it.File, it.Size, it.Sum = old.file, old.size, old.sum
			return
		}
		if frozen, err = v.part.Freeze(); err != nil {
			return
		}
		if size = frozen.Size(); size <= s.config.Small {
			w.gather(frozen, int(size)+2*minPiece)
			_ = frozen.Close()
			return
		}
		z = &freeze{part: v.part, frozen: frozen}
		z.moved.L = &z.mu
		s.frozen.Store(z)
	}
	v.part.Sweep()
	src.Freeze(v.entry, v.index, v.part, begin)
	for errors.Is(err, contents.ErrFrozen) { // a DUMP is copying it
		time.Sleep(time.Millisecond)
		err = nil
		src.Freeze(v.entry, v.index, v.part, begin)
	}
	switch {
	case err != nil || frozen == nil:
		return err
	case z == nil:
		return w.small(it, size)
	}
	return s.large(w, it, z, size)
}

// away makes it the item of a part that other nodes hold, and reports true, if a snapshot
// has no contents of it: it has none here, or this node has only begun to learn its shard.
func (s *Saver) away(m *Manifest, it *Item, v value) bool {
	v.part.RLock()
	defer v.part.RUnlock()
	whole := !s.config.State.Roster().Spread() || contents.Everywhere(v.entry) ||
		slices.ContainsFunc(m.Held, func(h roster.Held) bool { return h.Shard == v.part.Shard() })
	if v.part.Void() || v.part.Gone() && !v.part.Moved() || whole && !v.part.Elsewhere() {
		return false
	}
	it.Leave(v.part)
	return true
}

// Leave makes it the item of a part that other nodes hold. The caller holds a lock of p.
func (it *Item) Leave(p *contents.Part) {
	*it = Item{ID: it.ID, Kind: it.Kind, Deadline: it.Deadline, Name: it.Name, Shard: it.Shard, Elsewhere: true, About: p.AppendAbout(nil)}
}

// large writes a part while it changes.
func (s *Saver) large(w *partsWriter, it *Item, z *freeze, size int64) error {
	err := w.large(it, z, size)
	z.part.Lock()
	_ = z.frozen.Close()
	if it.Gone = z.part.Gone(); it.Gone {
		w.discard(it)
	}
	if z.part.Moved() {
		it.Leave(z.part)
	}
	z.part.Unlock()
	s.frozen.Store(nil)
	z.finish()
	return err
}

// progress copies some pieces and wakes writers that wait for that. It reports
// whether there may be more; there are none of a filter that is gone.
func (z *freeze) progress(w *partsWriter) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.part.RLock()
	gone := z.part.Gone()
	if _, apart := z.frozen.(contents.Apart); apart {
		z.part.RUnlock()
	} else {
		defer z.part.RUnlock()
	}
	if gone {
		w.pieces = w.pieces[:0]
		return false
	}
	more := w.gather(z.frozen, pieceBytes)
	z.saved.Store(int64(z.frozen.Saved()))
	z.moved.Broadcast()
	return more
}

func (z *freeze) finish() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.done = true
	z.moved.Broadcast()
}
