package health

// Keeper: probes and judges the filters of a server.

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Keeper is made from.
type Config struct {
	Source Source
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Work reads a clock that shows how long the calling goroutine has worked;
	// nil means the time that has passed.
	Work func() time.Duration
	// Seed is that of the digests that filters are probed with. It should
	// differ from run to run.
	Seed uint64
}

// Keeper probes and judges the filters of a server. Make it with New. It works
// while Run runs, or whenever Step is called; Meter, Touch and Born are for the
// paths of commands and take no lock.
//
// Safe for concurrent use, Step by one goroutine at a time.
type Keeper struct {
	source Source
	now    func() time.Time
	work   func() time.Duration
	wake   chan struct{}
	sleeps atomic.Int32

	table  atomic.Pointer[table]
	rings  [Slots]ring
	births births
	cradle cradle
	roomy  atomic.Bool // more filters can have a state because they are used

	repaired atomic.Uint64 // items, of filters that are gone too
	falses   atomic.Uint64

	// mu guards what follows.
	mu      sync.Mutex
	random  *rand.Rand
	states  map[uint64]*state
	ill     map[uint64]*state // those of the pool of suspects
	pools   [pools]int
	evals   queue // of all states, by due time
	queues  [classes]queue
	turn    int
	cursor  uint64    // of the walk
	walked  time.Time // when the walk last ended
	rest    Sums      // filters without a state, as the last walk has seen them
	passing Sums      // the same of the walk that is under way
	heat    map[uint64]float32
	ticked  time.Time
	dirty   bool      // the table is not that of states
	tabled  time.Time // when the table was made
	account account
	judging time.Duration // spent on evaluations
	totals  Totals
}

// New returns a Keeper that has not looked at any filter yet.
func New(c Config) *Keeper {
	k := &Keeper{
		source: c.Source, now: c.Now, work: c.Work, wake: make(chan struct{}, 1),
		random: rand.New(rand.NewPCG(c.Seed, 0)), states: map[uint64]*state{}, ill: map[uint64]*state{}, heat: map[uint64]float32{},
		account: account{share: Share},
	}
	if k.now == nil {
		k.now = time.Now
	}
	if k.work == nil {
		began := time.Now()
		k.work = func() time.Duration { return time.Since(began) }
	}
	k.table.Store(newTable(nil))
	k.roomy.Store(true)
	return k
}

// Meter returns the meter of a filter, nil if its use is not counted. It takes no
// lock.
func (k *Keeper) Meter(id uint64) *Meter {
	if m := k.table.Load().find(id); m != nil {
		return m
	}
	return k.cradle.find(id)
}

// Clear notes that a filter was emptied. It takes no lock.
func (k *Keeper) Clear(id uint64) {
	if m := k.Meter(id); m != nil {
		m.clear()
	}
}

// Adopt is Meter for a filter that is used, was not made lately and has no meter: it is
// given one if there is room, so that its use counts from now on.
func (k *Keeper) Adopt(id uint64) *Meter {
	if !k.roomy.Load() {
		return nil
	}
	k.Born(id)
	return k.cradle.find(id)
}

// Touch notes that a filter was used: about one bundle of calls in 64 is noted, and
// shows which filters are the busiest. It takes no lock.
func (k *Keeper) Touch(slot int, id uint64) { k.rings[slot%Slots].put(id) }

// What a Keeper does between two steps.
const (
	awake       int32 = iota
	sleepsSpare       // nothing is due for a while
	sleepsIdle        // there are no filters
)

// Born notes that a filter was made, so that it is probed soon. It takes no lock.
func (k *Keeper) Born(id uint64) {
	k.cradle.put(id, new(Meter))
	k.births.put(id)
	k.wakeFrom(sleepsSpare)
}

// Poke wakes a Keeper that sleeps because there were no filters.
func (k *Keeper) Poke() { k.wakeFrom(sleepsIdle) }

// wakeFrom wakes a Keeper that sleeps so, or deeper.
func (k *Keeper) wakeFrom(sleep int32) {
	if k.sleeps.Load() >= sleep {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// keep makes a state for a filter, in a pool that has room or makes room. It
// returns nil if it does not.
func (k *Keeper) keep(id uint64, p pool, now time.Time) *state {
	if p == busy && k.pools[busy] >= Busiest {
		return nil
	}
	if p == suspect && k.pools[suspect] >= Suspects && !k.evict() {
		return nil
	}
	s := &state{id: id, pool: p, meter: k.cradle.find(id), since: now, due: now, asked: now}
	if s.meter == nil {
		s.meter = new(Meter)
	}
	k.states[id] = s
	k.pools[p]++
	if p == suspect {
		k.ill[id] = s
	}
	k.evals.push(s)
	k.enqueue(s)
	k.dirty = true
	return s
}

// evict drops a suspect: of some that chance picks, the one with which the least is
// lost. It reports false if there is none.
func (k *Keeper) evict() bool {
	const some = 16
	var out *state
	seen := 0
	for _, s := range k.ill {
		if out == nil || s.pinned() < out.pinned() || s.pinned() == out.pinned() && s.asked.Before(out.asked) {
			out = s
		}
		if seen++; seen == some {
			break
		}
	}
	if out != nil {
		k.drop(out)
	}
	return out != nil
}

// drop forgets a state. Queues let go of it when its turn comes.
func (k *Keeper) drop(s *state) {
	if !s.gone {
		s.gone = true
		delete(k.states, s.id)
		delete(k.ill, s.id)
		k.pools[s.pool]--
		k.dirty = true
	}
}

// enqueue puts a state into the queue of its class.
func (k *Keeper) enqueue(s *state) {
	if s.class != settled && !s.queued[s.class] {
		s.queued[s.class] = true
		k.queues[s.class].push(s)
	}
}

// queue is states in order. The zero value is empty.
type queue struct {
	list []*state
	head int
}

func (q *queue) len() int { return len(q.list) - q.head }

func (q *queue) push(s *state) { q.list = append(q.list, s) }

// first returns the first state, nil if there is none.
func (q *queue) first() *state {
	if q.len() == 0 {
		return nil
	}
	return q.list[q.head]
}

// pop removes and returns the first state.
func (q *queue) pop() *state {
	s := q.first()
	if s == nil {
		return nil
	}
	q.list[q.head] = nil
	if q.head++; q.head >= 64 && q.head*2 >= len(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	return s
}
