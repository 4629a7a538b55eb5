package engine

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Sweep removes what is past its deadline, at most so many entries, and returns
// how many it found. What could not be removed comes up again.
func (e *Engine) Sweep(most int) int {
	now := e.clock().UnixMilli()
	if e.door.Refuses() != nil || e.pause.mode.Load() != pauseNone {
		return 0 // nobody sees what is past its deadline
	}
	e.door.Ready()
	e.advance(now)
	ids := e.state.Names.Due(now, most)
	if len(ids) == 0 {
		return 0
	}
	op := &door.Op{Record: store.Record{Op: store.OpEvict, At: now, IDs: ids}}
	ops := []*door.Op{op}
	const slot = 0
	e.gate.enter(slot)
	e.door.Do(ops)
	e.gate.leave(slot)
	if !op.Settled {
		e.door.Wait(ops)
	}
	if op.Err != nil {
		return 0
	}
	e.Settings.expired.Add(op.Result.N)
	return len(ids)
}
