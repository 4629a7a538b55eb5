// Package budget bounds the memory that the server takes: what records may need is set
// aside before they are applied, and what clients make the server hold is counted.
package budget

import (
	"sync/atomic"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Budget is how much memory the server may take. Memory that a record may need
// is set aside before the record is applied, so two filters cannot grow into the
// same bytes.
//
// What clients make the server hold (queries, replies, queued transactions)
// counts too. A tenth of the budget is theirs even when data fills the rest: with
// the budget full, reads and deletes still work.
//
// Safe for concurrent use, once Init was called.
type Budget struct {
	state *store.State
	max   atomic.Int64
	aside atomic.Int64 // for records on their way
	other atomic.Int64 // held for clients
	peak  atomic.Int64 // the most that was seen in use

	changed func(int64) // is called with a new bound, unless it is nil

	others int // items of other machines that may get in front of a record; 0 if there are none
}

// otherItems is for how many items of other nodes of a cluster a record has room, which
// may be added between its being prepared and its being applied.
const otherItems = 1 << 16

// Init sets the state whose memory counts, and the bound. With shared other machines write,
// too. If changed is not nil, SetMax calls it.
func (b *Budget) Init(state *store.State, most int64, shared bool, changed func(int64)) {
	b.state, b.changed = state, changed
	b.max.Store(most)
	if shared {
		b.others = otherItems
	}
}

func (b *Budget) used() int64 {
	return b.state.Bytes() + b.state.Copied() + b.aside.Load() + b.other.Load()
}

// Used returns the bytes in use, set aside or not.
func (b *Budget) Used() int64 {
	n := b.used()
	for {
		peak := b.peak.Load()
		if n <= peak || b.peak.CompareAndSwap(peak, n) {
			return n
		}
	}
}

// Peak returns the most bytes that were seen in use.
func (b *Budget) Peak() int64 {
	b.Used()
	return b.peak.Load()
}

// Data returns the bytes that names and contents take.
func (b *Budget) Data() int64 { return b.state.Bytes() }

// Max returns the bound of the budget.
func (b *Budget) Max() int64 { return b.max.Load() }

// SetMax changes the bound.
func (b *Budget) SetMax(n int64) {
	b.max.Store(n)
	if b.changed != nil {
		b.changed(n)
	}
}

// Clients returns the bytes that are held for clients.
func (b *Budget) Clients() int64 { return b.other.Load() }

// Full reports whether nothing may grow any more.
func (b *Budget) Full() bool { return b.used() > b.max.Load() }

// Left returns how many bytes are free.
func (b *Budget) Left() uint64 { return uint64(max(0, b.max.Load()-b.Used())) }

// Reserve sets n bytes aside. It reports false, and sets nothing aside, if
// there are not so many.
func (b *Budget) Reserve(n uint64) bool {
	if n > uint64(b.max.Load()) {
		return false
	}
	b.aside.Add(int64(n))
	if b.Used() > b.max.Load() {
		b.aside.Add(-int64(n))
		return false
	}
	return true
}

// Claim sets n bytes aside whether there are so many or not: for what has to be done. Until they are given
// back others may find the budget full.
func (b *Budget) Claim(n uint64) {
	b.aside.Add(int64(n))
	b.Used() // the peak
}

// Release gives back what Reserve or Claim has set aside.
func (b *Budget) Release(n uint64) { b.aside.Add(-int64(n)) }

// clientShare is the part of the budget that is for clients only.
const clientShare = 10

// Hold counts n more bytes (fewer if n is negative) that are held for clients.
// It reports false if there is no room for them; they are counted all the same,
// so the caller gives them back when it has let them go.
func (b *Budget) Hold(n int) bool {
	held := b.other.Add(int64(n))
	return n <= 0 || held <= b.max.Load()/clientShare || b.Used() <= b.max.Load()
}

var _ door.Admitter = (*Budget)(nil)

// smallGrowth is up to where room is made for every item of a record that might
// need it. Beyond, it is made for one step of growth: one record never needs two
// of that size, and if it does, the rest is prepared again.
const smallGrowth = 1 << 20

// Admit implements door.Admitter: the filter may grow by as much as all ops
// together can need.
func (b *Budget) Admit(p *contents.Part, ops []*door.Op) (aside uint64, ok bool) {
	n := 0
	for _, op := range ops {
		if items, ok := op.Record.Body.(store.Items); ok {
			n += items.Len()
		}
	}
	need, sure := uint64(0), true
	if !p.Gone() {
		need, sure = p.Contents().Growth(n)
		if !sure && n > 1 && need > smallGrowth && resumes(ops) {
			need, _ = p.Contents().Growth(1)
		}
	}
	more := uint64(0)
	if b.others > 0 && sure && !p.Gone() {
		more = b.withOthers(p, n)
	}
	if more > need && b.Reserve(more) {
		need = more
	} else if need > 0 && !b.Reserve(need) {
		if sure || len(ops) > 1 {
			return 0, false
		}
		// Whether it makes the filter grow is seen only when it is tried. It
		// gets what is left: one that fits without growth succeeds.
		if need = min(need, b.Left()); !b.Reserve(need) {
			need = 0
		}
	}
	for _, op := range ops {
		if items, ok := op.Record.Body.(store.Items); ok {
			items.Give(need)
		}
		if o, ok := op.Record.Body.(*store.FilterAdd); ok && o.Shadow != 0 {
			need += b.second(&op.Record, o)
		}
	}
	return need, true
}

// withOthers returns what the filter can need for n items and those of other machines
// that may get in front of them, 0 if it is for none.
func (b *Budget) withOthers(p *contents.Part, n int) uint64 {
	if n == 0 {
		return 0
	}
	more, _ := p.Contents().Growth(n + b.others)
	return more
}

// second sets aside what a record may make the shadow of its filter grow by, and
// returns it. If there is not so much it is nothing: then the shadow breaks, and the
// write goes on.
func (b *Budget) second(r *store.Record, o *store.FilterAdd) uint64 {
	o.SecondRoom = b.state.ShadowGrowth(r)
	if !b.Reserve(o.SecondRoom) {
		o.SecondRoom = 0
	}
	return o.SecondRoom
}

// resumes reports whether the rest of all records is prepared again when they have
// too little room.
func resumes(ops []*door.Op) bool {
	for _, op := range ops {
		if o, ok := op.Record.Body.(*store.CuckooInsert); !ok || o.Way == store.Together {
			return false
		}
	}
	return true
}

// Settle implements door.Admitter.
func (b *Budget) Settle(aside uint64) {
	if aside > 0 {
		b.Release(aside)
	}
}
