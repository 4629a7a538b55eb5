package cluster

// Memory of all nodes: what the fullest of them leaves.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// What a record takes, it takes on every node that has its part, and no node can
// refuse it when it is applied. So the smallest headroom of those counts when it is
// prepared. That is known from beats, up to a second old. Machines that are to have much of
// something new are asked to set memory aside: see Takers.

// measure notes the smallest headroom of the other nodes that are live.
func (d *Door) measure() {
	least := uint64(math.MaxUint64)
	for _, v := range d.live() {
		least = min(least, v.Headroom)
	}
	d.beats.full.Store(^least)
}

// fits reports whether every other node has room for n bytes more.
func (d *Door) fits(n uint64) bool { return n <= ^d.beats.full.Load() }

// lacksRoom returns why a record of the catalogue cannot be sent: a node has no room for what it is to have
// of it. It is nil if all have, or have set it aside.
func (d *Door) lacksRoom(r *store.Record, granted []uint32) error {
	if d.fits(r.Takes()) {
		return nil
	}
	if !r.Makes() || !d.state.Roster().Spread() && len(granted) == 0 {
		return door.ErrMemory
	}
	for _, v := range d.live() {
		if n := d.state.TakesAt(r, v.Node); n > v.Headroom && !slices.Contains(granted, v.Node) {
			m := d.state.Roster().Member(v.Node)
			return fmt.Errorf("%w: node %d (%s) is to hold %d bytes of it, and has room for %d", door.ErrMemory, v.Node, m.Addr, n, v.Headroom)
		}
	}
	return nil
}

// Takers implements door.Router. Nodes make a thousand filters a second or two: as many as take less than this
// share of what a node has left are no danger before the next beat.
func (d *Door) Takers(r *store.Record) []door.Taker {
	return d.takers(func(node uint32) uint64 { return d.state.TakesAt(r, node) })
}

// TakersOf implements door.Router.
func (d *Door) TakersOf(p *contents.Part, n uint64) []door.Taker {
	place := d.state.PlaceOf(p)
	return d.takers(func(node uint32) uint64 {
		if place != nil && place.Copy(node).Phase == 0 {
			return 0
		}
		return n
	})
}

// takers returns the other nodes that are to have much.
func (d *Door) takers(takes func(node uint32) uint64) (list []door.Taker) {
	const share = 1 << 14
	for _, v := range d.live() {
		if n := takes(v.Node); n > v.Headroom/share {
			list = append(list, door.Taker{Node: v.Node, Bytes: n})
		}
	}
	slices.SortFunc(list, func(a, b door.Taker) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// fitsPart reports whether every other node that has a part, or learns it, has room for n bytes
// more.
func (d *Door) fitsPart(p *contents.Part, n uint64) bool {
	if d.fits(n) {
		return true
	}
	place := d.state.PlaceOf(p)
	return place != nil && !slices.ContainsFunc(d.live(), func(v heard) bool { return n > v.Headroom && place.Copy(v.Node).Phase != 0 })
}

// admitAll is Admit for this node and all others that have the part.
func (d *Door) admitAll(admit door.Admitter, p *contents.Part, ops []*door.Op) (aside uint64, ok bool) {
	aside, ok = admit.Admit(p, ops)
	if ok && !d.fitsPart(p, aside) {
		admit.Settle(aside)
		return 0, false
	}
	return aside, ok
}
