package engine

// Removing what is past its deadline.

import (
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Sweep removes what is past its deadline, at most so many entries, and returns
// how many it found. What could not be removed comes up again.
func (e *Engine) Sweep(most int) int {
	now := e.clock().UnixMilli()
	if e.door.Refuses() != nil || e.Pause.Any() {
		return 0 // nobody sees what is past its deadline
	}
	e.door.Ready()
	due := now
	if e.shared != nil {
		due -= e.shared.Grace().Milliseconds() // another machine is expected to do it
	}
	e.advance(due)
	ids := e.state.Names.Due(due, most)
	if e.shared != nil && due == now {
		ids = append(ids, e.abandoned(now)...)
	}
	if len(ids) == 0 {
		return 0
	}
	op := &door.Op{Record: store.Record{At: now, Body: &store.Evict{IDs: ids}}}
	ops := []*door.Op{op}
	const slot = 0
	e.gate.Enter(slot)
	e.door.Do(ops)
	e.gate.Leave(slot)
	if !op.Settled {
		e.door.Wait(ops)
	}
	if op.Err != nil {
		return 0
	}
	e.notes.Counters.Expired.Add(op.Result.N)
	return len(ids)
}

// abandonedAfter is when a filter that has no name yet is given up, in milliseconds: its
// machine is gone. A single server finds such filters when it recovers.
const abandonedAfter = 24 * 60 * 60 * 1000

// lookForAbandoned is how often they are looked for, in milliseconds.
const lookForAbandoned = 60_000

// abandoned returns the ids of filters that have had no name for long.
func (e *Engine) abandoned(now int64) (ids []uint64) {
	if last := e.looked.Load(); now-last < lookForAbandoned && now >= last || !e.looked.CompareAndSwap(last, now) {
		return nil
	}
	e.state.Names.Lock()
	defer e.state.Names.Unlock()
	for _, entry := range e.state.Names.Unnamed() {
		if p := store.PartOf(entry); p != nil && p.Made() > 0 && now-p.Made()*1000 > abandonedAfter {
			ids = append(ids, entry.ID)
		}
	}
	return ids
}
