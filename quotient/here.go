package quotient

import (
	"math/bits"

	"github.com/bloomery/bloomery/sizing"
)

// insertHere inserts a new fingerprint if that is easy: its block has a slot
// free for it, and no counts before it in its run. Up to a load of 80% nearly
// all inserts are. It reports false, and changes nothing, for the rest.
func (t *table) insertHere(quotient, remainder uint64) bool {
	block, i := int(quotient/sizing.QuotientsPerBlock), quotient%sizing.QuotientsPerBlock
	ends, used, ok := t.room(block)
	if !ok {
		return false
	}
	occupied := t.occupied(block)
	offset := uint(t.offset(block))
	// All runs end in this block: see contains for how one of them is found.
	slot := int(offset) + nth(ends>>offset<<1|1, bits.OnesCount64(occupied&(1<<i-1)))
	end := true // the new slot ends its run
	if occupied>>i&1 != 0 {
		if slot, end, ok = t.slotIn(block, slot, ends, remainder); !ok {
			return false
		}
		if end {
			ends &^= 1 << uint(slot-1)
		}
	}
	low := uint64(1)<<uint(slot) - 1
	moved := ends&low | (ends&^low)<<1
	if end {
		moved |= low + 1
	}
	t.setEndBits(block, moved)
	t.setOccupied(block, occupied|1<<i)
	t.shiftUp(block, slot, used, remainder)
	return true
}

// room returns the end bits of a block and how many of its slots are in use. It
// reports false if all are.
func (t *table) room(block int) (ends uint64, used int, ok bool) {
	if block+1 < t.blocks && t.offset(block+1) != 0 {
		return 0, 0, false
	}
	ends = t.endBits(block)
	used = bits.Len64(ends)
	return ends, used, used < t.slots
}

// slotIn returns the slot where a remainder belongs in the run that begins in a
// slot of a block and ends in it, and whether that is behind the run. It reports
// false if the remainder is there, or if counts come before.
func (t *table) slotIn(block, slot int, ends, remainder uint64) (at int, end, ok bool) {
	for last, first := uint64(0), true; ; first = false {
		v := t.value(place{block, slot})
		switch {
		case v > remainder && (first || v > last):
			return slot, false, true
		case v == remainder || !first && v <= last:
			return 0, false, false
		}
		last = v
		slot++
		if ends>>uint(slot-1)&1 != 0 {
			return slot, true, true
		}
	}
}
