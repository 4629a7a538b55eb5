package store

// How far operations on quotient filters go, and how much that is.

import (
	"fmt"

	"github.com/bloomery/bloomery"
)

// reacher is a filter in which keys whose hashes were chosen make operations slow:
// see quotient.Filter.
type reacher interface {
	Reach() (run, stretch int)
	MaxReach(n int) (run, stretch int)
}

// composite is a filter of filters.
type composite interface{ Members() []bloomery.Hashed }

// eachMember calls yield for the filters that a filter consists of, or for itself.
func eachMember(f bloomery.Hashed, yield func(bloomery.Hashed)) {
	c, ok := f.(composite)
	if !ok {
		yield(f)
		return
	}
	for _, m := range c.Members() {
		eachMember(m, yield)
	}
}

// movedBlock is how many steps it takes to move a block, where looking at one, or
// comparing a slot, is one step: 7 nanoseconds.
const movedBlock = 4

// reachOf returns how many steps the slowest lookup and the slowest change of a filter
// take when so many items were added whose hashes may have been chosen. It is 0 for
// filters that have no such steps.
func reachOf(f bloomery.Hashed, items int) (lookup, change uint64) {
	eachMember(f, func(m bloomery.Hashed) {
		r, ok := m.(reacher)
		if !ok {
			return
		}
		run, stretch := r.Reach()
		if items > 0 {
			mostRun, mostStretch := r.MaxReach(items)
			run, stretch = max(run, mostRun), max(stretch, mostStretch)
		}
		lookup += uint64(run + stretch)
		change += uint64(run + movedBlock*stretch)
	})
	return lookup, change
}

// newReach is how many steps a change of a quotient filter takes that a record makes. It is nearly
// full, with longer stretches, only if it is small: each of the items counts so much. In a growing
// filter runs may be longer.
const (
	newReach        = 2 << 10
	newGrowingReach = 3 << 10
)

// CheckReach returns an error if the filter of a part was made of keys whose hashes are
// more alike than inserts allow: each command on it would take long.
func (p *Part) CheckReach() (err error) {
	p.look(true, func(c Contents) {
		f, ok := c.(*filter)
		if !ok {
			return
		}
		eachMember(f.f, func(m bloomery.Hashed) {
			r, ok := m.(reacher)
			if !ok || err != nil {
				return
			}
			run, stretch := r.Reach()
			if mostRun, mostStretch := r.MaxReach(0); run > mostRun || stretch > mostStretch {
				err = fmt.Errorf("the hashes of its keys are too much alike, which makes every command on it slow: a run of %d slots and %d blocks in a row without room, where at most %d and %d are taken",
					run, stretch, mostRun, mostStretch)
			}
		})
	})
	return err
}
