// Package health measures filters while they are in use, and judges them.
//
//	         hot path                         one goroutine, 0.1% of a core
//	calls ─► Meter (per slot) ──┐
//	                            ▼
//	Source ─► Probe, Look ─► state ─► symptoms ─► latches ─► Verdict
//	                            └─► history, 288 points of 5 minutes
//
// A [Keeper] probes every filter with random digests that nobody inserted: the
// share of positive answers is the false positive rate, whatever the keys and
// whatever the model of the layout says. It never waits for a lock, and the time
// that it spends is accounted and bounded.
//
// The state of a filter (its probes, latencies, history and verdict) is kept for
// the 1,024 busiest filters, for all over 1 MiB, for those that a walk over all
// filters found ill, and for those that somebody asked for. For all others it is
// made on demand. Nothing is written to disk.
//
// The package knows nothing of names, locks or commands: a [Source] leads to the
// filters, clocks and randomness come in through [Config].
package health

import (
	"math/rand/v2"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Batch is how many digests a filter is asked for under one lock.
const Batch = 64

// mostLayers is how many layers a filter may have that is probed. An absent digest is
// looked for in all of them: more would keep a writer waiting. What has come from a
// dump may have a million.
const mostLayers = 256

// The bounds of what is kept.
const (
	// Busiest is how many filters have a state because they are used the most.
	Busiest = 1024
	// Suspects is how many have one because they are ill or were asked for.
	Suspects = 1024
	// Large is the size in bytes over which a filter always has a state.
	Large = 1 << 20
)

// Share is the share of a core that the package may use.
const Share = 0.001

// Every is the time between two evaluations of a filter.
const Every = 10 * time.Second

// Look is a filter as it is at one moment.
type Look struct {
	bloomery.Stats
	// Version is raised by every change.
	Version uint64
	// Layers is the number of layers, generations, members or sub-filters, at
	// least 1; Parts the number of parts.
	Layers, Parts int
	// Grows reports that the filter takes any number of items: it adds layers,
	// or drops old keys.
	Grows bool
	// Folds reports that FILTER.FOLD can halve the filter.
	Folds bool
	// Sourced reports that the filter is the union of its sources: what is to change must
	// change in those.
	Sourced bool
	// Gone is how many items callers have reported as deleted: no more than Items. Reported is without
	// that bound, which is for a whole filter.
	Gone, Reported uint64
	// Can is what the server can do: not every cure is possible everywhere.
	Can status.Abilities
	// SLA is the 99th percentile of latency that was asked for, Budget the
	// number of bytes; 0 means none.
	SLA    time.Duration
	Budget uint64
	// Created is when the filter was made, zero if that is not known.
	Created time.Time
}

// Subject is a filter of a Source. Its methods never wait: they report false if a
// writer has the filter at the moment, or if it is gone.
type Subject interface {
	// ID returns a number that no other filter ever has.
	ID() uint64
	// Version returns the number of changes so far.
	Version() (v uint64, ok bool)
	// Bytes returns the memory of the filter.
	Bytes() (n uint64, ok bool)
	// Probe asks for Batch digests from r and returns the number of positive
	// answers. It changes nothing and is counted nowhere.
	Probe(r *rand.Rand) (yes int, ok bool)
	// Look describes the filter.
	Look() (l Look, ok bool)
}

// Source leads to the filters of a server.
type Source interface {
	// Subject returns the filter with an id, nil if there is none.
	Subject(id uint64) Subject
	// Walk passes some filters to visit, from a cursor on, and returns the
	// cursor to go on with, 0 at the end. The first cursor is 0.
	Walk(cursor uint64, visit func(Subject)) uint64
	// Len returns a bound of the number of filters. It is 0 if there are none.
	Len() int
}
