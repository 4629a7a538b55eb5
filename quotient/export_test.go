package quotient

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery/sizing"
)

// Nth, Saturated and Check are for tests of what cannot be seen from outside.
var Nth = nth

// Check returns an error if the array of f is not that of a multiset with the
// totals that f knows.
func Check(f *Filter) error { return f.verify() }

// Saturated returns how many blocks of f have an offset that does not fit.
func Saturated(f *Filter) (n int) {
	for b := range f.blocks {
		if f.offset(b) == saturated {
			n++
		}
	}
	return n
}

// Force inserts a hash however far that reaches.
func Force(f *Filter, h uint64) error {
	quotient, remainder := f.split(h)
	s := f.find(quotient, remainder)
	f.bound = math.MaxInt
	slots, ok := f.insert(s, remainder, f.shape.Limit()-f.used)
	if !ok {
		return f.full()
	}
	f.used += uint64(slots)
	f.items++
	if s.found {
		f.counts = true
	} else {
		f.distinct++
	}
	f.reach = f.measured()
	return nil
}

// Stretches returns how many blocks run over in a row, for every such row.
func Stretches(f *Filter) (list []int) {
	n := 0
	for b := range f.blocks {
		if f.offset(b) != 0 {
			n++
		} else if n > 0 {
			list = append(list, n)
			n = 0
		}
	}
	return list
}

// Split returns quotient and remainder of a hash in f.
func Split(f *Filter, h uint64) (quotient, remainder uint64) { return f.split(h) }

// GrowingOf returns a Growing for n keys with a plan of the test's own.
func GrowingOf(n int, plan sizing.Growing) *Growing {
	g := &Growing{segments{plan: plan, capacity: uint64(n), rate: min(plan.Rate(sizing.MaxGrowth), 0.99)}}
	g.start()
	return g
}

// GrowingBits returns the bits of address and fingerprint that a key with hash h
// gets when it is inserted now.
func GrowingBits(g *Growing, h uint64) int {
	s := g.at(h)
	return s.address + int(s.width) - 1
}

// Code is elderCode.
var Code = elderCode

// CheckGrowing returns an error if g is not the filter of a multiset, or if its
// sums are not those of its segments.
func CheckGrowing(g *Growing) error {
	c := g.clone()
	if err := c.verify(); err != nil {
		return err
	}
	for s := range g.each {
		if got := c.at(s.prefix); got.totals != s.totals || got.mass != s.mass || got.counts != s.counts {
			return fmt.Errorf("segment %#x: %+v, should be %+v", s.prefix, s.totals, got.totals)
		}
	}
	return nil
}

// GrowingSegments returns how many segments of a filter are others after do, and were of a size that
// takes time to copy.
func GrowingSegments(g *Growing, do func()) (n int) {
	before := map[*segment]bool{}
	for s := range g.each {
		before[s] = s.limit > fewKeys
	}
	do()
	for s := range g.each {
		delete(before, s)
	}
	for _, large := range before {
		if large {
			n++
		}
	}
	return n
}

// Segments returns how many segments g has, the most keys in one of them, and
// how many elders there are.
func Segments(g *Growing) (segments, most, elders uint64) {
	for s := range g.each {
		segments++
		most = max(most, s.distinct)
	}
	return segments, most, uint64(g.elders.size)
}

// Directory returns the entries of g's directory.
func Directory(g *Growing) int { return len(g.dir) }
