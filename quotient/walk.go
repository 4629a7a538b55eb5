package quotient

import (
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// walker goes through all entries of a table in the order of their
// fingerprints.
type walker struct {
	t        *table
	p        place  // where the next entry begins
	block    int    // of the quotient that the entry belongs to
	occupied uint64 // quotients of the block that are still to come
	quotient uint64 // of the present run
	inRun    bool
}

func (t *table) walk() walker { return walker{t: t, occupied: t.occupied(0)} }

// next returns the fingerprint of the next entry and the entry; false behind
// the last.
func (w *walker) next() (fingerprint uint64, e entry, ok bool) {
	if !w.inRun {
		for w.occupied == 0 {
			if w.block++; w.block >= w.t.home {
				return 0, entry{}, false
			}
			w.enter()
		}
		w.quotient = uint64(w.block)*sizing.QuotientsPerBlock + uint64(bits.TrailingZeros64(w.occupied))
		w.occupied &= w.occupied - 1
	}
	if w.p.block >= w.t.blocks {
		return 0, entry{}, false // the array is damaged
	}
	e = w.t.entryAt(w.p)
	w.p = w.t.next(e.last)
	w.inRun = !e.end
	return w.quotient<<w.t.width | e.value, e, true
}

// enter begins with the quotients of a block.
func (w *walker) enter() {
	w.occupied = w.t.occupied(w.block)
	if w.p.block < w.block {
		w.p = place{w.block, 0}
	}
}

// totals is what a filter counts beside its table.
type totals struct {
	items    uint64 // occurrences
	distinct uint64 // fingerprints
	used     uint64 // slots
}

// check returns the totals of a table, or an error that wraps ErrCorrupt if
// there is no multiset that has this array. It reads all of it once.
func (t *table) check() (totals, error) {
	c := checker{walker: walker{t: t}, last: -1}
	for c.block = 0; c.block < t.blocks; c.block++ {
		c.enter()
		if err := c.checkBlock(); err != nil {
			return totals{}, fmt.Errorf("%w: block %d: %w", bloomery.ErrCorrupt, c.block, err)
		}
	}
	if c.p.block > t.blocks || c.p.block == t.blocks && c.p.slot > 0 || !isZero(t.data[t.blocks*t.size:], 0, (len(t.data)-t.blocks*t.size)*8) {
		return totals{}, fmt.Errorf("%w: something lies behind the last block", bloomery.ErrCorrupt)
	}
	return c.totals, nil
}

// checker is a walker that looks at every bit.
type checker struct {
	walker
	totals
	last int64 // the fingerprint before
}

func (c *checker) checkBlock() error {
	t := c.t
	if got, want := int(t.offset(c.block)), min(saturated, t.offsetOf(c.block, c.p)); got != want {
		return fmt.Errorf("offset %d, should be %d", got, want)
	}
	if c.block >= t.home && c.occupied != 0 {
		return fmt.Errorf("quotients %#x in use, the block has none", c.occupied)
	}
	for c.occupied != 0 || c.inRun {
		fingerprint, e, ok := c.next()
		if !ok || e.bad {
			return fmt.Errorf("the entry at slot %d does not end", e.first.slot)
		}
		if int64(fingerprint) <= c.last {
			return fmt.Errorf("fingerprint %d comes after %d", fingerprint, c.last)
		}
		c.last = int64(fingerprint)
		c.items += e.count
		c.distinct++
		c.used += uint64(e.length)
	}
	used := t.slots
	if c.p.block == c.block {
		used = c.p.slot
	}
	block := t.data[c.block*t.size+endsAt : (c.block+1)*t.size]
	if !isZero(block, used, t.slots) || !isZero(block, t.slots+used*int(t.width), len(block)*8) {
		return fmt.Errorf("slots are not zero that are not in use, from slot %d on", used)
	}
	return nil
}

// isZero reports whether a range of bits of b is zero.
func isZero(b []byte, from, to int) bool {
	for from < to {
		n := min(to-from, 8-from%8)
		if b[from/8]>>(from%8)&byte(1<<n-1) != 0 {
			return false
		}
		from += n
	}
	return true
}

// builder fills an empty table with entries in the order of their fingerprints.
type builder struct {
	t        *table
	p        place // the next slot
	block    int   // of the last quotient
	quotient uint64
	last     place // the last slot in use, if there is one
	totals
}

// append appends an entry. It reports false if there is no room for it.
func (b *builder) append(fingerprint, count uint64) bool {
	t := b.t
	quotient := fingerprint >> t.width
	b.enter(int(quotient / sizing.QuotientsPerBlock))
	c := t.encode(fingerprint&t.mask, count)
	if b.distinct > 0 && b.quotient == quotient {
		b.flipEnd()
	}
	for _, v := range c.slots[:c.length] {
		if b.p.block >= t.blocks {
			return false
		}
		t.set(b.p, v)
		b.last, b.p = b.p, t.next(b.p)
	}
	b.flipEnd()
	t.setOccupied(b.block, t.occupied(b.block)|1<<(quotient%sizing.QuotientsPerBlock))
	b.quotient = quotient
	b.items += count
	b.distinct++
	b.used += uint64(c.length)
	return true
}

// flipEnd makes the last slot the end of a run, or no end any more.
func (b *builder) flipEnd() {
	b.t.setEndBits(b.last.block, b.t.endBits(b.last.block)^1<<uint(b.last.slot))
}

// enter goes on to the quotients of a block and sets the offsets up to there.
func (b *builder) enter(block int) {
	for b.block < block {
		b.block++
		if b.p.block < b.block {
			b.p = place{b.block, 0}
		}
		b.t.setOffset(b.block, b.t.offsetOf(b.block, b.p))
	}
}

// finish sets the offsets of the blocks behind the last quotient.
func (b *builder) finish() { b.enter(b.t.blocks - 1) }
