package redisbloom

// Compact moves items from newer to older sub-filters and drops the newest
// ones when they are empty. It visits every slot and, for every item it moves,
// the older sub-filters.
func (c *Cuckoo) Compact() {
	c.mustBeMade()
	c.sweep = nil
	c.compact(false)
}

// compact is Compact; with stop it ends at the first sub-filter that it cannot
// empty.
func (c *Cuckoo) compact(stop bool) {
	c.full.clear()
	for x := len(c.subs) - 1; x > 0; x-- {
		kept, _ := c.pour(x, 0, len(c.subs[x].data))
		if kept < 0 && x == len(c.subs)-1 {
			c.dropNewest()
		}
		if kept >= 0 && stop {
			break
		}
	}
	c.full.clear() // pour kept its own there
	c.compacted()
}

// compacted ends a compaction.
func (c *Cuckoo) compacted() {
	if len(c.subs) < fullFrom {
		c.full = nil
	}
	c.deletes = 0
}

// dropNewest drops the newest sub-filter.
func (c *Cuckoo) dropNewest() {
	x := len(c.subs) - 1
	data := c.subs[x].data
	c.slots -= uint64(len(data))
	if !c.frozen.keeps(x, data) {
		c.memory.Release(data)
	}
	c.subs[x] = sub{}
	c.subs = c.subs[:x]
}

// pour moves what it can from the slots of sub-filter x to older ones, the first
// of them first. It returns the last slot whose item has to stay, or -1, and whether it
// has moved anything.
func (c *Cuckoo) pour(x, from, to int) (kept int, moved bool) {
	kept = -1
	size := int(c.bucket)
	for i, fp := range c.subs[x].data[from:to] {
		if fp == 0 {
			continue
		}
		slot := from + i
		k, free := c.older(x, uint64(slot/size), fp)
		if k < 0 {
			kept = slot
			continue
		}
		c.put(k, free, fp)
		c.put(x, slot, 0)
		moved = true
	}
	return kept, moved
}

// older returns the first free slot for an item of bucket b of sub-filter x in
// the sub-filters before it, or k = -1.
func (c *Cuckoo) older(x int, b uint64, fp byte) (k, slot int) {
	b2 := other(b, fp)
	size := int(c.bucket)
	var n uint64
	var i, j int
	// Older sub-filters only get fuller while x runs down, so what has no
	// room now is not asked again for an item of the same bucket.
	item := b<<8 | uint64(fp)
	for k := c.full.filters(item); k < x; k++ {
		s := &c.subs[k]
		if s.n != n {
			n, i, j = s.n, s.at(b, size), s.at(b2, size)
		}
		if slot := search(s.data, i, j, size, 0); slot >= 0 {
			c.full.set(item, k)
			return k, slot
		}
	}
	c.full.set(item, x)
	return -1, 0
}

// Place is where a compaction in pieces goes on: a slot of a sub-filter, counted
// from 0.
type Place struct{ Filter, Slot uint64 }

// CompactFrom returns where a compaction in pieces begins.
func (c *Cuckoo) CompactFrom() Place { return Place{Filter: uint64(max(1, len(c.subs)) - 1)} }

// CompactSlots returns how many slots a piece at that place may have, so that it takes
// about as many steps: each asks a sub-filter for room, or passes over 16 slots. It is
// at least 1.
func (c *Cuckoo) CompactSlots(at Place, steps uint64) uint64 {
	n, left := uint64(0), 16*steps
	if at.Filter < uint64(len(c.subs)) {
		data := c.subs[at.Filter].data
		for _, fp := range data[min(at.Slot, uint64(len(data))):] {
			cost := uint64(1)
			if fp != 0 {
				cost += 16 * at.Filter * BucketSteps(c.bucket)
			}
			if cost > left {
				break
			}
			n, left = n+1, left-cost
		}
	}
	return max(1, n)
}

// CompactPiece does a part of [Cuckoo.Compact]: at most n slots of one
// sub-filter. It returns where the next piece goes on, and whether anything has
// changed; with Filter 0 there is no more to do. Pieces that follow each other
// with nothing in between do what Compact does. The filter may be changed between
// two pieces: what is inserted meanwhile stays, though it may not be moved.
func (c *Cuckoo) CompactPiece(at Place, n uint64) (next Place, changed bool) {
	c.mustBeMade()
	filters, deletes := len(c.subs), c.deletes
	if at.Filter >= uint64(filters) { // dropped meanwhile
		at = c.CompactFrom()
	}
	if at.Filter == 0 {
		c.sweep = nil
		c.compacted()
		return Place{}, deletes != 0
	}
	x, size := int(at.Filter), uint64(len(c.subs[at.Filter].data))
	from := min(at.Slot, size)
	to := from + min(n, size-from)
	s := c.sweeping(x, int(from))
	kept, moved := c.sweepPour(s, x, int(from), int(to))
	if kept >= 0 {
		s.clean, s.kept = false, kept
	}
	if s.clean {
		s.upTo = int(to)
	}
	if to < size {
		return Place{at.Filter, to}, moved
	}
	if x == filters-1 && s.empties(c.subs[x].data) {
		c.dropNewest()
		moved = true
	}
	if x > 1 {
		return Place{Filter: at.Filter - 1}, moved
	}
	c.sweep = nil
	c.compacted()
	return Place{}, moved || deletes != 0
}

// sweepPour is pour of a piece. Inserts do not use what s remembers: it is about
// other items than theirs.
func (c *Cuckoo) sweepPour(s *sweep, x, from, to int) (kept int, moved bool) {
	full := c.full
	c.full, c.sweep = s.full, nil
	kept, moved = c.pour(x, from, to)
	c.full, c.sweep = full, s
	if moved {
		c.full.clear()
	}
	return kept, moved
}

// sweep is what a compaction in pieces remembers from one piece to the next. It
// saves time and changes no result: without it, a piece looks again.
type sweep struct {
	filter int  // the sub-filter that is being emptied
	upTo   int  // its slots before this one
	clean  bool // are empty
	kept   int  // if not: one that was not, when it was last looked at, or -1
	full   *fullTable
}

// sweeping returns what is known at a slot of sub-filter x.
func (c *Cuckoo) sweeping(x, slot int) *sweep {
	s := c.sweep
	if s == nil {
		s = &sweep{}
		if len(c.subs) >= fullFrom {
			s.full = new(fullTable)
		}
		c.sweep = s
	}
	if slot == 0 {
		if x > s.filter {
			s.full.clear() // begun again: older ones are not only fuller
		}
		s.filter, s.upTo, s.clean, s.kept = x, 0, true, -1
	}
	if s.filter != x || s.upTo != slot {
		s.full.clear()
		if s.filter != x {
			s.kept = -1
		}
		s.filter, s.upTo, s.clean = x, slot, false
	}
	return s
}

// note notes that slot of sub-filter k becomes v.
func (s *sweep) note(k, slot int, v byte) {
	switch {
	case v == 0:
		s.full.clear() // there is room again
	case k == s.filter && slot < s.upTo:
		s.clean, s.kept = false, slot
	}
}

// empties reports whether all slots of the sub-filter that was swept are empty. It reads
// them all only if the one that it remembers was emptied since.
func (s *sweep) empties(data []byte) bool {
	return s.clean || (s.kept < 0 || s.kept >= len(data) || data[s.kept] == 0) && isZero(data)
}

// isZero reports whether all bytes are 0.
func isZero(b []byte) bool {
	for len(b) >= len(zeros) {
		if string(b[:len(zeros)]) != string(zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return string(b) == string(zeros[:len(b)])
}

var zeros [4096]byte
