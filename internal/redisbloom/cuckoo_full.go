package redisbloom

const (
	fullFrom  = 32   // sub-filters from which on a filter keeps a fullTable
	fullBytes = 4096 // of memory, for a fullTable; a test holds it
)

// fullTable remembers for some items how many of the oldest sub-filters have no
// room for them. An item that is inserted over and over fills its two buckets
// in every sub-filter; without this each of its inserts would look at all of
// them again. It changes no answer: only deletes make room, and they clear it.
type fullTable [256]struct{ item, filters uint64 }

func (t *fullTable) slot(item uint64) *struct{ item, filters uint64 } {
	return &t[item*0x9e3779b97f4a7c15>>56]
}

// filters returns how many of the oldest sub-filters need not be asked.
func (t *fullTable) filters(item uint64) int {
	if t == nil {
		return 0
	}
	if s := t.slot(item); s.item == item {
		return int(s.filters)
	}
	return 0
}

// set remembers that the n oldest sub-filters have no room for item.
func (t *fullTable) set(item uint64, n int) {
	if t != nil {
		*t.slot(item) = struct{ item, filters uint64 }{item, uint64(n)}
	}
}

func (t *fullTable) clear() {
	if t != nil {
		clear(t[:])
	}
}

// overhead returns the memory of a filter without its slots.
func overhead(filters uint64) uint64 {
	n := cuckooBytes + filters*subBytes
	if filters >= fullFrom {
		n += fullBytes
	}
	return n
}
