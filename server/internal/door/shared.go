package door

// Doors whose order other machines take part in.

import (
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery/server/internal/status"
)

// Shared is a door whose order other machines take part in: a cluster. A record
// may meet a later state than the one it was prepared on, whatever is locked here,
// so nothing can be held still while several records are made. What belongs
// together goes as a group.
//
// Records are applied from their encoding, on every machine alike: what a Record
// has besides (Made, Base, Second, Built) counts nowhere. Do and DoGroup encode
// ops; from then on only Way, Place and Result are the door's, until Wait has
// returned. An op that Wait has settled with an Err is detached: the door never
// writes into it again, even if its record is applied later.
type Shared interface {
	Door
	Grouper
	// MaxRecord bounds the encoding of a record, and that of all records of a
	// group together.
	MaxRecord() int
	// Fresh returns when all that any machine has acknowledged before the call is
	// applied here, as far as a part is concerned. FreshNames is the same for the
	// catalogue. The error wraps ErrRefused or ErrUnknown.
	Fresh(id uint64, index uint32) error
	FreshNames() error
	// Current returns why this machine may lack what others have acknowledged long ago, so
	// that it should answer nothing, nil if it may not. It does not wait. The error wraps
	// ErrRefused, and ErrBehind if it will pass.
	Current() error
	// LaneOf returns the stream of a part: one Fresh is enough for all parts of it.
	LaneOf(id uint64, index uint32) int
	// Grace is how long this machine leaves to another what is due: expiries and
	// the turn of windows. It is 0 at the one that decides.
	Grace() time.Duration
	// Cluster describes the cluster as this machine sees it. It does not wait.
	Cluster() status.Cluster
}

// Members is a Shared door whose machines can be removed and replaced.
type Members interface {
	// Remove removes a machine for ever: it stops, and nothing waits for it any
	// more. A later one has another number. One that keeps the log is replaced
	// instead.
	Remove(node uint32) error
	// Replace has a machine keep the log in the place of another, which is
	// removed. Each call does the next step, if the last one has had its effect,
	// and returns what was done or is waited for. An error means that nothing was
	// done.
	Replace(old, with uint32) (step string, done bool, err error)
	// Upgrade allows what all machines can do by now, and returns the level. Until
	// then machines of a later release do what the others can do as well. The
	// error names the machines that keep the level down.
	Upgrade() (level uint64, err error)
	// SetCopies says how many machines are to hold the contents of each filter, and PauseMoves
	// lets no contents begin to move, or lets them again.
	SetCopies(n int) error
	PauseMoves(paused bool) error
	// Rebalance returns what has to move so that every machine holds what it is to hold, of those
	// that do not. If it is to begin, it does so now: else it begins when no machine has come or
	// gone for a while.
	Rebalance(begin bool) ([]status.Moves, error)
}

// Target is a part of a filter.
type Target struct {
	ID    uint64
	Index uint32
}

// Grouper puts groups in order.
type Grouper interface {
	// DoGroup is Do for ops that take effect together, with no other record in
	// between, here and on every other machine, and at recovery: they are one
	// message. All are records of the catalogue, or all are of one part. Records of
	// store.OpExpect and store.OpExpectPart stand in front: if one of them does not
	// hold, it and all behind it have store.ErrCondition as Result.Err, and nothing
	// has changed. The error means that nothing was sent, and why: it wraps
	// ErrGroup, ErrMemory or ErrRefused.
	DoGroup(ops []*Op) error
}

var (
	// ErrDown means that a cluster cannot take writes at present: the record was
	// not sent, and can be sent again without harm.
	ErrDown = fmt.Errorf("%w: the cluster cannot take them", ErrRefused)
	// ErrBehind means that a machine does not know yet whether it has what others have.
	ErrBehind = errors.New("door: behind")
	// ErrGroup means that records cannot be a group.
	ErrGroup = errors.New("door: not a group")
)
