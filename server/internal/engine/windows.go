package engine

// Windows, for which time passes.

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// advanceEvery is how often windows are looked at, in milliseconds. A window that is
// used is looked at then too.
const advanceEvery = 1000

// advance lets time pass for windows that nobody uses.
func (e *Engine) advance(now int64) {
	if last := e.advanced.Load(); now-last < advanceEvery && now >= last || !e.advanced.CompareAndSwap(last, now) {
		return
	}
	for id, entry := range e.state.Windows() {
		for i, p := range store.Parts(entry) {
			p.RLock()
			generation, due := p.Due(now)
			gone := p.Gone()
			p.RUnlock()
			if gone {
				e.state.ForgetWindow(id)
				break
			}
			if !due {
				continue
			}
			op := &door.Op{Part: p, Record: store.Record{ID: id, Index: uint32(i), Body: &store.FilterAdvance{Generation: generation}}}
			ops := []*door.Op{op}
			const slot = 0
			e.gate.Enter(slot)
			e.door.Do(ops)
			e.gate.Leave(slot)
			if !op.Settled {
				e.door.Wait(ops)
			}
		}
	}
}
