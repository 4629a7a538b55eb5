package cluster

// Clocks: whose is wrong, and what follows.

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// Clocks that differ by more than warnSkew are a problem; by more than refuseSkew
	// from those of a majority, the node takes no writes: deadlines would be wrong.
	warnSkew   = 500 * time.Millisecond
	refuseSkew = 10 * time.Second
)

// clockVerdict is what is known of the clock of this node.
type clockVerdict struct {
	ahead atomic.Int64 // Door.ahead when the verdict was given
	wrong atomic.Bool
}

var errClock = errors.New("cluster: the clock of this node differs by more than 10 s from those of most others")

// textDoubt is what an operator is told while nobody knows which clock is wrong.
const textDoubt = "clocks differ by more than 10 s, and too few nodes are up to know which is right: set them (NTP) before keys expire too early or too late"

// ahead is the clock of this node less Door.tick, in milliseconds. It changes only if
// somebody sets the clock.
func (d *Door) ahead() int64 { return d.config.Clock().UnixMilli() - d.tick().Milliseconds() }

// skew is the clock of another node less that of this one.
func (d *Door) skew(v *heard) time.Duration {
	return time.Duration(v.ahead-d.ahead()) * time.Millisecond
}

// wrongClock returns an error if the clock of this node differs from most others. It
// does not wait for their beats if the clock was set.
func (d *Door) wrongClock() error {
	c := &d.beats.clock
	set := d.ahead() - c.ahead.Load()
	if max(set, -set) > warnSkew.Milliseconds() {
		d.checkClock()
	}
	if c.wrong.Load() {
		return errClock
	}
	return nil
}

// fast returns by how much the clock of this node is ahead of most others, 0 if that
// is not worth a warning.
func (d *Door) fast() time.Duration {
	skews := []time.Duration{0}
	for _, v := range d.live() {
		skews = append(skews, d.skew(&v))
	}
	slices.Sort(skews)
	if ahead := -skews[(len(skews)-1)/2]; ahead > warnSkew {
		return ahead
	}
	return 0
}

// compareClocks returns how many nodes differ from this one by more than refuseSkew, how
// many do not, this one included, and how many there are, with those that are down.
func (d *Door) compareClocks() (differ, agree, members int) {
	agree = 1
	for _, v := range d.live() {
		if d.skew(&v).Abs() > refuseSkew {
			differ++
		} else {
			agree++
		}
	}
	r := d.state.Roster()
	for i := range r.Members {
		if !r.Members[i].Left {
			members++
		}
	}
	return differ, agree, members
}

// doubtful reports whether clocks differ, and nobody knows which is wrong: of two nodes
// that are left of three, each could convict the other.
func doubtful(differ, agree, members int) bool {
	return differ > 0 && 2*differ <= members && 2*agree <= members
}

// checkClock judges the clock of this node. A majority of all members convicts it, and
// acquits it; while there is none the last verdict stays.
func (d *Door) checkClock() {
	c := &d.beats.clock
	c.ahead.Store(d.ahead())
	differ, agree, members := d.compareClocks()
	switch {
	case 2*differ > members:
		c.wrong.Store(true)
	case 2*agree > members:
		c.wrong.Store(false)
	}
}
