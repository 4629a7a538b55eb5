//go:build bloomerydebug

package order

// How long the lock of the catalogue is held, in debug builds.

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// names is how long the lock of the catalogue was held at most, while that is measured. Locks are not recorded meanwhile: that
// takes longer than what is done under them.
var names struct {
	measured atomic.Bool
	mu       sync.Mutex // guards what follows
	longest  time.Duration
	worst    string
}

// MeasureNames begins to measure for how long the lock of the catalogue is held. Nobody may hold it.
func MeasureNames() { names.measured.Store(true) }

// MeasuredNames ends that, and returns for how long it was held at most, by the processor, and the stack at the end of that hold.
func MeasuredNames() (longest time.Duration, worst string) {
	names.measured.Store(false)
	names.mu.Lock()
	defer names.mu.Unlock()
	longest, worst = names.longest, names.worst
	names.longest, names.worst = 0, ""
	return longest, worst
}

// begin is called when the lock has been taken. The goroutine stays on its thread, whose time is read, until end.
func begin() (from time.Duration) {
	if !names.measured.Load() {
		return -1
	}
	runtime.LockOSThread()
	from, _ = ThreadUsage()
	return from
}

// end is called before the lock is let go.
func end(from time.Duration) {
	if from < 0 {
		return
	}
	now, _ := ThreadUsage()
	runtime.UnlockOSThread()
	names.mu.Lock()
	defer names.mu.Unlock()
	if now-from > names.longest {
		buf := make([]byte, 4096)
		names.longest, names.worst = now-from, string(buf[:runtime.Stack(buf, false)])
	}
}
