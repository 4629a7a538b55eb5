package engine

import "sync/atomic"

// counters counts the use of every command. Each slot of the gate has its own
// copy: sessions on different processors do not share a cache line.
type counters struct{ slots [gateSlots][]counter }

// counter counts the use of one command.
type counter struct {
	calls    atomic.Int64
	nanos    atomic.Int64
	rejected atomic.Int64 // refused before it was run
	failed   atomic.Int64 // answered an error
}

// Usage is how a command was used.
type Usage struct{ Calls, Nanos, Rejected, Failed int64 }

func newCounters(commands int) *counters {
	c := &counters{}
	const apart = cacheLine / 32 // counters on a cache line
	for i := range c.slots {
		c.slots[i] = make([]counter, commands+2*apart)[apart : commands+apart]
	}
	return c
}

// of returns the counter of a command for a session.
func (c *counters) of(s *Session, cmd *Command) *counter { return &c.slots[s.slot][cmd.index] }

// sum returns how a command was used by all.
func (c *counters) sum(cmd *Command) (u Usage) {
	for i := range c.slots {
		n := &c.slots[i][cmd.index]
		u.Calls += n.calls.Load()
		u.Nanos += n.nanos.Load()
		u.Rejected += n.rejected.Load()
		u.Failed += n.failed.Load()
	}
	return u
}

// reset begins again at 0.
func (c *counters) reset() {
	for i := range c.slots {
		for j := range c.slots[i] {
			n := &c.slots[i][j]
			n.calls.Store(0)
			n.nanos.Store(0)
			n.rejected.Store(0)
			n.failed.Store(0)
		}
	}
}
