package quotient

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// Every lookup goes through a run, and every change moves what follows up to the
// next free slot. Chance keeps both short. Keys whose hashes were chosen can make one run
// of all slots, so that inserts are refused which make either longer than chance does.

// reach is how far the slowest operations of a table go.
type reach struct {
	run     int // slots of the longest run, if it goes over the end of a block
	stretch int // blocks in a row that run over into the next
}

func (r reach) most(o reach) reach { return reach{max(r.run, o.run), max(r.stretch, o.stretch)} }

const (
	// aloneRun is how many slots a run may have if no key is there twice. With at
	// most one key for each quotient, chance makes a longer one with probability
	// 1/64!.
	aloneRun = 64
	// countedKeys is for how many keys a run may have slots if they are counted, each of them
	// as often as can be: more come together with probability 1/28!, e^-67.
	countedKeys = 28
	// raggedRun is for the counts of a growing filter, in whose runs the keys of the run that
	// was doubled stay.
	raggedRun = 1024

	// unlikely is how unlikely a longer stretch is: e^-65 for each slot it may begin at,
	// 10^-16 for all of a filter of 2^40 slots.
	unlikely = 65
	// edge is how many blocks a stretch may always have: blocks are whole.
	edge = 4
)

// mostRun returns how many slots a run may have, with counts or without.
func (t *table) mostRun(counts bool) int {
	switch {
	case !counts:
		return aloneRun
	case t.ragged:
		return raggedRun
	}
	return min(countedKeys, 1<<min(t.width, 30)) * t.longestEntry() // an int may have 32 bits
}

// mostStretch returns how many blocks may run over in a row with so many slots in use, with counts or
// without.
// With a share of a in use a stretch of n slots has probability e^-n(a-1-ln a) at most,
// and a-1-ln a is more than (1-a)²/2. Entries of several slots come together: that
// makes stretches as many times as long.
func (f *core) mostStretch(used uint64, counts bool) int {
	all := float64(f.shape.Blocks * uint64(f.shape.Slots))
	free := all - float64(min(used, f.shape.Limit()))
	entry := 1.0
	if counts {
		entry = float64(f.longestEntry())
	}
	// No sum of products: it would not be the same on every machine.
	slots := 2 * unlikely * entry * (all / free) * (all / free)
	return edge + int(slots/float64(f.shape.Slots))
}

// longestEntry returns how many slots an entry takes at most.
func (t *table) longestEntry() int {
	c := t.encode(0, maxCount)
	return c.length
}

// Reach returns how far the slowest operations go: the slots of the longest run, which a
// lookup compares, and the blocks in a row without a free slot, which an insert or a delete
// moves. Either may be 1 or the length before keys were deleted. Of a view it reads all
// blocks.
func (f *core) Reach() (run, stretch int) {
	r := f.reach
	if f.unmeasured {
		r = f.measured()
	}
	return max(1, r.run), max(1, r.stretch)
}

// MaxReach returns how far operations can go when n more keys are in the filter, however they
// were chosen: Insert refuses what goes farther. Random keys never do. A key that is there already
// makes the filter count, which allows for longer runs and stretches, so any n but 0 does. A filter
// that was decoded may go farther, see Reach.
func (f *core) MaxReach(n int) (run, stretch int) {
	if len(f.data) == 0 {
		return 1, 1
	}
	counts := f.counts || n > 0
	if run = f.mostRun(counts); counts {
		run += f.digitSlots() // an insert may take a slot and a digit at the end of a run
	}
	more := min(uint64(max(n, 0)), math.MaxInt32)
	used := f.used + more + more/2 // nine copies of a narrow remainder take thirteen slots
	return run, min(f.mostStretch(used, counts), f.blocks)
}

// Reach is that of Filter, for all segments.
func (g *segments) Reach() (run, stretch int) {
	r := g.reach
	if g.unmeasured {
		for s := range g.each {
			r = r.most(s.measured())
		}
	}
	return max(1, r.run), max(1, r.stretch)
}

// MaxReach is that of Filter. Stretches end with their segment, whatever n is.
func (g *segments) MaxReach(int) (run, stretch int) {
	const most = 1 << (sizing.SegmentBits - 6)
	return raggedRun + maxEntry, most + mostSpill(most)
}

// mostSpill returns how many blocks a segment of so many has behind its last one at most:
// as many as all of its entries take, and what doubling them adds.
func mostSpill(blocks uint64) int { return 2*int(blocks) + 2*edge }

// measured returns the reach of a table. It looks at every block.
func (t *table) measured() (r reach) {
	stretch, run := 0, 0 // what runs over into the present block
	for b := range t.blocks {
		if t.offset(b) == 0 {
			stretch, run = 0, 0
		} else {
			stretch++
			r.stretch = max(r.stretch, stretch)
		}
		ends := t.endBits(b)
		if ends == 0 {
			run += t.slots // or the block is empty, and the next begins anew
			continue
		}
		if run > 0 {
			r.run = max(r.run, run+bits.TrailingZeros64(ends)+1)
		}
		run = t.slots - bits.Len64(ends)
	}
	return r
}

// begins returns the last block up to the given one that nothing runs over into.
func (t *table) begins(block int) int {
	for block > 0 && t.offset(block) != 0 {
		block--
	}
	return block
}

// reaches returns the block where the n-th slot behind the entries of a block is free. It
// reports false if there is none, or if that makes too long a stretch, and notes how
// long it is.
func (t *table) reaches(block, n int) (last int, ok bool) {
	if last, ok = t.free(block, n); !ok {
		return last, false
	}
	stretch := last - t.begins(block)
	if stretch > t.bound {
		return last, false
	}
	t.stretch = max(t.stretch, stretch)
	return last, true
}

// runOf returns how many slots the run has that a spot is in, 0 if there is none.
func (t *table) runOf(s spot) int {
	if !s.run {
		return 0
	}
	end := t.seek(s.start, 1)
	return (end.block-s.start.block)*t.slots + end.slot - s.start.slot
}

// crowded returns the error of an insert that is refused although there are free
// slots.
func (f *Filter) crowded() error {
	return fmt.Errorf("quotient: insert: %w: the hashes of the keys are too much alike: %d slots of a run or %d blocks in a row are not exceeded by chance",
		bloomery.ErrFull, f.mostRun(f.counts), f.bound)
}
