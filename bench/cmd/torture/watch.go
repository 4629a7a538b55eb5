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
	ended   bool
}

// begin starts to measure.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.longest, w.ended = time.Now(), 0, false
}

// good notes an answer.
func (w *watch) good() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.ended {
		w.longest = max(w.longest, now.Sub(w.last))
	}
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

// end ends the measurement: a stop that goes on counts up to now. It returns the
// longest.
func (w *watch) end() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.longest = max(w.longest, time.Since(w.last))
		w.ended = true
	}
	return w.longest
}
