//go:build bloomerydebug

package gate

// Records of the gate, in debug builds.

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/order"
)

// watch records how long the gate is held and who waits inside it. It is
// built with the tag bloomerydebug.
type watch struct {
	// mu guards what follows.
	mu      sync.Mutex
	inside  map[uint64]mark // by goroutine
	alone   mark
	shared  []Hold
	single  []Hold
	worst   string // who held the gate longest
	longest time.Duration
	waiting []string
}

// mark is when a hold began.
type mark struct {
	at    time.Time
	cpu   time.Duration
	waits int64
}

// Hold is how long the gate was held.
type Hold struct {
	// Wall is the time on a clock, CPU that of the processor: on a machine
	// with more work than processors only the second says something.
	Wall, CPU time.Duration
	// Blocked reports that the thread has waited for something meanwhile, most
	// likely the lock of a part.
	Blocked bool
}

// Report is what the debug build has recorded of the gate.
type Report struct {
	// Shared and Alone are the holds by usual commands and by transactions.
	Shared, Alone []Hold
	// Waits has who has waited for log, disk or records inside the gate; it
	// must be empty.
	Waits []string
	// Worst is the stack of the hold with the most CPU.
	Worst string
}

// Report returns what was recorded since the last call.
func (g *Gate) Report() Report {
	w := &g.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Report{Shared: w.shared, Alone: w.single, Waits: w.waiting, Worst: w.worst}
	w.shared, w.single, w.waiting, w.worst, w.longest = nil, nil, nil, "", 0
	return r
}

// maxHolds bounds what is recorded.
const maxHolds = 1 << 20

// begin begins a hold. The goroutine stays on its thread, whose time is read.
func begin() mark {
	runtime.LockOSThread()
	m := mark{}
	m.cpu, m.waits = order.ThreadUsage()
	m.at = time.Now()
	return m
}

func (w *watch) entered(int) {
	id := order.Goroutine()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inside == nil {
		w.inside = map[uint64]mark{}
	}
	if _, twice := w.inside[id]; twice {
		panic("gate: entered the gate twice: a transaction in between would be a deadlock")
	}
	w.inside[id] = begin()
}

func (w *watch) left(int) {
	now, id := end(), order.Goroutine()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(&w.shared, w.inside[id], now)
	delete(w.inside, id)
}

func (w *watch) closed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.inside) > 0 {
		panic(fmt.Sprintf("gate: %d sessions inside a closed gate", len(w.inside)))
	}
	w.alone = begin()
}

func (w *watch) opened() {
	now := end()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(&w.single, w.alone, now)
}

// end ends a hold.
func end() mark {
	m := mark{at: time.Now()}
	m.cpu, m.waits = order.ThreadUsage()
	runtime.UnlockOSThread()
	return m
}

func (w *watch) note(list *[]Hold, from, to mark) {
	h := Hold{to.at.Sub(from.at), to.cpu - from.cpu, to.waits != from.waits}
	order.GateHeld(h.CPU, h.Wall)
	if len(*list) < maxHolds {
		*list = append(*list, h)
	}
	if h.CPU > w.longest {
		buf := make([]byte, 4096)
		w.longest, w.worst = h.CPU, string(buf[:runtime.Stack(buf, false)])
	}
}

// waits notes a session that is about to wait: it must not be inside.
func (w *watch) waits(inside bool, what string) {
	if !inside {
		return
	}
	buf := make([]byte, 4096)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, what+"\n"+string(buf[:runtime.Stack(buf, false)]))
}
