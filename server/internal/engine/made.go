package engine

// Strings that are made before the gate is entered.

import (
	"time"
	"unsafe"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// made is the string that a call will store, made before the gate was entered.
type made struct {
	base *catalog.Entry
	text *store.String
	held uint64
}

// Storing returns the op of a record that makes a string of base, the string that
// its name stands for, nil for none: one of size bytes. A long one is made outside
// the gate, and then the call is prepared again: the op is nil, as it is if there
// is no memory. In a transaction a long value is kept as it was queued.
func (x Contents) Storing(c *Call, o store.Texter, base *catalog.Entry, size int) *Op {
	t := o.Text()
	if x.Can().Cluster {
		if !x.Fits(c, t.Name, max(size, len(t.Value))) {
			return nil
		}
		t.Made, t.Base = "", nil // every machine makes it from the record
	}
	_, whole := o.(*store.Set)
	switch {
	case size < store.Long, x.Can().Cluster:
	case t.Made != "": // the caller has it
	case whole && c.own:
		t.Keep(unsafe.String(unsafe.SliceData(t.Value), len(t.Value)), nil)
	case x.s.alone: // it is copied: its cost was counted
	case c.made == nil || c.made.base != base:
		x.make(c, o, base, size)
		return nil
	default:
		m := c.made.text
		t.Made, t.Base, t.Value = m.Made, m.Base, m.Value
	}
	op := x.Record(o)
	op.Cost = uint64(store.NewCost(t.Name, uint64(size)))
	return op
}

// make makes the string of a record outside the gate.
func (x Contents) make(c *Call, o store.Texter, base *catalog.Entry, size int) {
	e := x.e
	e.unmake(c)
	e.leave(x.s)
	if !x.room(uint64(size)) || !e.Budget.Reserve(uint64(size)) {
		c.Fail(answer.TextOOM)
		return
	}
	e.collect(size)
	c.made = &made{base: base, text: o.Text(), held: uint64(size)}
	store.MakeString(o, base)
}

// unmake forgets the string that was made for a call: it is stored, or not needed.
func (e *Engine) unmake(c *Call) {
	if c.made != nil {
		e.Budget.Release(c.made.held)
		c.made = nil
	}
}

// room waits so often at most, and so long each time: others may take what gets
// free, and a snapshot may take long.
const (
	maxWaits = 100
	roomWait = 10 * time.Millisecond
)

// Unpack makes room for n bytes of a string that the call will store, and holds
// them until its reply is written. It reports false if there is no memory.
func (x Contents) Unpack(n uint64) bool {
	if !x.room(n) || !x.Hold(int(n)) {
		return false
	}
	x.e.collect(int(n))
	return true
}

// room reports whether there is memory for n bytes more beside long strings that
// wait to be written to disk. Those may have been replaced and count nowhere else,
// so it waits for them, outside the gate, if that helps.
func (x Contents) room(n uint64) bool {
	e := x.e
	for range maxWaits {
		left, waiting := e.Budget.Left(), uint64(e.door.Long())
		switch {
		case n > left:
			return false
		case n+waiting <= left:
			return true
		case x.s.alone:
			return false
		}
		e.leave(x.s)
		e.waits(x.s, "long strings on their way to disk")
		e.door.Ready(false)
		if e.door.Long() > 0 {
			time.Sleep(roomWait)
		}
	}
	return false
}
