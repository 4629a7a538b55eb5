// Package gate makes transactions alone.
package gate

import (
	"sync"

	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/session"
)

// Gate makes transactions alone. Everything that looks at data or changes it
// runs inside the gate; EXEC closes it for all others. It is held for
// microseconds and never while anything waits: see Waits.
//
// It has one lock for every few sessions, so that sessions on different
// processors do not share a cache line; to close the gate takes all of them.
//
// Safe for concurrent use.
type Gate struct {
	slots [session.Slots]slot
	watch watch
}

// cacheLine is the distance at which two values are on different cache lines,
// also for a processor that fetches two lines at once.
const cacheLine = 128

type slot struct {
	sync.RWMutex // held by the session inside the gate, or by a transaction that is alone

	_ [cacheLine - 24]byte
}

// Enter lets a session in.
func (g *Gate) Enter(slot int) {
	order.TakeGate()
	g.slots[slot].RLock()
	g.watch.entered(slot)
}

// Leave undoes Enter.
func (g *Gate) Leave(slot int) {
	g.watch.left(slot)
	g.slots[slot].RUnlock()
	order.LeaveGate()
}

// Close waits until all have left and lets nobody in. Locks are taken in the
// order of their numbers.
func (g *Gate) Close() {
	order.TakeGate()
	for i := range g.slots {
		g.slots[i].Lock()
	}
	g.watch.closed()
}

// Open undoes Close.
func (g *Gate) Open() {
	g.watch.opened()
	for i := range g.slots {
		g.slots[i].Unlock()
	}
	order.LeaveGate()
}

// Waits notes that a session which is inside, or not, is about to wait: it must not be.
func (g *Gate) Waits(inside bool, what string) { g.watch.waits(inside, what) }
