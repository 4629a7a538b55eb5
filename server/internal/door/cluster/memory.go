package cluster

// Memory of all nodes: what the fullest of them leaves.

import (
	"math"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// What a record takes, it takes on every node that holds its lane, and no node can
// refuse it when it is applied. So the smallest headroom of all counts when it is
// prepared. That is known from beats, up to a second old: memory is a soft limit.

// measure notes the smallest headroom of the other nodes that are live.
func (d *Door) measure() {
	least := uint64(math.MaxUint64)
	for _, v := range d.live() {
		least = min(least, v.headroom)
	}
	d.beats.full.Store(^least)
}

// fits reports whether every other node has room for n bytes more.
func (d *Door) fits(n uint64) bool { return n <= ^d.beats.full.Load() }

// admitAll is Admit for this node and all others.
func (d *Door) admitAll(admit door.Admitter, p *store.Part, ops []*door.Op) (aside uint64, ok bool) {
	aside, ok = admit.Admit(p, ops)
	if ok && !d.fits(aside) {
		admit.Settle(aside)
		return 0, false
	}
	return aside, ok
}
