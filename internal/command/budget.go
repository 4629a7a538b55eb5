package command

import (
	"errors"
	"sync/atomic"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/internal/door"
	"github.com/bloomery/bloomery/internal/store"
)

// errOOM is the answer of Admit when a record would take more memory than there
// is.
var errOOM = errors.New("command: out of memory")

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

// Hold counts n more bytes (fewer if n is negative) that a connection keeps.
// It reports false if there is no room for them; they are counted all the same,
// so the caller gives them back when it has let them go.
func (b *Budget) Hold(n int) bool {
	b.other.Add(int64(n))
	return n <= 0 || !b.full()
}

// Admit implements door.Admitter: it sets the room that the filter of op may
// grow by, and sets that much memory aside.
func (b *Budget) Admit(op *door.Op) error {
	r := &op.Record
	r.Room = 0
	if op.Part == nil || op.Part.Gone() {
		return nil // Apply answers
	}
	switch r.Op {
	case store.OpAdd:
		if f := op.Part.Bloom; f != nil {
			r.Room = f.GrowBytes(len(r.Digests))
		}
		if r.Room == 0 {
			return nil
		}
		if !b.reserve(r.Room) {
			r.Room = 0
			return errOOM
		}
	case store.OpInsert, store.OpInsertNew:
		// Whether an insert makes the filter grow is seen only when it is
		// tried. It gets what may be needed, or what is left: an insert that
		// finds a slot succeeds in either case.
		if f := op.Part.Cuckoo; f != nil {
			r.Room = growth(f, len(r.Hashes))
		}
		if r.Room > 0 && !b.reserve(r.Room) {
			if r.Room = min(r.Room, b.left()); !b.reserve(r.Room) {
				r.Room = 0
			}
		}
	}
	return nil
}

// growth returns the most that n inserts can make a filter grow, at most 2^62.
func growth(f *redisbloom.Cuckoo, n int) uint64 {
	const (
		most  = 1 << 62
		extra = 8 << 10 // what a filter of many sub-filters keeps besides
	)
	step := f.GrowBytes()
	if step == 0 || f.Expansion() <= 1 {
		return min(step*uint64(n)+extra, most)
	}
	sum := uint64(extra)
	for range n {
		if sum += step; sum > most || step > most {
			return most
		}
		step *= uint64(f.Expansion())
	}
	return sum
}

// Settle implements door.Admitter: what the filter took is counted by the state
// now.
func (b *Budget) Settle(op *door.Op) {
	if op.Record.Room > 0 {
		b.release(op.Record.Room)
	}
}
