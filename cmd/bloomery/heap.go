package main

import "runtime/debug"

// limitHeap has the collector keep the heap of this process to so many bytes, and returns what
// undoes that. Tests that run many commands in one process leave it out: the last limit that is
// undone would be that of another command, and the collector would run all the time.
var limitHeap = func(bytes int64) (undo func()) {
	before := debug.SetMemoryLimit(bytes)
	return func() { debug.SetMemoryLimit(before) }
}
