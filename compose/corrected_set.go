package compose

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/bloomery/bloomery"
)

// The words of a table that are no hashes: a free place, and one whose hash was taken
// out. Hashes of these values are not reported.
const (
	free    = 0
	removed = 1
)

// leastSlots is the size of a table that begins.
const leastSlots = 16

// reported is a half of the reports: a table, or a run of bytes in a file.
type reported interface {
	has(h uint64) bool
	len() int
	// appendTo appends the hashes in any order.
	appendTo(dst []uint64) []uint64
	bytes() int
}

// reportSet is all reports. New ones go to the younger half.
type reportSet struct{ young, old reported }

func (r *reportSet) has(h uint64) bool { return r.young.has(h) || r.old.has(h) }

func (r *reportSet) len() int { return r.young.len() + r.old.len() }

// table is a set of hashes with open addressing. Readers need no lock: a hash stays
// where it was put, and what is taken out leaves a mark. One writer at a time.
type table struct {
	slots []atomic.Uint64
	salt  uint64 // places chosen hashes as any others
	held  atomic.Int64
	taken int // slots that are not free
}

// newTable returns a table of so many slots.
func newTable(slots int) *table {
	return &table{slots: make([]atomic.Uint64, slots), salt: rand.Uint64()}
}

// tableOf returns a table of hashes that differ, as small as one that takes no more.
func tableOf(hashes []uint64) *table {
	t := newTable(max(leastSlots, (4*len(hashes)+2)/3))
	for _, h := range hashes {
		t.put(h)
	}
	return t
}

// full reports whether 3/4 of the slots are taken, so that probes stay short.
func (t *table) full() bool { return 4*(t.taken+1) > 3*len(t.slots) }

// grown returns the table with room for a hash more, without the marks of those that
// were taken out. It is another one: readers may be in the old one.
func (t *table) grown() *table {
	n := len(t.slots)
	if 8*(t.len()+1) > 5*n { // else the marks are enough for a while
		n += n / 10 // 11.8 bytes a hash at most; doubling would make it 21
	}
	more := newTable(n)
	for _, h := range t.appendTo(nil) {
		more.put(h)
	}
	return more
}

// from returns the first slot for h.
func (t *table) from(h uint64) int {
	hi, _ := bits.Mul64(bloomery.Salted(h, t.salt), uint64(len(t.slots)))
	return int(hi)
}

// find returns the slot of h, -1 if it is not there. A table is never full, so a
// free slot ends the search.
func (t *table) find(h uint64) int {
	for i := t.from(h); ; i++ {
		if i == len(t.slots) {
			i = 0
		}
		switch t.slots[i].Load() {
		case h:
			return i
		case free:
			return -1
		}
	}
}

func (t *table) has(h uint64) bool { return h > removed && t.find(h) >= 0 }

// put adds a hash that is not there to a table that is not full.
func (t *table) put(h uint64) {
	i := t.from(h)
	for t.slots[i].Load() > removed {
		if i++; i == len(t.slots) {
			i = 0
		}
	}
	if t.slots[i].Load() == free {
		t.taken++
	}
	t.slots[i].Store(h)
	t.held.Add(1)
}

// remove takes h out and reports whether it was there.
func (t *table) remove(h uint64) bool {
	i := t.find(h)
	if i < 0 {
		return false
	}
	t.slots[i].Store(removed)
	t.held.Add(-1)
	return true
}

func (t *table) len() int   { return int(t.held.Load()) }
func (t *table) bytes() int { return 8 * len(t.slots) }

func (t *table) appendTo(dst []uint64) []uint64 {
	for i := range t.slots {
		if h := t.slots[i].Load(); h > removed {
			dst = append(dst, h)
		}
	}
	return dst
}

// run is hashes in rising order where they lie in a file.
type run []byte

func (r run) at(i int) uint64 { return binary.LittleEndian.Uint64(r[8*i:]) }

func (r run) has(h uint64) bool {
	low, high := 0, r.len()
	for low < high {
		mid := int(uint(low+high) >> 1)
		if r.at(mid) < h {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < r.len() && r.at(low) == h
}

func (r run) len() int   { return len(r) / 8 }
func (r run) bytes() int { return 0 } // the file's

func (r run) appendTo(dst []uint64) []uint64 {
	for i := range r.len() {
		dst = append(dst, r.at(i))
	}
	return dst
}

// rising reports whether the hashes are different ones in rising order, all of which
// can be in a table.
func (r run) rising() bool {
	before := uint64(removed)
	for i := range r.len() {
		if r.at(i) <= before {
			return false
		}
		before = r.at(i)
	}
	return true
}

// sorted returns the hashes of a half in rising order.
func sorted(r reported) []uint64 {
	hs := r.appendTo(make([]uint64, 0, r.len()))
	slices.Sort(hs)
	return hs
}
