// Package door puts write records in order. Every change of the state passes
// through a [Door]: package local orders records by locks and a log on this
// machine, a cluster orders them by a replicated stream. Both share records,
// [store.Apply] and snapshots.
package door

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Door takes writes.
type Door interface {
	// Ready returns when there is room for more records: it waits for a disk
	// that is behind. A piece of something long, of which many follow, leaves
	// most of the room to others. It is called before Do, under no lock.
	Ready(piece bool)
	// Busy reports whether Ready would wait with a record that is no such piece.
	Busy() bool
	// Long returns how many bytes of long strings, which are part of the state
	// or were, wait to be written: to the log, which Ready waits for, or to a
	// snapshot.
	Long() int64
	// Do puts ops in order. Those on one part that follow each other make one
	// run: one lock and one append to the log. Locally they are applied on
	// return; in a cluster they are on their way, or gathered for a message that
	// Wait sends. It never waits for a disk or a network, so it may be called
	// under a lock.
	Do(ops []*Op)
	// Wait returns when ops are settled: each is applied here, or its Err is
	// set.
	Wait(ops []*Op)
	// Sync returns when everything that was put in order so far is as durable
	// as was asked for. It is called once for all that was read from a
	// connection, before the replies are written. An error means that it is
	// not, and wraps ErrRefused.
	Sync() error
	// Refuses returns why writes are refused at present, nil if they are not.
	// The error wraps ErrRefused.
	Refuses() error
	// Close waits for what is under way and closes the log.
	Close() error
}

// Op is a record on its way through a door, and what came of it. Result.Bools
// and Result.Codes may bring memory for the answer.
type Op struct {
	Record store.Record
	Result store.Result

	// Part is the part that Record.ID names, if the caller knows it.
	Part *contents.Part
	// Admit, if not nil, is asked right before the record is put in order,
	// while its part cannot change.
	Admit Admitter

	// Effect, if not nil, is memory in which a door makes what it logs. Ops of one caller may
	// share it.
	Effect *store.Effect

	// Granted are machines that have set memory aside for what the record makes.
	Granted []uint32

	// Settled reports that there is nothing to wait for. Do sets it, or Wait.
	Settled bool
	// Way is what a Shared door keeps of an op that is on its way.
	Way any
	// Applied, if it is not nil, is called by a Shared door right after the record of
	// a group was applied here, before the next one is, if the op is still waited
	// for: it reads what the records before it have left.
	Applied func()
	// Err, of an op that is settled, is why the record is not, or may not be,
	// part of the state. Result then says nothing. It wraps ErrRefused or
	// ErrUnknown.
	Err error
}

// Errors of a record that was not put in order, or of which nobody knows.
var (
	// ErrMemory means that there is no memory for it.
	ErrMemory = errors.New("door: out of memory")
	// ErrRefused means that it could not be kept: the disk is full or broken.
	ErrRefused = errors.New("door: writes are refused")
	// ErrUnknown means that nobody knows whether it was kept.
	ErrUnknown = errors.New("door: no answer")
	// ErrNotYet means that a change of a cluster has to wait for its nodes. Nothing was
	// changed.
	ErrNotYet = errors.New("door: not yet")
)

// Admitter decides how much memory records may take. That is the last step of
// preparing them: it sees the budget, which Apply does not.
type Admitter interface {
	// Admit sets the Room of all ops, which are a run on p, sets as much
	// memory aside and returns how much that is. If there is not enough for
	// all of them it returns false; each is then asked for alone, and refused
	// with ErrMemory if the answer is false again. The caller holds a lock of
	// p.
	Admit(p *contents.Part, ops []*Op) (aside uint64, ok bool)
	// Settle gives back what Admit has set aside, when ops are applied and
	// the state counts what they took.
	Settle(aside uint64)
}

// Keeper is a door that keeps data on this machine's disk.
type Keeper interface {
	// Snapshot writes all data to disk and returns when it is durable. The
	// error is status.ErrSaving if that is being done already.
	Snapshot() error
	// StartSnapshot is Snapshot in the background.
	StartSnapshot() error
	// Verify reads everything on disk back and checks it.
	Verify() error
	// SetFsync changes when writes are durable: always, everysec or no. It
	// does not wait.
	SetFsync(mode string) error
	// Status returns how the keeper is doing.
	Status() status.Disk
}
