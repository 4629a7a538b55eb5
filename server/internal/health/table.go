package health

// Finding meters without a lock.

import (
	"math/bits"
	"sync/atomic"
)

// table finds meters by id without a lock: it never changes, a new one takes its
// place.
type table struct {
	shift uint
	slots []entry
}

type entry struct {
	id    uint64 // 0 for none
	meter *Meter
}

func newTable(states map[uint64]*state) *table {
	size := uint(bits.Len(uint(2*len(states) + 1)))
	t := &table{shift: 64 - size, slots: make([]entry, 1<<size)}
	for id, s := range states {
		i := t.place(id)
		for t.slots[i].meter != nil {
			i = (i + 1) & (len(t.slots) - 1)
		}
		t.slots[i] = entry{id, s.meter}
	}
	return t
}

func (t *table) place(id uint64) int { return int(id * 0x9e3779b97f4a7c15 >> t.shift) }

func (t *table) find(id uint64) *Meter {
	for i := t.place(id); ; i = (i + 1) & (len(t.slots) - 1) {
		if e := &t.slots[i]; e.meter == nil || e.id == id {
			return e.meter
		}
	}
}

// ring is the ids of filters that the connections of one slot have used lately.
type ring struct {
	next atomic.Uint32
	ids  [64]atomic.Uint64
	_    [120]byte // the next ring is on another cache line
}

func (r *ring) put(id uint64) {
	i := r.next.Add(1) - 1
	r.ids[i%uint32(len(r.ids))].Store(id)
}

// take passes the ids to f, each once.
func (r *ring) take(f func(id uint64)) {
	for i := range r.ids {
		if id := r.ids[i].Swap(0); id != 0 {
			f(id)
		}
	}
}

// births is the ids of filters that were made lately. Of very many at once some
// are lost; the walk finds them.
type births struct {
	next atomic.Uint32
	some atomic.Bool
	ids  [1024]atomic.Uint64
}

func (b *births) put(id uint64) {
	i := b.next.Add(1) - 1
	b.ids[i%uint32(len(b.ids))].Store(id)
	b.some.Store(true)
}

func (b *births) take(f func(id uint64)) {
	if !b.some.Swap(false) {
		return
	}
	for i := range b.ids {
		if id := b.ids[i].Swap(0); id != 0 {
			f(id)
		}
	}
}

// cradle has the meters of filters whose state is not made yet, or not known to the
// paths of commands. Of very many that are made at once some lose theirs.
type cradle [256]atomic.Pointer[entry]

func (c *cradle) put(id uint64, m *Meter) { c[id%uint64(len(c))].Store(&entry{id, m}) }

func (c *cradle) find(id uint64) *Meter {
	if e := c[id%uint64(len(c))].Load(); e != nil && e.id == id {
		return e.meter
	}
	return nil
}
