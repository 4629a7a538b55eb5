package sweep

// Windows, for which time passes.

import (
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// advanceEvery is how often windows are looked at, in milliseconds. A window that is
// used is looked at then too.
const advanceEvery = 1000

// advance lets time pass for windows that nobody uses, and clears what windows have dropped.
func (s *Sweeper) advance(now int64) {
	if last := s.advanced.Load(); now-last < advanceEvery && now >= last || !s.advanced.CompareAndSwap(last, now) {
		return
	}
	for id, entry := range s.State.Windows() {
		for i, p := range contents.Parts(entry) {
			p.RLock()
			generation, due := p.Due(now)
			gone := p.Gone()
			p.RUnlock()
			if gone {
				s.State.ForgetWindow(id)
				break
			}
			if due {
				s.do(&door.Op{Part: p, Record: store.Record{ID: id, Index: uint32(i), Body: &store.FilterAdvance{Generation: generation}}})
			}
			p.Sweep()
		}
	}
}
