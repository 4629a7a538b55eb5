// Package door puts write records in order. Every change of the state passes
// through a [Door]: package local orders records by locks and a log on this
// machine, a cluster orders them by a replicated stream. Both share records,
// [store.Apply] and snapshots.
package door

import (
	"errors"

	"github.com/bloomery/bloomery/internal/store"
)

// Door takes writes.
type Door interface {
	// Do puts ops in order. Those on one part that follow each other make one
	// run: one lock and one append to the log. Locally they are applied on
	// return; in a cluster they are on their way.
	Do(ops []*Op)
	// Wait returns when ops are applied here and as durable as was asked for.
	// It is called once for all that was read from a connection, before the
	// replies are written.
	Wait(ops []*Op)
	// Close waits for what is under way and closes the log.
	Close() error
}

// Op is a record on its way through a door, and what came of it. Result.Bools
// and Result.Codes may bring memory for the answer.
type Op struct {
	Record store.Record
	Result store.Result

	// Part is the part that Record.ID names, if the caller knows it.
	Part *store.Part
	// Admit, if not nil, is asked right before the record is put in order,
	// while its part cannot change.
	Admit Admitter
}

// ErrMemory is the result of a record for which there is no memory.
var ErrMemory = errors.New("door: out of memory")

// Admitter decides how much memory records may take. That is the last step of
// preparing them: it sees the budget, which Apply does not.
type Admitter interface {
	// Admit sets the Room of all ops, which are a run on p, sets as much
	// memory aside and returns how much that is. If there is not enough for
	// all of them it returns false; each is then asked for alone, and refused
	// with ErrMemory if the answer is false again. The caller holds a lock of
	// p.
	Admit(p *store.Part, ops []*Op) (aside uint64, ok bool)
	// Settle gives back what Admit has set aside, when ops are applied and
	// the state counts what they took.
	Settle(aside uint64)
}
