package catalog

// Deadlines, in a heap.

import (
	"container/heap"
	"sync"
)

// timers is a heap of deadlines. Entries whose deadline has changed stay in it
// until they come up or outnumber the others; ids are never reused, so a stale
// one does no harm.
type timers struct {
	// mu guards what follows.
	mu    sync.Mutex
	queue timerQueue
	when  map[uint64]int64 // the deadlines in force
}

type timer struct {
	deadline int64
	id       uint64
}

// set notes that the deadline of id went from old to deadline, 0 being none.
func (t *timers) set(id uint64, deadline, old int64) {
	if deadline == old {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if deadline == 0 {
		delete(t.when, id)
		t.tidy()
		return
	}
	if t.when == nil {
		t.when = make(map[uint64]int64)
	}
	t.when[id] = deadline
	heap.Push(&t.queue, timer{deadline, id})
	t.tidy()
}

// tidy drops what is stale once it is most of the heap.
func (t *timers) tidy() {
	const few = 64
	if len(t.queue) < few || len(t.queue) < 2*len(t.when) {
		return
	}
	t.queue = t.queue[:0:0]
	for id, deadline := range t.when {
		t.queue = append(t.queue, timer{deadline, id})
	}
	heap.Init(&t.queue)
}

// due takes the first timers out of the heap and puts back those in force.
func (t *timers) due(now int64, most int) (ids []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first []timer
	for len(t.queue) > 0 && len(ids) < most && t.queue[0].deadline <= now {
		next := heap.Pop(&t.queue).(timer)
		if t.when[next.id] == next.deadline && (len(ids) == 0 || ids[len(ids)-1] != next.id) {
			ids = append(ids, next.id)
			first = append(first, next)
		}
	}
	for _, next := range first {
		heap.Push(&t.queue, next)
	}
	return ids
}

func (t *timers) live() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.when)
}

func (t *timers) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue, t.when = nil, nil
}

type timerQueue []timer

func (q timerQueue) Len() int      { return len(q) }
func (q timerQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *timerQueue) Push(x any)   { *q = append(*q, x.(timer)) }

// Less orders by deadline, then by id, so that repeats follow each other.
func (q timerQueue) Less(i, j int) bool {
	return q[i].deadline < q[j].deadline || q[i].deadline == q[j].deadline && q[i].id < q[j].id
}
func (q *timerQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
