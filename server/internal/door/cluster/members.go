package cluster

// Changes of the cluster itself: removing a node, raising the version.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

var _ door.Members = (*Door)(nil)

// Errors of changes of the cluster.
var (
	errSelf   = errors.New("cluster: a node does not remove itself: send this to another one")
	errNobody = errors.New("cluster: there is no such node")
)

// Remove implements door.Members.
func (d *Door) Remove(node uint32) error {
	if node == d.number.Load() {
		return errSelf
	}
	if d.state.Roster().Member(node) == nil {
		return errNobody
	}
	return d.change(store.Record{Op: store.OpLeave, ID: uint64(node)})
}

// Upgrade implements door.Members.
func (d *Door) Upgrade() (level uint64, err error) {
	r := d.state.Roster()
	heard := map[uint32]uint64{}
	for _, v := range d.live() {
		heard[v.node] = v.level
	}
	level = Level
	for i := range r.Members {
		m := &r.Members[i]
		if m.Left || m.Number == d.number.Load() {
			continue
		}
		n, live := heard[m.Number]
		if !live {
			return 0, fmt.Errorf("cluster: upgrade: node %d (%s) is not heard of: start it, or remove it", m.Number, m.Name)
		}
		level = min(level, n)
	}
	if level <= r.Level {
		return r.Level, nil
	}
	return level, d.change(store.Record{Op: store.OpLevel, Limit: level})
}

// change puts a record of the cluster itself in order and waits.
func (d *Door) change(r store.Record) error {
	r.At = d.config.Clock().UnixMilli()
	op := &door.Op{Record: r}
	ops := []*door.Op{op}
	d.Do(ops)
	d.Wait(ops)
	if op.Err != nil {
		return op.Err
	}
	return op.Result.Err
}
