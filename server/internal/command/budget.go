package command

import (
	"sync/atomic"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Budget is how much memory data may take. Memory that a record may need is
// set aside before the record is applied, so two filters cannot grow into the
// same bytes.
//
// Safe for concurrent use.
type Budget struct {
	state *store.State
	max   atomic.Int64
	aside atomic.Int64 // for records on their way
	other atomic.Int64 // buffers of connections, queued transactions
}

// used returns the bytes in use, set aside or not.
func (b *Budget) used() int64 {
	return b.state.Bytes() + b.aside.Load() + b.other.Load()
}

// full reports whether nothing may grow any more.
func (b *Budget) full() bool { return b.used() > b.max.Load() }

// left returns how many bytes are free.
func (b *Budget) left() uint64 { return uint64(max(0, b.max.Load()-b.used())) }

// reserve sets n bytes aside. It reports false, and sets nothing aside, if
// there are not so many.
func (b *Budget) reserve(n uint64) bool {
	if n > uint64(b.max.Load()) {
		return false
	}
	b.aside.Add(int64(n))
	if b.full() {
		b.aside.Add(-int64(n))
		return false
	}
	return true
}

func (b *Budget) release(n uint64) { b.aside.Add(-int64(n)) }

// clientShare is which part of the budget data cannot take from what clients
// have under way: with all memory used by data, reads and deletes still work.
const clientShare = 16

// Hold counts n more bytes (fewer if n is negative) that a connection keeps.
// It reports false if there is no room for them; they are counted all the same,
// so the caller gives them back when it has let them go.
func (b *Budget) Hold(n int) bool {
	other := b.other.Add(int64(n))
	return n <= 0 || !b.full() || other <= b.max.Load()/clientShare
}

// Max returns the limit in force, in bytes.
func (b *Budget) Max() int64 { return b.max.Load() }

var _ door.Admitter = (*Budget)(nil)

// Admit implements door.Admitter: the filter may grow by as much as all ops
// together can need.
func (b *Budget) Admit(p *store.Part, ops []*door.Op) (aside uint64, ok bool) {
	n := 0
	for _, op := range ops {
		n += len(op.Record.Digests) + len(op.Record.Hashes)
	}
	need, sure := uint64(0), true
	if !p.Gone() {
		need, sure = p.Contents().Growth(n)
	}
	if need > 0 && !b.reserve(need) {
		if sure || len(ops) > 1 {
			return 0, false
		}
		// Whether it makes the filter grow is seen only when it is tried. It
		// gets what is left: one that fits without growth succeeds.
		if need = min(need, b.left()); !b.reserve(need) {
			need = 0
		}
	}
	for _, op := range ops {
		op.Record.Room = need
	}
	return need, true
}

// Settle implements door.Admitter.
func (b *Budget) Settle(aside uint64) {
	if aside > 0 {
		b.release(aside)
	}
}
