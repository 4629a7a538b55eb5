package quotient

import "math/bits"

// insertSlot puts a new slot with a value and an end bit at p, for an entry of
// a quotient of the given block, and moves what is behind it by one slot, up to
// the first one that is not in use, which is in block last.
func (t *table) insertSlot(block, last int, p place, v uint64, end bool) {
	for b, slot := p.block, p.slot; ; b, slot = b+1, 0 {
		ends := t.endBits(b)
		low := uint64(1)<<uint(slot) - 1
		moved := ends&low | (ends&^low)<<1
		if end {
			moved |= low + 1
		}
		t.setEndBits(b, moved&t.ends)
		if b == last {
			t.shiftUp(b, slot, bits.Len64(ends), v)
			break
		}
		top := t.value(place{b, t.slots - 1})
		end = ends>>uint(t.slots-1) != 0
		t.shiftUp(b, slot, t.slots-1, v)
		v = top
	}
	for b := block + 1; b <= last; b++ {
		if at := b * t.size; t.data[at] != saturated {
			t.data[at]++
		}
	}
}

// free returns the block of the n-th slot that is not in use behind the entries
// of a block. It reports false if there are not so many.
func (t *table) free(block, n int) (last int, ok bool) {
	for ; block < t.blocks; block++ {
		if block+1 == t.blocks || t.offset(block+1) == 0 {
			if n -= t.slots - bits.Len64(t.endBits(block)); n <= 0 {
				return block, true
			}
		}
	}
	return block, false
}

// removeSlot takes out the slot p, which is of an entry of a quotient of the
// given block, and moves what is behind it back by one slot, as far as it was
// moved by what is before it.
func (t *table) removeSlot(block int, p place) {
	last := block
	for last+1 < t.blocks && t.offset(last+1) != 0 {
		last++
	}
	for b, slot := p.block, p.slot; b <= last; b, slot = b+1, 0 {
		ends := t.endBits(b)
		low := uint64(1)<<uint(slot) - 1
		moved := ends&low | ends>>1&^low
		if b == last {
			t.setEndBits(b, moved)
			t.shiftDown(b, slot, bits.Len64(ends)-1, 0)
			break
		}
		first := place{b + 1, 0}
		if t.isEnd(first) {
			moved |= 1 << uint(t.slots-1)
		}
		t.setEndBits(b, moved)
		t.shiftDown(b, slot, t.slots-1, t.value(first))
	}
	t.lowerOffsets(block, last)
}

// lowerOffsets takes one from the offsets of the blocks behind block, up to
// last. If one of them is saturated they are all found anew, in one walk.
func (t *table) lowerOffsets(block, last int) {
	known := true
	for b := block + 1; b <= last; b++ {
		at := b * t.size
		if t.data[at] == saturated {
			known = false
			break
		}
		t.data[at]--
	}
	if known {
		return
	}
	p := t.begin(block)
	for b := block; b < last; b++ {
		p = t.after(p, b)
		t.setOffset(b+1, t.offsetOf(b+1, p))
	}
}

// shiftUp moves the remainders of a block from slot from on up by one slot, the
// last one to slot last, and puts v into slot from. It goes from word to word with the bits that one
// leaves to the next in a register.
func (t *table) shiftUp(block, from, last int, v uint64) {
	at, shift := t.bit(block, from)
	left := shift + uint(last-from+1)*t.width // bits from the first byte on
	low := uint64(1)<<shift - 1
	old := load(t.data, at)
	x := old&low | v<<shift | (old&^low)<<t.width
	carry := old >> (64 - t.width)
	for left > 64 {
		store(t.data, at, x)
		left -= 64
		at += 8
		old = load(t.data, at)
		x = old<<t.width | carry
		carry = old >> (64 - t.width)
	}
	keep := ^uint64(0) << (left - 1) << 1
	store(t.data, at, x&^keep|old&keep)
}

// shiftDown moves the remainders behind slot from of a block down by one slot,
// up to slot last, and puts v into that.
func (t *table) shiftDown(block, from, last int, v uint64) {
	at, shift := t.bit(block, from)
	left := shift + uint(last-from)*t.width
	keep := uint64(1)<<shift - 1
	old := load(t.data, at)
	for left > 64 {
		next := load(t.data, at+8)
		store(t.data, at, old&keep|(old>>t.width|next<<(64-t.width))&^keep)
		keep, old = 0, next
		left -= 64
		at += 8
	}
	if left > 0 {
		keep |= ^uint64(0) << (left - 1) << 1
		next := load(t.data, at+8)
		store(t.data, at, old&keep|(old>>t.width|next<<(64-t.width))&^keep)
	}
	t.set(place{block, last}, v)
}
