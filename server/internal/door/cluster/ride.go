package cluster

// Ops on their way through a lane.

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
)

// ride is an op on its way through a lane. What the op points to has one owner at
// any time (I8): the caller until Do, the lane until the record is applied or the
// op is given up, the caller from then on.
type ride struct {
	batch *batch
	lane  *lane
	bytes []byte           // the encoded record
	empty bool             // there is none: it only asks to come back
	after []messages.Place // what has to be applied before it, besides what every message names

	op *door.Op // nil when it was applied or given up; belongs to lane.apply

	// These belong to lane.send.
	sent bool // it is part of a message
	gone bool // it was given up before that

	admit door.Admitter // of the first of a run, nil for others
	aside uint64        // what Admit has set aside for the run
	err   error         // why it was not applied, written before the batch is done
}

// batch is the rides of one call of Do.
type batch struct {
	rides []ride
	group bool
	left  atomic.Int32
	done  chan struct{} // closed when none is left
	until time.Time     // when callers stop waiting
}

// over counts rides that are settled.
func (b *batch) over(n int32) {
	if n > 0 && b.left.Add(-n) == 0 {
		close(b.done)
	}
}

// giveUp ends the wait for a ride (I8): when it has returned, nothing is written
// into the op. It returns nil if the record was applied after all.
func (r *ride) giveUp(why error) error {
	l := r.lane
	l.send.Lock()
	unsent := !r.sent
	if unsent && !r.gone {
		l.waitingBytes.Add(-int64(len(r.bytes)))
		l.d.waitingBytes.Add(-int64(len(r.bytes)))
		r.gone, r.bytes = true, nil
	}
	l.send.Unlock()
	l.apply.Lock()
	attached := r.op != nil
	r.op = nil
	l.apply.Unlock()
	switch {
	case !attached:
		return r.err
	case unsent:
		return fmt.Errorf("%w: it was not sent: %w", door.ErrDown, why)
	}
	return fmt.Errorf("%w: %w", door.ErrUnknown, why)
}
