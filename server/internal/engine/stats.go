package engine

// Counters of commands and names.

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// counters counts the use of every command, and of names. Each slot of the gate
// has its own copy: sessions on different processors do not share a cache line.
type counters struct{ slots [gateSlots]slotCounters }

// slotCounters are the counters of the sessions of one slot.
type slotCounters struct {
	hits, misses atomic.Int64 // names that reads have found, and not found
	commands     []counter
	_            [cacheLine - 40]byte
}

// counter counts the use of one command. It is larger than a cache line.
type counter struct {
	calls    atomic.Int64
	nanos    atomic.Int64
	rejected atomic.Int64 // refused before it was run
	failed   atomic.Int64 // answered an error
	took     [tookBuckets]atomic.Int64
}

// tookBuckets is how many spans of time calls are sorted by: up to 1,024 ns, 2,048
// ns, 4,096 ns and so on, as Redis has them; the last has all that are longer than
// 4.3 s.
const (
	tookBuckets = 24
	leastBits   = 10
)

// bucketOf returns the bucket of a call that took so long.
func bucketOf(took time.Duration) int {
	return min(bits.Len64(uint64(max(took-1, 0))>>leastBits), tookBuckets-1)
}

// BucketEnd returns the longest time that is counted in a bucket of [Usage]. The last
// bucket has all that is longer too.
func BucketEnd(i int) time.Duration { return 1 << (leastBits + i) }

// Usage is how a command was used.
type Usage struct {
	Calls, Nanos, Rejected, Failed int64
	// Took is how many calls took up to the end of each bucket, and longer than
	// the one before, by the mean of those that were run with it.
	Took [tookBuckets]int64
}

func newCounters(commands int) *counters {
	c := &counters{}
	for i := range c.slots {
		c.slots[i].commands = make([]counter, commands+2)[1 : commands+1]
	}
	return c
}

// of returns the counter of a command for a session.
func (c *counters) of(s *Session, cmd *Command) *counter { return &c.slots[s.slot].commands[cmd.index] }

// looked counts that reads have looked for a name n times.
func (c *counters) looked(s *Session, found bool, n int) {
	if s.Watching {
		return
	}
	if found {
		c.slots[s.slot].hits.Add(int64(n))
	} else {
		c.slots[s.slot].misses.Add(int64(n))
	}
}

// names returns how often reads have found a name, and not.
func (c *counters) names() (hits, misses int64) {
	for i := range c.slots {
		hits += c.slots[i].hits.Load()
		misses += c.slots[i].misses.Load()
	}
	return hits, misses
}

// sum returns how a command was used by all.
func (c *counters) sum(cmd *Command) (u Usage) {
	for i := range c.slots {
		n := &c.slots[i].commands[cmd.index]
		u.Calls += n.calls.Load()
		u.Nanos += n.nanos.Load()
		u.Rejected += n.rejected.Load()
		u.Failed += n.failed.Load()
		for j := range n.took {
			u.Took[j] += n.took[j].Load()
		}
	}
	return u
}

// calls returns how many commands were run.
func (c *counters) calls() (n int64) {
	for i := range c.slots {
		for j := range c.slots[i].commands {
			n += c.slots[i].commands[j].calls.Load()
		}
	}
	return n
}

// reset begins again at 0.
func (c *counters) reset() {
	for i := range c.slots {
		slot := &c.slots[i]
		slot.hits.Store(0)
		slot.misses.Store(0)
		for j := range slot.commands {
			n := &slot.commands[j]
			n.calls.Store(0)
			n.nanos.Store(0)
			n.rejected.Store(0)
			n.failed.Store(0)
			for k := range n.took {
				n.took[k].Store(0)
			}
		}
	}
}

// pace is how many commands were run at the latest samples.
type pace struct {
	// mu guards what follows.
	mu      sync.Mutex
	samples [16]paceSample
	taken   int
}

type paceSample struct {
	at    time.Time
	calls int64
}

// Sample notes how many commands were run so far. The server calls it about ten
// times a second; [Context.Pace] is the mean over the last samples.
func (e *Engine) Sample(at time.Time) {
	calls := e.stats.calls()
	e.Budget.Used() // notes the peak
	if e.state.Names.Len() > 0 {
		e.well.Poke()
	}
	e.pace.mu.Lock()
	defer e.pace.mu.Unlock()
	e.pace.samples[e.pace.taken%len(e.pace.samples)] = paceSample{at, calls}
	e.pace.taken++
}

// perSecond returns how many commands were run in a second, lately.
func (p *pace) perSecond() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken < 2 {
		return 0
	}
	last := p.samples[(p.taken-1)%len(p.samples)]
	first := p.samples[max(p.taken-len(p.samples), 0)%len(p.samples)]
	span := last.at.Sub(first.at)
	if span <= 0 || last.calls < first.calls {
		return 0
	}
	return int64(float64(last.calls-first.calls)/span.Seconds() + 0.5)
}

func (p *pace) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = 0
}
