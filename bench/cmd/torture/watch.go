//go:build linux

package main

// Stops: how long a client has waited for its next answer.

import (
	"sync"
	"time"
)

// watch measures the longest time between two good answers.
//
// Safe for concurrent use.
type watch struct {
	// mu guards what follows.
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

// begin starts to measure.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.longest = time.Now(), 0
}

// good notes an answer.
func (w *watch) good() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.longest = max(w.longest, now.Sub(w.last))
	w.last = now
}

// skip leaves out the time since the last answer: none could be had.
func (w *watch) skip() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

// since reports whether there was an answer after a moment.
func (w *watch) since(t time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.After(t)
}

// stop returns the longest stop, one that goes on included.
func (w *watch) stop() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.longest, time.Since(w.last))
}
