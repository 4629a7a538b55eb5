package quotient

// maxCount is how many occurrences of one key can be counted.
const maxCount uint64 = 1<<32 - 1

// How often a fingerprint is there is told by the order of its run, in which
// remainders rise. With x for a remainder of 4 bits or more:
//
//	x      once
//	xx     twice
//	xxy    3 + y times, if y < x
//	xxxd…  3 + x times and what the digits d… say
//
// So a count takes no more slots than occurrences, but for one of exactly 3 of
// the remainder 0. Narrower remainders, which often are equal by chance, are
// repeated up to 8 times; after 9 digits follow, which say how many more there
// are. More occurrences never take fewer slots.
//
// A digit is one slot, or as many as have 4 bits; its highest bit shows that
// another one follows, which is 2^(bits-1) times as much worth. The last digit
// is not zero, unless it is the only one: a count has one form.
const (
	digitBits = 4
	repeats   = 9
)

// entry is a fingerprint in a run.
type entry struct {
	value  uint64
	count  uint64
	first  place
	last   place
	length int  // slots
	end    bool // it is the last one of its run
	bad    bool // the run ends before it, or its count is not in its one form
}

// entryAt returns the entry that begins at p, which is in the table.
func (t *table) entryAt(p place) entry {
	e := entry{value: t.value(p), count: 1, first: p, last: p, length: 1}
	if e.end = t.isEnd(p); e.end || !t.counts {
		return e
	}
	if t.width < digitBits {
		t.repeated(&e)
	} else {
		t.coded(&e)
	}
	e.bad = e.bad || e.count > maxCount
	return e
}

// repeated counts the slots of e with a narrow remainder.
func (t *table) repeated(e *entry) {
	for e.count < repeats {
		if e.end || !t.extend(e, e.value, e.value) {
			return
		}
		e.count++
	}
	e.count += t.digits(e)
}

// coded reads the count of e from the slots behind its first.
func (t *table) coded(e *entry) {
	if !t.extend(e, e.value, e.value) {
		return
	}
	e.count = 2
	if e.end || !t.extend(e, 0, e.value) {
		return
	}
	y := t.value(e.last)
	e.count = 3 + y
	if y == e.value {
		e.count += t.digits(e)
	}
}

// extend makes the slot behind e a part of it if its value is between low and
// high.
func (t *table) extend(e *entry, low, high uint64) bool {
	p := t.next(e.last)
	if p.block >= t.blocks {
		e.end, e.bad = true, true
		return false
	}
	if v := t.value(p); v < low || v > high {
		return false
	}
	e.last = p
	e.length++
	e.end = t.isEnd(p)
	return true
}

// digitSlots returns how many slots a digit takes.
func (t *table) digitSlots() int {
	return int((digitBits - 1 + t.width) / t.width)
}

// digits returns the number that the digits behind e mean, and makes them a
// part of it.
func (t *table) digits(e *entry) (n uint64) {
	slots := t.digitSlots()
	worth := uint(slots)*t.width - 1
	for shift := uint(0); ; shift += worth {
		digit := uint64(0)
		for i := range slots {
			if e.end || shift > 32 || !t.extend(e, 0, t.mask) {
				e.bad = true
				return n
			}
			digit |= t.value(e.last) << (uint(i) * t.width)
		}
		more := digit >> worth
		digit &^= more << worth
		if digit > maxCount>>shift {
			e.bad = true
			return n
		}
		n += digit << shift
		if more == 0 {
			e.bad = e.bad || digit == 0 && shift > 0
			return n
		}
	}
}

// maxEntry is how many slots an entry takes at most: those of 11 digits of 4
// slots each behind its repeats.
const maxEntry = repeats + 11*4

// coding is an entry as it lies in its slots.
type coding struct {
	slots  [maxEntry]uint64
	length int
}

func (c *coding) append(v uint64) {
	c.slots[c.length] = v
	c.length++
}

// encode returns the slots of a remainder that is there count times.
func (t *table) encode(value, count uint64) (c coding) {
	if t.width < digitBits {
		for range min(count, repeats) {
			c.append(value)
		}
		if count >= repeats {
			t.appendDigits(&c, count-repeats)
		}
		return c
	}
	c.append(value)
	if count > 1 {
		c.append(value)
	}
	switch n := count - 3; {
	case count < 3:
	case n < value:
		c.append(n)
	default:
		c.append(value)
		t.appendDigits(&c, n-value)
	}
	return c
}

// appendDigits appends n as digits.
func (t *table) appendDigits(c *coding, n uint64) {
	slots := t.digitSlots()
	worth := uint(slots)*t.width - 1
	for more := true; more; {
		digit := n & (1<<worth - 1)
		n >>= worth
		if more = n > 0; more {
			digit |= 1 << worth
		}
		for range slots {
			c.append(digit & t.mask)
			digit >>= t.width
		}
	}
}
