//go:build bloomerydebug

package engine

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// gateWatch records how long the gate is held and who waits inside it. It is
// built with the tag bloomerydebug.
type gateWatch struct {
	mu      sync.Mutex
	inside  map[uint64]time.Time // by goroutine
	alone   time.Time
	shared  []time.Duration
	single  []time.Duration
	worst   string // who held the gate longest
	longest time.Duration
	waiting []string
}

// GateReport is what the debug build has recorded of the gate.
type GateReport struct {
	// Shared and Alone are the holds by usual commands and by transactions,
	// sorted.
	Shared, Alone []time.Duration
	// Waits tells who has waited inside the gate; it must be empty.
	Waits []string
	// Worst is the stack of the longest hold.
	Worst string
}

// Longest returns the longest hold of all.
func (r *GateReport) Longest() time.Duration {
	longest := time.Duration(0)
	for _, v := range [][]time.Duration{r.Shared, r.Alone} {
		if len(v) > 0 {
			longest = max(longest, v[len(v)-1])
		}
	}
	return longest
}

// GateReport returns what was recorded since the last call.
func (e *Engine) GateReport() GateReport {
	w := &e.gate.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	r := GateReport{Shared: w.shared, Alone: w.single, Waits: w.waiting, Worst: w.worst}
	slices.Sort(r.Shared)
	slices.Sort(r.Alone)
	w.shared, w.single, w.waiting, w.worst, w.longest = nil, nil, nil, "", 0
	return r
}

// maxHolds bounds what is recorded.
const maxHolds = 1 << 20

func (w *gateWatch) entered(int) {
	id := goroutine()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inside == nil {
		w.inside = map[uint64]time.Time{}
	}
	if _, twice := w.inside[id]; twice {
		panic("engine: entered the gate twice: a transaction in between would be a deadlock")
	}
	w.inside[id] = time.Now()
}

func (w *gateWatch) left(int) {
	id := goroutine()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(&w.shared, time.Since(w.inside[id]))
	delete(w.inside, id)
}

func (w *gateWatch) closed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.inside) > 0 {
		panic(fmt.Sprintf("engine: %d sessions inside a closed gate", len(w.inside)))
	}
	w.alone = time.Now()
}

func (w *gateWatch) opened() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(&w.single, time.Since(w.alone))
	w.alone = time.Time{}
}

func (w *gateWatch) note(list *[]time.Duration, took time.Duration) {
	if len(*list) < maxHolds {
		*list = append(*list, took)
	}
	if took > w.longest {
		buf := make([]byte, 4096)
		w.longest, w.worst = took, string(buf[:runtime.Stack(buf, false)])
	}
}

// waits notes a session that is about to wait: it must not be inside.
func (w *gateWatch) waits(s *Session, what string) {
	if !s.inside && !s.alone {
		return
	}
	buf := make([]byte, 4096)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, what+"\n"+string(buf[:runtime.Stack(buf, false)]))
}

// goroutine returns the number of the calling goroutine.
func goroutine() uint64 {
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
