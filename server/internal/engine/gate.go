package engine

// The gate: transactions run alone.

import (
	"sync"

	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/session"
)

// gate makes transactions alone. Everything that looks at data or changes it
// runs inside the gate; EXEC closes it for all others. It is held for
// microseconds and never while anything waits: see Session.enter and leave.
//
// It has one lock for every few sessions, so that sessions on different
// processors do not share a cache line; to close the gate takes all of them.
//
// Safe for concurrent use.
type gate struct {
	slots [session.Slots]gateSlot
	watch gateWatch
}

// cacheLine is the distance at which two values are on different cache lines,
// also for a processor that fetches two lines at once.
const cacheLine = 128

type gateSlot struct {
	sync.RWMutex // held by the session inside the gate, or by a transaction that is alone

	_ [cacheLine - 24]byte
}

// enter lets a session in.
func (g *gate) enter(slot int) {
	order.TakeGate()
	g.slots[slot].RLock()
	g.watch.entered(slot)
}

// leave undoes enter.
func (g *gate) leave(slot int) {
	g.watch.left(slot)
	g.slots[slot].RUnlock()
	order.LeaveGate()
}

// close waits until all have left and lets nobody in. Locks are taken in the
// order of their numbers.
func (g *gate) close() {
	order.TakeGate()
	for i := range g.slots {
		g.slots[i].Lock()
	}
	g.watch.closed()
}

// open undoes close.
func (g *gate) open() {
	g.watch.opened()
	for i := range g.slots {
		g.slots[i].Unlock()
	}
	order.LeaveGate()
}
