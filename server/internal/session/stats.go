package session

// Counters of commands and names.

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Counters counts the use of every command, and of names. Each slot has its own copy:
// clients on different processors do not share a cache line. Make it with NewCounters.
//
// Safe for concurrent use.
type Counters struct {
	slots [Slots]slotCounters
	// Expired is how many keys were removed because their deadline had passed.
	Expired atomic.Int64
}

// cacheLine is the distance at which two values are on different cache lines,
// also for a processor that fetches two lines at once.
const cacheLine = 128

// slotCounters are the counters of the clients of one slot.
type slotCounters struct {
	hits, misses atomic.Int64 // names that reads have found, and not found
	commands     []Counter
	errors       errorTable
	_            [cacheLine - 56]byte
}

// Counter counts the use of one command by the clients of a slot. It is larger than a cache line.
type Counter struct {
	calls    atomic.Int64
	nanos    atomic.Int64
	rejected atomic.Int64 // refused before it was run
	failed   atomic.Int64 // answered an error
	took     [tookBuckets]atomic.Int64
	late     atomic.Pointer[lateCounter] // nil if no call has waited
}

// lateCounter is how long calls took that have waited for other machines, with that wait and without it.
type lateCounter struct{ all, here times }

type times struct {
	nanos atomic.Int64
	took  [tookBuckets]atomic.Int64
}

func (t *times) add(calls int, each time.Duration) {
	t.nanos.Add(int64(each) * int64(calls))
	t.took[bucketOf(each)].Add(int64(calls))
}

func (t *times) sum(to *Times) {
	to.Nanos += t.nanos.Load()
	for i := range t.took {
		to.Took[i] += t.took[i].Load()
	}
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
	Calls, Rejected, Failed int64
	// Times are what clients have waited for: without what a call takes to come and go.
	Times
	// Waited reports that calls have waited for other machines; Here are the times without that.
	Waited bool
	Here   Times
}

// Times are how long calls took.
type Times struct {
	Nanos int64
	// Took is how many calls took up to the end of each bucket, and longer than
	// the one before, by the mean of those that were run with it.
	Took [tookBuckets]int64
}

// Add counts n calls that took so long each, and how many of them failed.
func (n *Counter) Add(calls int, each time.Duration, failed int) {
	n.calls.Add(int64(calls))
	n.nanos.Add(int64(each) * int64(calls))
	n.took[bucketOf(each)].Add(int64(calls))
	if failed > 0 {
		n.failed.Add(int64(failed))
	}
}

// AddLate is Add for calls that have waited for other machines; here is what each took without that.
func (n *Counter) AddLate(calls int, each, here time.Duration, failed int) {
	late := n.late.Load()
	if late == nil {
		late = new(lateCounter)
		if !n.late.CompareAndSwap(nil, late) {
			late = n.late.Load()
		}
	}
	n.calls.Add(int64(calls))
	late.all.add(calls, each)
	late.here.add(calls, here)
	if failed > 0 {
		n.failed.Add(int64(failed))
	}
}

// Reject counts a call that was refused before it was run.
func (n *Counter) Reject() { n.rejected.Add(1) }

// NewCounters returns counters for so many commands.
func NewCounters(commands int) *Counters {
	c := &Counters{}
	for i := range c.slots {
		c.slots[i].commands = make([]Counter, commands+2)[1 : commands+1]
	}
	return c
}

// Of returns the counter of a command, by its number, for a client.
func (c *Counters) Of(by *Client, command int) *Counter { return &c.slots[by.Slot].commands[command] }

// Looked counts that reads of a client have looked for a name n times.
func (c *Counters) Looked(by *Client, found bool, n int) {
	if by.Watching {
		return
	}
	if found {
		c.slots[by.Slot].hits.Add(int64(n))
	} else {
		c.slots[by.Slot].misses.Add(int64(n))
	}
}

// Found returns how often reads have found a name, and how often not.
func (c *Counters) Found() (hits, misses int64) {
	for i := range c.slots {
		hits += c.slots[i].hits.Load()
		misses += c.slots[i].misses.Load()
	}
	return hits, misses
}

// Sum returns how a command was used by all.
func (c *Counters) Sum(command int) (u Usage) {
	for i := range c.slots {
		n := &c.slots[i].commands[command]
		u.Calls += n.calls.Load()
		u.Nanos += n.nanos.Load()
		u.Rejected += n.rejected.Load()
		u.Failed += n.failed.Load()
		for j := range n.took {
			u.Took[j] += n.took[j].Load()
		}
	}
	u.Here = u.Times
	for i := range c.slots {
		if late := c.slots[i].commands[command].late.Load(); late != nil {
			u.Waited = true
			late.all.sum(&u.Times)
			late.here.sum(&u.Here)
		}
	}
	return u
}

// Calls returns how many commands were run.
func (c *Counters) Calls() (n int64) {
	for i := range c.slots {
		for j := range c.slots[i].commands {
			n += c.slots[i].commands[j].calls.Load()
		}
	}
	return n
}

// Reset begins again at 0.
func (c *Counters) Reset() {
	c.Expired.Store(0)
	for i := range c.slots {
		slot := &c.slots[i]
		slot.hits.Store(0)
		slot.misses.Store(0)
		slot.errors.reset()
		for j := range slot.commands {
			n := &slot.commands[j]
			n.calls.Store(0)
			n.nanos.Store(0)
			n.rejected.Store(0)
			n.failed.Store(0)
			for k := range n.took {
				n.took[k].Store(0)
			}
			n.late.Store(nil)
		}
	}
}

// Pace is how many commands were run at the latest samples. The zero value has none.
//
// Safe for concurrent use.
type Pace struct {
	// mu guards what follows.
	mu      sync.Mutex
	samples [16]paceSample
	taken   int
}

type paceSample struct {
	at    time.Time
	calls int64
}

// Sample notes how many commands were run so far.
func (p *Pace) Sample(at time.Time, calls int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples[p.taken%len(p.samples)] = paceSample{at, calls}
	p.taken++
}

// PerSecond returns how many commands were run in a second: the mean over the last
// samples.
func (p *Pace) PerSecond() int64 {
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

// Reset forgets all samples.
func (p *Pace) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = 0
}
