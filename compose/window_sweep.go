package compose

import (
	"slices"

	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// dropped is generations that a window has dropped, and not cleared everywhere yet. A block that is not clear
// counts as empty in them.
//
//	block    0    1    2    3    4    5    6
//	       [ clear        ][   ][ clear ][   ]
//	                       └ next  └ a key was added
type dropped struct {
	slots uint64   // a bit for each
	next  uint64   // blocks before it are clear
	clear []uint64 // which of the others are: a bit for each
}

// has reports whether a block has keys that were dropped.
func (d *dropped) has(block uint64) bool {
	return block >= d.next && d.clear[block/64]>>(block%64)&1 == 0
}

// AdvanceLater is Advance for a window whose writers cannot wait until all of it is cleared: Sweep does that. It is for
// programs of this module.
func (w *Window) AdvanceLater(n uint64) {
	w.made()
	w.finish()
	if n <= w.current || w.rotate {
		w.Advance(n)
		return
	}
	d := &dropped{clear: make([]uint64, (w.blocks()+63)/64)}
	for back := range min(n-w.current, uint64(w.ways())) {
		slot := w.slot(n - back)
		if w.counts[slot] > 0 {
			d.slots |= 1 << slot
		}
		w.counts[slot] = 0
	}
	if w.current = n; d.slots != 0 {
		w.dropped = d
	}
}

// Sweep clears about so many words of what AdvanceLater has dropped, and reports whether there is more. It calls before
// with the words, from one up to another, that it is about to change. It is for programs of this module.
func (w *Window) Sweep(words int, before func(from, to int)) (more bool) {
	d := w.dropped
	if d == nil {
		return false
	}
	each := len(w.words) / int(w.blocks()) // of a block in all generations
	to := min(d.next+uint64(max(1, words/each)), w.blocks())
	before(int(d.next)*each, int(to)*each)
	for ; d.next < to; d.next++ {
		w.wipe(d.next)
	}
	if to < w.blocks() {
		return true
	}
	w.dropped = nil
	return false
}

// finish clears all that was dropped.
func (w *Window) finish() { w.Sweep(len(w.words), func(int, int) {}) }

// wipe clears a block in the generations that were dropped, if it is not clear.
func (w *window) wipe(block uint64) {
	d := w.dropped
	if !d.has(block) {
		return
	}
	d.clear[block/64] |= 1 << (block % 64)
	for slot := range w.ways() {
		if d.slots>>slot&1 != 0 {
			w.lines.ClearBlock(slot, block)
		}
	}
}

// kept has a bit for each slot in which a block is what it was, or clear.
func (w *window) kept(block uint64) uint64 {
	if w.dropped != nil && w.dropped.has(block) {
		return ^w.dropped.slots
	}
	return ^uint64(0)
}

// whole returns the array as it is when all is cleared that was dropped: a copy if it is not.
func (w *window) whole() []uint64 {
	if w.dropped == nil {
		return w.words
	}
	c := Window{*w}
	c.dropped = &dropped{w.dropped.slots, w.dropped.next, slices.Clone(w.dropped.clear)}
	c.attach(slices.Clone(w.words))
	c.finish()
	return c.words
}

// blocks returns how many blocks a generation has.
func (w *window) blocks() uint64 { return w.size.Shape.Bits / w.size.Shape.Layout.Unit() }

// block returns the block of a hash in every generation, unless they rotate.
func (w *window) block(h uint64) uint64 {
	if w.size.Shape.Layout == sizing.Split {
		return kernel.SplitBlockOf(w.blocks(), h)
	}
	return kernel.BlockOf(w.blocks(), h)
}
