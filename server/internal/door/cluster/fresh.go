package cluster

// Reads that see all writes acknowledged before them.

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
)

// Fresh implements door.Shared: it sends a message without a record through the
// lane of the part and waits until it comes back. Whatever any node has acknowledged
// before the call stands before it in the lane, so it is applied here too. No clock
// and no lease takes part in this.
func (d *Door) Fresh(id uint64, index uint32) error { return d.barrier(d.partLane(id, index)) }

// FreshNames implements door.Shared.
func (d *Door) FreshNames() error { return d.barrier(d.catalogue()) }

func (d *Door) barrier(lanes ...*lane) error {
	if err := d.Refuses(); err != nil {
		return err
	}
	return d.roundTrip(lanes...)
}

// roundTrip sends an empty record through lanes and waits until all have come back.
func (d *Door) roundTrip(lanes ...*lane) error {
	b := &batch{rides: make([]ride, len(lanes)), done: make(chan struct{}), until: time.Now().Add(d.config.Timeout)}
	b.left.Store(int32(len(lanes)))
	ops := make([]*door.Op, len(lanes))
	for i, l := range lanes {
		r := &b.rides[i]
		op := &door.Op{Way: r}
		r.batch, r.lane, r.op, r.empty = b, l, op, true
		ops[i] = op
		l.enqueue([]*ride{r})
	}
	d.Wait(ops)
	for _, op := range ops {
		if op.Err != nil {
			return op.Err
		}
	}
	return nil
}
