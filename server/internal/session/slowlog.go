package session

// SLOWLOG: commands that took long.

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of an entry, as in Redis.
const (
	slowArgs     = 32
	slowArgBytes = 128
)

// SlowLog keeps the latest bundles of commands that took long. The zero value
// keeps 128 of those that took 10 ms or more.
//
// Safe for concurrent use.
type SlowLog struct {
	micros atomic.Int64 // 0 means 10,000; -1 turns the log off
	most   atomic.Int64 // 0 means 128

	// mu guards what follows.
	mu      sync.Mutex
	next    int64
	entries []SlowEntry // latest first
}

// SlowEntry is a bundle of commands that took long; Args are those of the first.
type SlowEntry struct {
	ID         int64
	At         time.Time
	Took       time.Duration
	Args       []string
	Addr, Name string
}

// SlowerThan returns the threshold in microseconds, negative if the log is off.
func (l *SlowLog) SlowerThan() int64 {
	if v := l.micros.Load(); v != 0 {
		return v
	}
	return 10_000
}

// SetSlowerThan sets the threshold in microseconds; a negative one turns the log
// off.
func (l *SlowLog) SetSlowerThan(micros int64) {
	if micros == 0 {
		micros = 1 // 0 is "everything": no bundle takes less than a microsecond
	}
	l.micros.Store(micros)
}

// MaxLen returns how many entries are kept.
func (l *SlowLog) MaxLen() int64 {
	if v := l.most.Load(); v != 0 {
		return v
	}
	return 128
}

// SetMaxLen sets how many entries are kept.
func (l *SlowLog) SetMaxLen(n int64) { l.most.Store(n) }

// Threshold returns from which time on a bundle is kept.
func (l *SlowLog) Threshold() time.Duration {
	v := l.SlowerThan()
	if v < 0 {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(v) * time.Microsecond
}

// Shown returns an argument of a command as others may see it, cut after most bytes.
type Shown func(i, most int) string

// Add notes a bundle of a client: its first command, of so many arguments, stands for it
// and for others more.
func (l *SlowLog) Add(c *Client, at time.Time, took time.Duration, args int, show Shown, others int) {
	e := SlowEntry{At: at, Took: took, Addr: c.Addr, Name: c.Name()}
	for i := range args {
		if i == slowArgs-1 && args > slowArgs {
			e.Args = append(e.Args, fmt.Sprintf("... (%d more arguments)", args-i))
			break
		}
		e.Args = append(e.Args, show(i, slowArgBytes))
	}
	if others > 0 {
		e.Args = append(e.Args, fmt.Sprintf("... (%d more commands in the same run)", others))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.ID = l.next
	l.next++
	l.entries = append([]SlowEntry{e}, l.entries[:min(len(l.entries), int(l.MaxLen())-1)]...)
}

// Latest returns the latest n entries, all if n is negative.
func (l *SlowLog) Latest(n int64) []SlowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > int64(len(l.entries)) {
		n = int64(len(l.entries))
	}
	return append([]SlowEntry(nil), l.entries[:n]...)
}

// Len returns the number of entries.
func (l *SlowLog) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Reset removes all entries.
func (l *SlowLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
