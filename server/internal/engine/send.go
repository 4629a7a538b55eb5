package engine

// What differs with a door that other machines share.

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// do puts ops in order, or into the group that a transaction is collecting. It marks
// those that are too long as refused.
func (e *Engine) do(s *Session, ops []*door.Op) {
	switch {
	case s.group != nil:
		s.group.take(ops)
	case e.shared != nil && e.refuseLong(ops):
	default:
		e.door.Do(ops)
	}
}

// doAlone puts an op in order that nobody may see a part of.
func (e *Engine) doAlone(op *Op) {
	if err := e.doGroup([]*door.Op{&op.Op}); err != nil {
		op.Settled, op.Err = true, err
	}
}

func merges(op *Op) bool {
	_, ok := op.Record.Body.(store.Merge)
	return ok
}

// doMerge merges sketches. A merge looks at several of them, which are not in one
// order on all machines: so what it does to its destination is found here, and put in
// order on condition that the destination has not changed meanwhile.
func (e *Engine) doMerge(s *Session, op *Op) {
	if op.Settled = true; s.group != nil {
		s.group.refuseCall(textMerge)
		op.Err = door.ErrGroup
		return
	}
	e.leave(s)
	for range maxTries {
		m, err := e.state.Merged(&op.Record, s.sketch)
		if op.Result.Err = err; err != nil {
			return
		}
		again := e.putMerged(s, op, m)
		m.Release()
		if !again {
			return
		}
	}
	op.Err = fmt.Errorf("%w: other clients change the destination all the time: nothing was done, send it again", door.ErrGroup)
}

// putMerged puts what a merge does in order and waits for it. It reports true if it
// has to be found again.
func (e *Engine) putMerged(s *Session, op *Op, m *store.Merged) (again bool) {
	var ops []*door.Op
	if m.Entry != nil {
		ops = append(ops, &door.Op{Record: store.Record{ID: m.Entry.ID, Body: &store.ExpectPart{Version: m.Version}}})
	}
	for _, r := range m.Records {
		ops = append(ops, &door.Op{Record: r})
	}
	if op.Err = e.doGroup(ops); op.Err != nil {
		return false
	}
	away := e.awaits(s, "wait for a merge")
	e.door.Wait(ops)
	e.back(s, away)
	for _, o := range ops {
		if op.Err = o.Err; o.Err != nil {
			return false
		}
	}
	if m.Entry == nil || ops[0].Result.Err != nil {
		return true // it is there now, or has changed
	}
	for _, o := range ops {
		if op.Result.Err = o.Result.Err; o.Result.Err != nil {
			return false
		}
	}
	return false
}

// doGroup puts ops in order as one group, unless they are too long.
func (e *Engine) doGroup(ops []*door.Op) error {
	size := 0
	for _, op := range ops {
		size += op.Record.Bound()
	}
	if err := e.tooLong(size); err != nil {
		return err
	}
	return e.shared.DoGroup(ops)
}

// tooLong returns why records that take so many bytes, or more, cannot be one group, nil if they can.
func (e *Engine) tooLong(size int) error {
	if most := e.shared.MaxRecord(); size > most {
		return fmt.Errorf("%w: %d bytes or more that belong together, and a cluster takes %d at most", refusal.ErrTooLong, size, most)
	}
	return nil
}

// wait waits for ops. The group of a transaction cannot: it is one message, and what
// needs an answer on its way is not part of one.
func (e *Engine) wait(s *Session, ops []*door.Op) {
	if s.group == nil {
		e.door.Wait(ops)
		return
	}
	s.group.refuseCall(textSteps)
	for _, op := range ops {
		op.Settled, op.Err = true, door.ErrGroup
	}
}

// refuseLong settles ops with an error if one of them is too long for the door: then
// none of them is put in order.
func (e *Engine) refuseLong(ops []*door.Op) bool {
	most := e.shared.MaxRecord()
	for _, op := range ops {
		if n := op.Record.Bound(); n > most {
			err := fmt.Errorf("%w: a record of %d bytes, and a cluster takes %d at most", refusal.ErrTooLong, n, most)
			for _, op := range ops {
				op.Settled, op.Err = true, err
			}
			return true
		}
	}
	return false
}

// fits reports whether a value of n bytes and a name can be one record.
func (e *Engine) fits(name []byte, n int) bool {
	return e.shared == nil || n+len(name)+recordExtra <= e.shared.MaxRecord()
}

// recordExtra is what a record takes besides its name and its value.
const recordExtra = 64

// Fits reports whether a value of n bytes and a name can be stored. In a cluster they
// are one message. If they cannot, it answers.
func (x Contents) Fits(c *Call, name []byte, n int) bool {
	if x.e.fits(name, n) {
		return true
	}
	c.Fail(fmt.Sprintf("ERR a value of %d bytes is too long: in a cluster a value and its name take %d bytes at most", n, x.e.shared.MaxRecord()-recordExtra))
	return false
}

// Cluster describes the cluster. It reports false if there is none.
func (e *Engine) Cluster() (status.Cluster, bool) {
	if e.shared == nil {
		return status.Cluster{}, false
	}
	return e.shared.Cluster(), true
}

// Level returns the level of the records that are allowed: all that this release knows,
// unless machines of an older one may be in the cluster.
func (x Contents) Level() uint64 {
	if x.e.shared == nil {
		return math.MaxUint64
	}
	if r := x.e.state.Roster(); r != nil { // Cluster also computes where every shard is to be
		return r.Level
	}
	return x.e.shared.Cluster().Level
}

// Roster returns who belongs to the cluster and which node holds what, nil if there is none.
func (x Contents) Roster() *roster.Roster { return x.e.state.Roster() }

// Waits notes that the client is about to wait for something slow.
func (x *Context) Waits(what string) { x.e.waits(x.s, what) }

// MaxRecord returns how many bytes a record may have, 0 if there is no bound.
func (x Contents) MaxRecord() int {
	if x.e.shared == nil {
		return 0
	}
	return x.e.shared.MaxRecord()
}

// Grouped reports whether a call is prepared as part of a transaction that goes as one
// message: then it makes one record, whatever its length.
func (x Transaction) Grouped() bool { return x.s.group != nil }
