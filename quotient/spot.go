package quotient

// spot is what find knows of a fingerprint.
type spot struct {
	entry        // the one found, or the one before which it belongs
	block int    // of its quotient
	found bool   // the entry is that of the fingerprint
	run   bool   // its quotient has a run
	tail  bool   // it belongs behind the entry, which is the last of its run
	alone bool   // the entry begins its run
	prev  place  // the slot before the entry, if it does not
	start place  // of its run, if there is one
	bit   uint64 // of the quotient in its block
}

// find looks for a fingerprint.
func (t *table) find(quotient, remainder uint64) spot {
	s := spot{block: int(quotient / 64), bit: 1 << (quotient % 64), alone: true}
	var p place
	if p, s.run = t.start(quotient); !s.run || p.block >= t.blocks {
		s.first, s.run = p, s.run && p.block < t.blocks
		return s
	}
	s.start = p
	for {
		s.entry = t.entryAt(p)
		if s.value >= remainder {
			s.found = s.value == remainder
			return s
		}
		if s.end {
			s.tail = true
			return s
		}
		if p = t.next(s.last); p.block >= t.blocks {
			s.tail = true
			return s
		}
		s.alone, s.prev = false, s.last
	}
}

// insert adds an occurrence of the fingerprint that s is the spot of, if it
// takes no more than room slots. It returns how many it took; false, and
// nothing changed, if it did not fit or would reach too far.
func (t *table) insert(s spot, remainder uint64, room uint64) (int, bool) {
	if s.found {
		return t.recount(s, s.count+1, room)
	}
	if room < 1 {
		return 0, false
	}
	last, ok := t.reaches(s.block, 1)
	if !ok {
		return 0, false
	}
	if !s.run {
		t.insertSlot(s.block, last, s.first, remainder, true)
		t.setOccupied(s.block, t.occupied(s.block)|s.bit)
		return 1, true
	}
	if !s.tail {
		t.insertSlot(s.block, last, s.first, remainder, false)
		return 1, true
	}
	// Behind the last slot of the run: its value goes to a new one before it,
	// and so its end bit stays where the run ends.
	t.insertSlot(s.block, last, s.last, t.value(s.last), false)
	t.set(t.next(s.last), remainder)
	return 1, true
}

// recount gives the entry that was found another count, at least 1. It returns
// how many more slots it takes now; false, and nothing changed, if these are
// more than there is room for.
func (t *table) recount(s spot, count, room uint64) (int, bool) {
	c := t.encode(s.value, count)
	more := c.length - s.length
	if more > 0 {
		if uint64(more) > room {
			return 0, false
		}
		if _, ok := t.reaches(s.block, more); !ok {
			return 0, false
		}
	}
	// Slots come and go at the start of the entry: its end stays as it is.
	for range more {
		last, _ := t.free(s.block, 1)
		t.insertSlot(s.block, last, s.first, 0, false)
	}
	for range -more {
		t.removeSlot(s.block, s.first)
	}
	p := s.first
	for _, v := range c.slots[:c.length] {
		t.set(p, v)
		p = t.next(p)
	}
	return more, true
}

// remove takes out one occurrence of the entry that was found. It returns how
// many slots that set free.
func (t *table) remove(s spot) int {
	if s.count > 1 {
		more, _ := t.recount(s, s.count-1, 0) // never takes more slots
		return -more
	}
	if s.end && !s.alone {
		// The slot before becomes the end of the run.
		t.set(s.first, t.value(s.prev))
		t.removeSlot(s.block, s.prev)
		return 1
	}
	if s.end {
		t.setOccupied(s.block, t.occupied(s.block)&^s.bit)
	}
	t.removeSlot(s.block, s.first)
	return 1
}
