//go:build !bloomerydebug

// Package order has the locks whose order matters: gate, catalogue, part, shard of
// the catalogue. In a usual build they are those of package sync. With the tag
// bloomerydebug they record takers of one in the wrong order, and who waits for a
// disk, a log or a client while holding one.
package order

import (
	"iter"
	"sync"
)

type (
	// Catalogue is the lock of the catalogue as a whole.
	Catalogue = sync.Mutex
	// Shard is the lock of the names of a shard.
	Shard = sync.RWMutex
	// Part is the lock of a part of a filter.
	Part = sync.RWMutex
)

// Number gives a part the id by which its lock stands in order.
func Number(*Part, uint64) {}

// TakeGate is called before the gate is entered or closed, LeaveGate when it was
// left.
func TakeGate() {}

// LeaveGate undoes TakeGate.
func LeaveGate() {}

// Pull is iter.Pull, for a sequence that is read under the lock of a part.
func Pull[T any](seq iter.Seq[T]) (next func() (T, bool), stop func()) { return iter.Pull(seq) }

// Waits is called by whoever is about to wait for something slow.
func Waits(string) {}
