package compose

import (
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// dropped is generations that a window has dropped at once, and not cleared everywhere yet.
type dropped struct {
	slots uint64 // a bit for each
	*cleared
}

// cleared says in which blocks generations that were dropped are clear. In the others they count as empty.
//
//	block    0    1    2    3    4    5    6
//	       [ clear        ][   ][ clear ][   ]
//	                       └ next  └ a key was added
type cleared struct {
	next  uint64   // blocks before it are clear
	clear []uint64 // which of the others are: a bit for each
}

// has reports whether a block has keys that were dropped.
func (c *cleared) has(block uint64) bool {
	return block >= c.next && c.clear[block/64]>>(block%64)&1 == 0
}

// AdvanceLater is Advance for a window whose writers cannot wait until all of it is cleared: Sweep does that. It is for
// programs of this module.
func (w *Window) AdvanceLater(n uint64) {
	w.made()
	if n <= w.current || w.rotate {
		w.Advance(n)
		return
	}
	slots := uint64(0)
	for back := range min(n-w.current, uint64(w.ways())) {
		slot := w.slot(n - back)
		if w.counts[slot] > 0 { // else it is empty, or was dropped before
			slots |= 1 << slot
		}
		w.counts[slot] = 0
	}
	if w.current = n; slots == 0 {
		return
	}
	for i := range w.dropped { // generations that had keys again: all of their blocks are dropped now
		w.dropped[i].slots &^= slots
	}
	w.forget(func(d dropped) bool { return d.slots == 0 })
	w.dropped = append(w.dropped, dropped{slots, &cleared{clear: make([]uint64, (w.blocks()+63)/64)}})
}

// Sweep clears about so many words of what AdvanceLater has dropped, and reports whether there is more. It calls before
// with the words, from one up to another, that it is about to change. It is for programs of this module.
func (w *Window) Sweep(words int, before func(from, to int)) (more bool) {
	if len(w.dropped) == 0 {
		return false
	}
	from, each := w.blocks(), w.lineWords()*w.ways()
	for _, d := range w.dropped {
		from = min(from, d.next)
	}
	to := min(from+uint64(max(1, words/each)), w.blocks())
	before(int(from)*each, int(to)*each)
	for block := from; block < to; block++ {
		w.wipe(block)
	}
	for _, d := range w.dropped {
		d.next = max(d.next, to)
	}
	w.forget(func(d dropped) bool { return d.next == w.blocks() })
	return len(w.dropped) > 0
}

// Sweeping returns how much memory is needed to know what Sweep has to clear. It is for programs of this module.
func (w *Window) Sweeping() (bytes int) {
	for _, d := range w.dropped {
		bytes += 8 * len(d.clear)
	}
	return bytes
}

// forget forgets what is no longer to be cleared.
func (w *Window) forget(over func(dropped) bool) {
	if w.dropped = slices.DeleteFunc(w.dropped, over); len(w.dropped) == 0 {
		w.dropped = nil
	}
}

// finish clears all that was dropped.
func (w *Window) finish() {
	for more := true; more; {
		more = w.Sweep(len(w.words), func(int, int) {})
	}
}

// wipe clears a block in the generations that were dropped, if it is not clear.
func (w *window) wipe(block uint64) {
	for _, d := range w.dropped {
		if !d.has(block) {
			continue
		}
		d.clear[block/64] |= 1 << (block % 64)
		for slots := d.slots; slots != 0; slots &= slots - 1 {
			w.lines.ClearBlock(bits.TrailingZeros64(slots), block)
		}
	}
}

// kept has a bit for each slot in which a block is what it was, or clear.
func (w *window) kept(block uint64) uint64 {
	kept := ^uint64(0)
	for _, d := range w.dropped {
		if d.has(block) {
			kept &^= d.slots
		}
	}
	return kept
}

// whole returns the array as it is when all is cleared that was dropped: a copy if it is not.
func (w *window) whole() []uint64 {
	if w.dropped == nil {
		return w.words
	}
	words := slices.Clone(w.words)
	w.scrub(words, 0, w.dropped)
	return words
}

// scrub clears what was dropped in a copy of words, which begins with the one at from.
func (w *window) scrub(words []uint64, from int, all []dropped) {
	line := w.lineWords()
	each := line * w.ways()
	inside := func(at int) int { return min(max(at-from, 0), len(words)) }
	for block := from / each; block*each < from+len(words); block++ {
		for _, d := range all {
			if !d.has(uint64(block)) {
				continue
			}
			for slots := d.slots; slots != 0; slots &= slots - 1 {
				at := block*each + line*bits.TrailingZeros64(slots)
				clear(words[inside(at):inside(at+line)])
			}
		}
	}
}

// lineWords returns how many words a block has.
func (w *window) lineWords() int { return int(w.size.Shape.Layout.Unit() / 64) }

// blocks returns how many blocks a generation has.
func (w *window) blocks() uint64 { return w.size.Shape.Bits / w.size.Shape.Layout.Unit() }

// block returns the block of a hash in every generation, unless they rotate.
func (w *window) block(h uint64) uint64 {
	if w.size.Shape.Layout == sizing.Split {
		return kernel.SplitBlockOf(w.blocks(), h)
	}
	return kernel.BlockOf(w.blocks(), h)
}
