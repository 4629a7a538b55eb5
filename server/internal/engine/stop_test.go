package engine

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestLongCommandsGiveWay runs pieces of a long command, of little more than half a millisecond each, on one processor. Another
// goroutine, which is ready, runs between most of them; the runtime itself would let it run every 10 milliseconds.
func TestLongCommandsGiveWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns atomic.Int64
	var done atomic.Bool
	defer done.Store(true)
	go func() {
		for ; !done.Load(); runtime.Gosched() {
			turns.Add(1)
		}
	}()
	const pieces = 200
	x := &Context{s: &Session{}}
	for range pieces {
		for from := time.Now(); time.Since(from) < 600*time.Microsecond; {
			continue
		}
		x.GiveWay()
	}
	if n := turns.Load(); n < pieces/2 {
		t.Errorf("others had %d turns between %d pieces", n, pieces)
	}
	alone := &Context{s: &Session{alone: true}}
	if alone.GiveWay(); alone.s.gaveWay.Load() != 0 {
		t.Error("a transaction gives way, while all others wait for its end")
	}
}
