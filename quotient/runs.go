package quotient

import (
	"math/bits"

	"github.com/bloomery/bloomery/sizing"
)

// cell is an entry without its place.
type cell struct{ value, count uint64 }

// nextRun returns the next run of a table, in cells that it overwrites; false
// behind the last.
func (w *walker) nextRun(cells []cell) (quotient uint64, run []cell, ok bool) {
	for w.occupied == 0 {
		if w.block++; w.block >= w.t.home {
			return 0, nil, false
		}
		w.enter()
	}
	quotient = uint64(w.block)*sizing.QuotientsPerBlock + uint64(bits.TrailingZeros64(w.occupied))
	w.occupied &= w.occupied - 1
	run = cells[:0]
	first, last, twins := w.p, uint64(0), false
	for end := false; !end && w.p.block < w.t.blocks; w.p = w.t.next(w.p) {
		v := w.t.value(w.p)
		twins = twins || v == last
		last = v
		run = append(run, cell{v, 1})
		end = w.t.isEnd(w.p)
	}
	if !twins { // else there may be counts
		return quotient, run, true
	}
	run = run[:0]
	for p := first; p.block < w.t.blocks; {
		e := w.t.entryAt(p)
		run = append(run, cell{e.value, e.count})
		if p = w.t.next(e.last); e.end {
			break
		}
	}
	return quotient, run, true
}

// appendRun appends the run of a quotient that has none yet. It reports false if
// there is no room for it.
func (b *builder) appendRun(quotient uint64, run []cell) bool {
	t := b.t
	if len(run) == 0 {
		return true
	}
	b.enter(int(quotient / sizing.QuotientsPerBlock))
	for _, c := range run {
		if c.count > 1 {
			if !b.appendCounted(c) {
				return false
			}
			continue
		}
		if b.p.block >= t.blocks {
			return false
		}
		t.set(b.p, c.value)
		b.last, b.p = b.p, t.next(b.p)
		b.used++
		b.items++
	}
	b.distinct += uint64(len(run))
	b.flipEnd()
	t.setOccupied(b.block, t.occupied(b.block)|1<<(quotient%sizing.QuotientsPerBlock))
	b.quotient = quotient
	return true
}

// appendCounted appends the slots of an entry that is there more than once.
func (b *builder) appendCounted(c cell) bool {
	code := b.t.encode(c.value, c.count)
	for _, v := range code.slots[:code.length] {
		if b.p.block >= b.t.blocks {
			return false
		}
		b.t.set(b.p, v)
		b.last, b.p = b.p, b.t.next(b.p)
	}
	b.used += uint64(code.length)
	b.items += c.count
	return true
}
