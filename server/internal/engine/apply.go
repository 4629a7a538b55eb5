package engine

// Records that a command puts in order by itself, a piece of something long each.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Staging returns where the command puts together what nobody sees yet. It leaves the
// gate: that takes long.
func (x *Context) Staging() staging.Area {
	x.e.leave(x.s)
	return staging.New(stager{Contents{x}}, x.e.state, &x.e.Budget)
}

// stager is a command as staging sees it: with what no handler needs.
type stager struct{ Contents }

// Shared reports whether other machines write, too.
func (x stager) Shared() bool { return x.e.can.Cluster }

// ApplyNew is ApplyUnseen for a record that makes something of so many bytes: memory is set aside for it.
func (x stager) ApplyNew(r store.Record, size uint64) (store.Result, answer.Reply) {
	return x.applyMade(&Op{Op: door.Op{Record: r}, Cost: x.e.ownCost(&r, size)}, false)
}

// applyMade puts an op of the catalogue in order for which memory is set aside, here and at the machines that are
// to have what it makes.
func (x Contents) applyMade(op *Op, seen bool) (store.Result, answer.Reply) {
	if err := x.e.setAside(x.s, op); err != nil {
		return store.Result{}, x.e.unsettled(err)
	}
	x.apply([]*door.Op{&op.Op}, seen)
	x.e.giveBack(op)
	return x.came(&op.Op)
}

// ApplyAll is ApplyPiece for ops of several parts. It returns what came of the first that
// has failed.
func (x stager) ApplyAll(ops []*door.Op) (answer.Reply, error) {
	x.apply(ops, true)
	for _, op := range ops {
		if res, failed := x.came(op); failed.Kind != answer.None || res.Err != nil {
			return failed, res.Err
		}
	}
	return answer.Reply{}, nil
}

// ApplyPiece puts a record of a part in order, a piece of something long, and
// returns what came of it. It enters the gate for that alone, so that no piece
// comes between the commands of a transaction. The reply reports that the record was
// not kept, and is None if it was.
func (x Contents) ApplyPiece(p *contents.Part, r store.Record) (store.Result, answer.Reply) {
	op := &door.Op{Part: p, Record: r}
	x.apply([]*door.Op{op}, true)
	return x.came(op)
}

// ApplyUnseen is ApplyPiece for what nobody can see yet: it stays outside the gate.
func (x Contents) ApplyUnseen(p *contents.Part, r store.Record) (store.Result, answer.Reply) {
	op := &door.Op{Part: p, Record: r}
	x.apply([]*door.Op{op}, false)
	return x.came(op)
}

// ApplyParts is ApplyPiece for the same record of every part of a filter. It returns what came
// of the first that has failed.
func (x Contents) ApplyParts(entry *catalog.Entry, b store.Body) (answer.Reply, error) {
	var ops []*door.Op
	for i, p := range contents.Parts(entry) {
		ops = append(ops, &door.Op{Part: p, Record: store.Record{ID: entry.ID, Index: uint32(i), Body: b}})
	}
	return stager{x}.ApplyAll(ops)
}

// apply puts ops in order and waits for them outside the gate; inside, if others can see
// them, they are put in order.
func (x Contents) apply(ops []*door.Op, seen bool) {
	e, s := x.e, x.s
	e.leave(s)
	if !s.alone {
		e.waits(s, "a piece of a record")
		e.door.Ready(true)
	}
	e.doAnywhere(s, ops, seen)
	e.leave(s)
}

// came returns what came of an op that is settled.
func (x Contents) came(op *door.Op) (store.Result, answer.Reply) {
	if op.Err != nil {
		return store.Result{}, x.e.unsettled(op.Err)
	}
	return op.Result, answer.Reply{}
}

// ApplyLarge is ApplyPiece for a record that takes memory: up to cost bytes, which are
// set aside until it is applied, at all machines that have the part.
func (x Contents) ApplyLarge(p *contents.Part, r store.Record, cost uint64) (store.Result, answer.Reply) {
	x.e.leave(x.s)
	release, failed := x.ReserveFor(p, cost)
	if failed.Kind != answer.None {
		return store.Result{}, failed
	}
	defer release()
	return x.ApplyPiece(p, r)
}

// ApplyNames is ApplyLarge for a record of the catalogue.
func (x Contents) ApplyNames(b store.Body, cost uint64) (store.Result, answer.Reply) {
	return x.applyMade(&Op{Op: door.Op{Record: store.Record{At: x.s.ms, Body: b}}, Cost: cost}, true)
}

// Reserve sets n bytes aside until release is called. It reports false if there are not so
// many. What takes nothing works with the budget full.
func (x Contents) Reserve(n uint64) (release func(), ok bool) {
	if n > 0 && !x.e.Budget.Reserve(n) {
		return nil, false
	}
	return func() { x.e.Budget.Release(n) }, true
}

// Refresh puts a record of a part in order, inside the gate, before the calls that
// meet the part. In a cluster Sweep does that: no read waits for others there. It reports
// whether it had to leave the gate for that. A record that is not kept is none: the next
// call tries again.
func (x Contents) Refresh(p *contents.Part, r store.Record) (left bool) {
	e, s := x.e, x.s
	if e.door.Refuses() != nil || !s.alone && e.door.Busy() || e.shared != nil {
		return false
	}
	op := &door.Op{Part: p, Record: r}
	ops := []*door.Op{op}
	e.do(x.s, ops)
	if op.Settled {
		s.wrote = s.wrote || op.Result.Changed
		return false
	}
	e.leave(s)
	e.waits(s, "wait for a window")
	e.door.Wait(ops)
	return op.Err == nil
}
