// Package routes sorts items by the part of a filter that they belong to.
package routes

import (
	"slices"

	"github.com/bloomery/bloomery"
)

// Table is items sorted by the part that their hashes name. The zero value is ready to
// use; Sort uses its memory again.
type Table struct {
	Part   []uint16 // of every item
	Used   []uint16 // the parts that have items, in order
	Place  []int    // of every item among the sorted
	Hashes []uint64 // sorted
	Bools  []bool   // answers for the sorted, for others to fill in

	from []int // where the items of a part begin, of those in use
	to   []int // and end
}

// Sort sorts hashes by their part of 2^log. The order within a part stays. It takes time
// by the number of hashes, not of parts: most calls have few items.
func (t *Table) Sort(hashes []uint64, log uint) {
	n := len(hashes)
	t.Part, t.Place = Resize(t.Part, n), Resize(t.Place, n)
	t.Hashes, t.Bools = Resize(t.Hashes, n), Resize(t.Bools, n)
	t.Used, t.from, t.to = t.Used[:0], Resize(t.from, 1<<log), Resize(t.to, 1<<log)
	if n < 1<<log {
		t.countFew(hashes, log)
	} else {
		t.countMany(hashes, log)
	}
	at := 0
	for _, p := range t.Used {
		items := t.to[p]
		t.from[p], t.to[p] = at, at
		at += items
	}
	for i, h := range hashes {
		at := t.to[t.Part[i]]
		t.to[t.Part[i]]++
		t.Place[i], t.Hashes[at] = at, h
	}
}

// countFew counts the hashes of each part that has some, in time by their number.
func (t *Table) countFew(hashes []uint64, log uint) {
	for i, h := range hashes {
		p := uint16(bloomery.Route(h, log))
		t.Part[i], t.to[p] = p, 0
	}
	for _, p := range t.Part {
		if t.to[p] == 0 {
			t.Used = append(t.Used, p)
		}
		t.to[p]++
	}
	slices.Sort(t.Used)
}

// countMany is countFew where that takes longer than to look at every part.
func (t *Table) countMany(hashes []uint64, log uint) {
	clear(t.to)
	for i, h := range hashes {
		p := uint16(bloomery.Route(h, log))
		t.Part[i] = p
		t.to[p]++
	}
	for p, n := range t.to {
		if n > 0 {
			t.Used = append(t.Used, uint16(p))
		}
	}
}

// Of returns where the items of a part that has some are among the sorted.
func (t *Table) Of(part int) (from, to int) { return t.from[part], t.to[part] }

// Resize returns a slice of n elements, in the memory of s if that is large enough.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
