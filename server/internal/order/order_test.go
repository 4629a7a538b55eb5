//go:build bloomerydebug

package order

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestInversionsAreSeen takes locks in right and wrong orders.
func TestInversionsAreSeen(t *testing.T) {
	Record(true)
	defer Record(false)
	var c Catalogue
	var s, s2 Shard
	var older, newer Part
	Number(&older, 1)
	Number(&newer, 2)
	lockAll := func(locks ...interface {
		Lock()
		Unlock()
	}) {
		for _, l := range locks {
			l.Lock()
		}
		for _, l := range locks {
			l.Unlock()
		}
	}
	for _, tt := range []struct {
		name string
		run  func()
		want string
	}{
		{"in order", func() { TakeGate(); lockAll(&c, &older, &newer, &s, &s2); LeaveGate() }, ""},
		{"one after the other", func() { lockAll(&newer); lockAll(&older); lockAll(&c); TakeGate(); LeaveGate() }, ""},
		{"catalogue under part", func() { lockAll(&older, &c) }, "catalogue 0 taken under part 1"},
		{"part under shard", func() { s.RLock(); older.RLock(); older.RUnlock(); s.RUnlock() }, "part 1 taken under shard 0"},
		{"parts against their ids", func() { lockAll(&newer, &older) }, "part 1 taken under part 2"},
		{"a part read twice", func() { older.RLock(); older.RLock(); older.RUnlock(); older.RUnlock() }, "part 1 taken under part 1"},
		{"gate under catalogue", func() { c.Lock(); TakeGate(); LeaveGate(); c.Unlock() }, "gate 0 taken under catalogue 0"},
		{"gate twice", func() { TakeGate(); TakeGate(); LeaveGate(); LeaveGate() }, "gate 0 taken under gate 0"},
		{"tried", func() { newer.TryLock(); older.Lock(); older.Unlock(); newer.Unlock() }, ""},
	} {
		Take()
		tt.run()
		r := Take()
		if got := strings.Join(r.Inversions, "\n"); !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if r.Locks == 0 || len(recorder.held) != 0 {
			t.Errorf("%s: %d locks, %d goroutines hold some", tt.name, r.Locks, len(recorder.held))
		}
	}
}

// TestWaitsAreSeen waits with and without a lock, and holds the gate.
func TestWaitsAreSeen(t *testing.T) {
	Record(true)
	defer Record(false)
	Take()
	var p Part
	Number(&p, 7)
	Waits("disk")
	if r := Take(); len(r.Waits) != 0 {
		t.Errorf("a wait under no lock: %q", r.Waits)
	}
	p.RLock()
	Waits("disk")
	p.RUnlock()
	GateHeld(time.Second, time.Minute)
	r := Take()
	if len(r.Waits) != 1 || !strings.HasPrefix(r.Waits[0], "disk under part 7") {
		t.Errorf("a wait under a lock: %q", r.Waits)
	}
	if r.LongestCPU != time.Second || r.LongestWall != time.Minute || r.Holds != 1 {
		t.Errorf("a hold of a second: %v", r)
	}
}

// TestPartHoldsAreSeen holds the lock of a part for a while, by the processor.
func TestPartHoldsAreSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of a thread is not known")
	}
	Record(true)
	defer Record(false)
	for _, lock := range []func(*Part) (unlock func()){
		func(p *Part) func() { p.Lock(); return p.Unlock },
		func(p *Part) func() { p.RLock(); return p.RUnlock },
	} {
		// A thread that has worked for longer than the lock is held.
		runtime.LockOSThread()
		for now := time.Duration(0); now < 20*time.Millisecond; now, _ = ThreadUsage() {
		}
		Take()
		var p Part
		unlock := lock(&p)
		for from, now := time.Duration(0), time.Duration(0); now-from < 5*time.Millisecond; {
			if now, _ = ThreadUsage(); from == 0 {
				from = now
			}
		}
		time.Sleep(20 * time.Millisecond) // takes no processor
		unlock()
		runtime.UnlockOSThread()
		if got := Take().LongestPart; got < 5*time.Millisecond || got > 15*time.Millisecond {
			t.Errorf("a hold of 5 ms by the processor was recorded as %v", got)
		}
	}
}

