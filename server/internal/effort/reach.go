package effort

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

// EachMember calls yield for the filters that a filter consists of, or for itself.
func EachMember(f bloomery.Hashed, yield func(bloomery.Hashed)) {
	c, ok := f.(composite)
	if !ok {
		yield(f)
		return
	}
	for _, m := range c.Members() {
		EachMember(m, yield)
	}
}

// MovedBlock is how many steps it takes to move a block, where looking at one, or
// comparing a slot, is one step: 7 nanoseconds.
const MovedBlock = 4

// Reach returns how many steps the slowest lookup and the slowest change of a filter
// take when so many items were added whose hashes may have been chosen. It is 0 for
// filters that have no such steps.
func Reach(f bloomery.Hashed, items int) (lookup, change uint64) {
	EachMember(f, func(m bloomery.Hashed) {
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
		change += uint64(run + MovedBlock*stretch)
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

// CheckReach returns an error if a filter was made of keys whose hashes are more alike than
// inserts allow: each command on it would take long.
func CheckReach(f bloomery.Hashed) (err error) {
	EachMember(f, func(m bloomery.Hashed) {
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
	return err
}
