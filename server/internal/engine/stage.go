package engine

// Filters of RedisBloom that are put together before they have a name.

import (
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// stagePiece is how many bytes of a filter one record of Stage holds.
const stagePiece = 256 << 10

// Stage makes a filter that nobody can see yet, from the header of its dump and
// its layers: the long part of a RESTORE, outside the gate. A record of
// [store.OpReveal] gives it a name; Unstage removes it if that does not happen.
// The reply says what is wrong, and is None if nothing is.
func (x Contents) Stage(f *Family, header []byte, layers [][]byte) (id uint64, r answer.Reply) {
	if f.Create == store.OpFilterLoad {
		return x.stageFilter(header, layers)
	}
	e := x.e
	entry, failed := x.stageEmpty(f.Create, header)
	if failed.Kind != answer.None {
		return 0, failed
	}
	id = entry.ID
	p := store.PartOf(entry)
	position := int64(1)
	for _, data := range layers {
		for len(data) > 0 {
			if x.Stopped() {
				x.Unstage(id)
				return 0, answer.Fail(TextStopped)
			}
			n := min(len(data), stagePiece)
			position += int64(n)
			chunk := &door.Op{Part: p, Record: store.Record{ID: id, Body: f.Chunk(position, data[:n])}}
			if f.Grows && !e.Budget.reserve(uint64(n)) {
				x.Unstage(id)
				return 0, answer.Fail(answer.TextOOM)
			}
			err := x.apply(chunk)
			if f.Grows {
				e.Budget.release(uint64(n))
			}
			if err != nil {
				x.Unstage(id)
				return 0, e.unsettled(err)
			}
			if chunk.Result.Err != nil {
				x.Unstage(id)
				return 0, answer.Fail(textBadData)
			}
			data = data[n:]
		}
	}
	return id, answer.Reply{}
}

// stageEmpty makes a filter that nobody can see yet, as a record of a kind and a value
// makes it. The reply says what is wrong, and is None if nothing is.
func (x Contents) stageEmpty(create store.Op, value []byte) (*catalog.Entry, answer.Reply) {
	e := x.e
	e.leave(x.s)
	op, ok := x.Creation(&store.Stage{As: create, Header: value})
	if !ok {
		return nil, answer.Fail(textBadData)
	}
	if !e.Budget.reserve(op.Cost) {
		return nil, answer.Fail(answer.TextOOM)
	}
	err := x.apply(&op.Op)
	e.Budget.release(op.Cost)
	switch {
	case err != nil:
		return nil, e.unsettled(err)
	case op.Result.Err != nil:
		return nil, answer.Fail(answer.TextOOM)
	}
	return op.Result.Entry, answer.Reply{}
}

const textBadData = "ERR Bad data format"

// Unstage removes a filter that never got a name.
func (x Contents) Unstage(id uint64) {
	x.e.leave(x.s)
	op := &door.Op{Record: store.Record{At: x.s.ms, Body: &store.Evict{IDs: []uint64{id}}}}
	_ = x.apply(op) // a record that is lost is dropped by the next recovery
}

// apply puts an op in order and waits for it, outside the gate.
func (x Contents) apply(op *door.Op) error {
	e := x.e
	if !x.s.alone {
		e.waits(x.s, "stage a filter")
		e.door.Ready()
	}
	ops := []*door.Op{op}
	e.do(x.s, ops)
	if !op.Settled {
		e.wait(x.s, ops)
	}
	return op.Err
}

// ApplyPiece puts a record of a part in order, a piece of something long, and
// returns what came of it. It enters the gate for that alone, so that no piece
// comes between the commands of a transaction. The reply reports that the record was
// not kept, and is None if it was.
func (x Contents) ApplyPiece(p *store.Part, r store.Record) (store.Result, answer.Reply) {
	e, s := x.e, x.s
	e.leave(s)
	if !s.alone {
		e.waits(s, "a piece of a record")
		e.door.Ready()
	}
	op := &door.Op{Part: p, Record: r}
	ops := []*door.Op{op}
	e.enter(s)
	e.do(x.s, ops)
	e.leave(s)
	if !op.Settled {
		e.wait(x.s, ops)
	}
	if op.Err != nil {
		return store.Result{}, e.unsettled(op.Err)
	}
	return op.Result, answer.Reply{}
}

// ApplyLarge is ApplyPiece for a record that takes memory: up to cost bytes, which are
// set aside until it is applied.
func (x Contents) ApplyLarge(p *store.Part, r store.Record, cost uint64) (store.Result, answer.Reply) {
	if cost > 0 && !x.e.Budget.reserve(cost) { // what takes nothing works with the budget full
		return store.Result{}, answer.Fail(answer.TextOOM)
	}
	defer x.e.Budget.release(cost)
	return x.ApplyPiece(p, r)
}

// Refresh puts a record of a part in order, inside the gate, before the calls that
// meet the part. In a cluster Sweep does that: no read waits for others there. It reports whether it had to leave the gate for that. A record that
// is not kept is none: the next call tries again.
func (x Contents) Refresh(p *store.Part, r store.Record) (left bool) {
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

// Key returns the hasher of a secret key. It reports false if there is no such key.
func (x Contents) Key(id string) (hashing.Hasher, bool) { return x.e.state.Key(id) }

// KeyOf returns the id of the secret key that a filter hashes with, "" if it has none or
// that is not known here.
func (x Contents) KeyOf(h hashing.Hasher) string {
	if h.Kind() == hashing.XXH3 {
		return ""
	}
	return x.e.state.KeyOf(h.Check())
}

// Family returns what the commands on filters of a kind share, nil for strings.
func (x Contents) Family(k catalog.Kind) *Family { return x.e.table.Family(k) }