// TestGoroutinesAreSeen compares numbers with those of stacks.
func TestGoroutinesAreSeen(t *testing.T) {
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			var want uint64
			if _, err := fmt.Sscanf(string(debug.Stack()), "goroutine %d ", &want); err != nil || Goroutine() != want {
				t.Errorf("Goroutine() = %d, want %d (%v)", Goroutine(), want, err)
			}
		})
	}
	all.Wait()
}

// TestLocksAreSeen takes each lock once: it is recorded, it locks, and it is let go.
func TestLocksAreSeen(t *testing.T) {
	Record(true)
	defer Record(false)
	var c Catalogue
	var s Shard
	var p Part
	Number(&p, 7)
	for _, tt := range []struct {
		name         string
		lock, unlock func()
		mu           interface {
			TryLock() bool
			Unlock()
		}
		want    held
		readers bool
	}{
		{"catalogue", c.Lock, c.Unlock, &c.mu, held{level: catalogue}, false},
		{"shard", s.Lock, s.Unlock, &s.mu, held{level: shard}, false},
		{"shard, read", s.RLock, s.RUnlock, &s.mu, held{level: shard}, true},
		{"part", p.Lock, p.Unlock, &p.mu, held{part, 7}, false},
		{"part, read", p.RLock, p.RUnlock, &p.mu, held{part, 7}, true},
	} {
		Take()
		tt.lock()
		if list := recorder.held[Goroutine()]; len(list) != 1 || list[0].held != tt.want {
			t.Errorf("%s: %v is recorded, want %v", tt.name, list, tt.want)
		}
		if tt.mu.TryLock() {
			t.Errorf("%s: locked twice", tt.name)
		}
		if mu, ok := tt.mu.(*sync.RWMutex); ok && mu.TryRLock() {
			mu.RUnlock()
			if !tt.readers {
				t.Errorf("%s: read while it is locked", tt.name)
			}
		} else if tt.readers {
			t.Errorf("%s: one reader only", tt.name)
		}
		tt.unlock()
		if !tt.mu.TryLock() {
			t.Fatalf("%s: not let go", tt.name)
		}
		tt.mu.Unlock()
		if r := Take(); r.Locks != 1 || len(recorder.held) != 0 {
			t.Errorf("%s: %d locks, %d goroutines hold some", tt.name, r.Locks, len(recorder.held))
		}
	}
	if !p.TryLock() || p.TryLock() || p.TryRLock() {
		t.Error("TryLock does not lock once")
	}
	p.mu.Unlock()
	if !p.TryRLock() || !p.TryRLock() || p.TryLock() {
		t.Error("TryRLock does not lock for readers")
	}
	if r := Take(); r.Locks != 0 {
		t.Errorf("%d locks that did not wait are recorded", r.Locks)
	}
}

// TestHoldOfNamesIsSeen holds the lock of the catalogue while the processor works.
func TestHoldOfNamesIsSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of a thread is not known")
	}
	var c Catalogue
	MeasureNames()
	c.Lock()
	for from, _ := ThreadUsage(); ; {
		if now, _ := ThreadUsage(); now-from > time.Millisecond {
			break
		}
	}
	c.Unlock()
	if longest, worst := MeasuredNames(); longest < time.Millisecond || !strings.Contains(worst, "TestHoldOfNamesIsSeen") {
		t.Errorf("held for %v\n%s", longest, worst)
	}
	c.Lock()
	c.Unlock() //nolint:staticcheck // nothing is done under it
	if longest, _ := MeasuredNames(); longest != 0 {
		t.Errorf("held for %v, and nobody measures", longest)
	}
}

// TestPullIsSeenFromThreads reads sequences to their ends, and stops before.
func TestPullIsSeenFromThreads(t *testing.T) {
	for stops := range 5 {
		next, stop := Pull(slices.Values([]int{0, 1, 2}))
		for i := range stops {
			runtime.LockOSThread()
			v, ok := next()
			runtime.UnlockOSThread()
			if ok != (i < 3) || ok && v != i {
				t.Errorf("value %d is %d, %t", i, v, ok)
			}
		}
		stop()
		stop()
		if _, ok := next(); ok {
			t.Error("there are values behind the end")
		}
	}
}
