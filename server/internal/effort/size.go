// Package effort says how many bytes the work on contents touches, from what is known of
// their arrays: the cost of commands follows from that.
package effort

import (
	"math"

	"github.com/bloomery/bloomery/bloom"
)

// Size is how many bytes the work on a name touches, from which the cost of commands
// follows. Bytes that are passed over one after the other count once. A processor waits
// for a cache line somewhere in a large array: it counts for 48 of them.
type Size struct {
	Bytes  uint64 // everything
	Item   uint64 // one item, asked for or added
	Change uint64 // what one that is added or deleted takes besides
	Search uint64 // what all that are added take to find room, at most
	Look   uint64 // what describes it: arrays of some parts, and samples of what is in them
	Arrays uint64 // the number of arrays
	Parts  uint64 // the number of parts
	Grown  uint64 // what adding items may rearrange, or write to new arrays
	Rows   uint64 // how often a sketch hashes an item
}

// Adding is what may be added and deleted before the work is done, and up to how many
// sub-filters a CF may have for it.
type Adding struct {
	Items   int
	Hashes  int // of the items: those whose hashes the client may have chosen
	Deletes int
	Seeks   int // that are looked for in all arrays
	Filters uint64
	Most    uint64 // no more is of interest, of what all items touch

	Before *bloom.Scalable // the filter whose growth was found out last, nil if it was of another kind
}

// Enough reports whether a size is beyond what is of interest.
func (a Adding) Enough(s *Size) bool {
	return a.Most > 0 && (s.Grown > a.Most || a.Items > 0 && s.Item > a.Most/uint64(a.Items))
}

const (
	// far is what a cache line of a large array counts for, near one of an array that
	// stays in the caches of a processor.
	far  = 48
	near = 6
	// nearBytes is up to which size an array stays there.
	nearBytes = 1 << 20
	// lookBytes is how much of an array is looked at to describe it, describedBytes what the text takes.
	lookBytes, describedBytes = 64 << 10, 2 << 10
	// The system clears a page of a new array when it is first written: that counts for twice its bytes.
	smallPage, hugePage = 4 << 10, 2 << 20
	// arrayBytes is what it takes to make an array.
	arrayBytes = 16 << 10
)

// mostSize is a size that nothing has.
const mostSize = math.MaxInt64 / 4

// lineIn is what a cache line of an array counts for.
func lineIn(bytes uint64) uint64 {
	if bytes <= nearBytes {
		return near
	}
	return far
}

// Max returns a size that is at least both.
func (s Size) Max(o Size) Size {
	return Size{
		max(s.Bytes, o.Bytes), max(s.Item, o.Item), max(s.Change, o.Change), max(s.Search, o.Search), max(s.Look, o.Look),
		max(s.Arrays, o.Arrays), max(s.Parts, o.Parts), max(s.Grown, o.Grown), max(s.Rows, o.Rows),
	}
}

// array adds an array whose lines an item touches so often.
func (s *Size) array(bytes, lines uint64) {
	s.Bytes = add(s.Bytes, bytes)
	s.Item = add(s.Item, lines*lineIn(bytes))
	s.Look = add(s.Look, min(bytes, lookBytes)+describedBytes)
	s.Arrays++
}

// LargeMade is from how many bytes on what is made lies on small pages at first. What is smaller has some 17 huge ones at most.
const LargeMade = 33 << 20

// Made is what items count for if each is written to, or looked for in, so many places of something new, of so many bytes.
func Made(bytes uint64, a Adding, places uint64) uint64 {
	if bytes < LargeMade {
		return cleared(bytes, uint64(a.Items), places, hugePage)
	}
	return Written(bytes, a, places)
}

// sought is what items count for that are looked for in so many places of new arrays on small pages: the first who
// reads a page has the system show an empty one there.
func sought(bytes, items, places uint64) uint64 {
	const shown = 2 << 10
	return min(bytes/smallPage, min(items, mostSize>>42)*min(places, 1<<16)) * shown
}

// Written is Made for arrays by which something grows.
func Written(bytes uint64, a Adding, places uint64) uint64 {
	return add(cleared(bytes, uint64(a.Items), places, smallPage), sought(bytes, uint64(a.Seeks), places))
}

func cleared(bytes, items, places, page uint64) uint64 {
	return 2 * min(add(bytes, smallPage), min(items, mostSize>>42)*min(places, 1<<16)*page)
}

// add adds without passing the largest number.
func add(a, b uint64) uint64 {
	return min(a, mostSize) + min(b, mostSize)
}

// With adds another part. An item is in one part, and all items may be chosen for that.
func (s *Size) With(part Size) {
	s.Item, s.Change, s.Search = max(s.Item, part.Item), max(s.Change, part.Change), max(s.Search, part.Search)
	s.Bytes, s.Look = add(s.Bytes, part.Bytes), max(s.Look, part.Look)
	s.Arrays, s.Grown, s.Rows = add(s.Arrays, part.Arrays), add(s.Grown, part.Grown), part.Rows
}

// InParts makes Look, that of the largest part, that of n: so many are looked at, all are
// glanced at.
func (s *Size) InParts(n, looked uint64) {
	const glance = 4 << 10
	if s.Parts = n; n > 1 {
		s.Look = add(min(n, looked)*s.Look, n*glance)
	}
}
