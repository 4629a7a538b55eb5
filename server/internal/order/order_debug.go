//go:build bloomerydebug

// Package order has the locks whose order matters, and records how they are
// taken: this is the build with the tag bloomerydebug.
package order

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// level is the place of a lock in the order.
type level uint8

const (
	gate level = iota + 1
	catalogue
	part
	shard // the last: whoever holds one looks into a table and calls nothing
)

func (l level) String() string {
	return [...]string{"none", "gate", "catalogue", "part", "shard"}[l]
}

// held is a lock that a goroutine holds or waits for.
type held struct {
	level level
	id    uint64 // of a part
}

// holding is a lock that a goroutine has taken, or is about to take.
type holding struct {
	held
	from time.Duration // processor time of the thread when it was taken
}

// before reports whether b may be taken by whoever holds a. Two shards may: only
// the one writer takes several.
func (a held) before(b held) bool {
	return a.level < b.level || a.level == b.level && (a.level == shard || a.level == part && a.id < b.id)
}

// Report is what was recorded.
type Report struct {
	// Locks is how often a lock was taken.
	Locks int64
	// Inversions are locks that were taken in the wrong order, Waits what was
	// waited for under a lock. Both must be empty.
	Inversions, Waits []string
	// Holds is how often the gate was held, and LongestCPU and LongestWall for
	// how long at most, by the processor and by the clock.
	Holds                   int64
	LongestCPU, LongestWall time.Duration
	// LongestPart is for how long the lock of a part was held at most, for
	// reading or writing, by the processor.
	LongestPart time.Duration
	// WorstPart is the stack at the end of that hold.
	WorstPart string
}

func (r Report) String() string {
	return fmt.Sprintf("%d locks, %d inversions, %d waits under a lock; the gate was held %d times, up to %v of the processor, %v by the clock",
		r.Locks, len(r.Inversions), len(r.Waits), r.Holds, r.LongestCPU, r.LongestWall)
}

// maxKept bounds the inversions and waits that are kept, with their stacks.
const maxKept = 16

// recorder is of the process: a goroutine holds locks whatever server they are of.
var recorder = struct {
	sync.Mutex // guards what follows

	held   map[uint64][]holding // by goroutine
	report Report
}{held: map[uint64][]holding{}}

// recording reports that locks are recorded: that takes longer than what is done
// under them, so holds are measured without it.
var recording atomic.Bool

// Record begins or ends to record locks. No goroutine may hold one.
func Record(on bool) { recording.Store(on) }

// Take returns what was recorded since the last call.
func Take() Report {
	recorder.Lock()
	defer recorder.Unlock()
	r := recorder.report
	recorder.report = Report{}
	return r
}

// take is called before a lock is waited for: a deadlock is recorded before it
// happens.
func take(h held) {
	if !recording.Load() {
		return
	}
	g := Goroutine()
	recorder.Lock()
	defer recorder.Unlock()
	recorder.report.Locks++
	for _, has := range recorder.held[g] {
		if !has.before(h) {
			keep(&recorder.report.Inversions, fmt.Sprintf("%v %d taken under %v %d", h.level, h.id, has.level, has.id))
			break
		}
	}
	recorder.held[g] = append(recorder.held[g], holding{held: h})
}

// took is called when the lock of a part has been taken. The goroutine stays on its
// thread, whose time is read, until it lets go of the lock.
func took() {
	if !recording.Load() {
		return
	}
	runtime.LockOSThread()
	g := Goroutine()
	recorder.Lock()
	defer recorder.Unlock()
	list := recorder.held[g]
	list[len(list)-1].from, _ = ThreadUsage()
}

// letGo is called before the lock of a part is let go.
func letGo(h held) {
	if !recording.Load() {
		return
	}
	now, _ := ThreadUsage()
	g := Goroutine()
	recorder.Lock()
	defer recorder.Unlock()
	for _, l := range recorder.held[g] {
		if l.held == h {
			if h := now - l.from; h > recorder.report.LongestPart {
				buf := make([]byte, 4096)
				recorder.report.LongestPart, recorder.report.WorstPart = h, string(buf[:runtime.Stack(buf, false)])
			}
			runtime.UnlockOSThread()
			return
		}
	}
}

// drop undoes take.
func drop(h held) {
	if !recording.Load() {
		return
	}
	g := Goroutine()
	recorder.Lock()
	defer recorder.Unlock()
	list := recorder.held[g]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].held == h {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if recorder.held[g] = list; len(list) == 0 {
		delete(recorder.held, g)
	}
}

func keep(list *[]string, what string) {
	if len(*list) < maxKept {
		buf := make([]byte, 4096)
		*list = append(*list, what+"\n"+string(buf[:runtime.Stack(buf, false)]))
	}
}

// TakeGate is called before the gate is entered or closed.
func TakeGate() { take(held{level: gate}) }

// LeaveGate undoes TakeGate.
func LeaveGate() { drop(held{level: gate}) }

// Waits is called by whoever is about to wait for something slow.
func Waits(what string) {
	if !recording.Load() {
		return
	}
	g := Goroutine()
	recorder.Lock()
	defer recorder.Unlock()
	if list := recorder.held[g]; len(list) > 0 {
		keep(&recorder.report.Waits, fmt.Sprintf("%s under %v %d", what, list[0].level, list[0].id))
	}
}

// GateHeld notes how long the gate was held.
func GateHeld(cpu, wall time.Duration) {
	recorder.Lock()
	defer recorder.Unlock()
	r := &recorder.report
	r.Holds++
	r.LongestCPU, r.LongestWall = max(r.LongestCPU, cpu), max(r.LongestWall, wall)
}

// Goroutine returns the number of the calling goroutine.
func Goroutine() uint64 {
	var buf [64]byte
	n := uint64(0)
	for _, c := range buf[len("goroutine "):runtime.Stack(buf[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
