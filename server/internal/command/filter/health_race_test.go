package filter_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// TestHealthUnderUse has sessions make, use, inspect and remove filters while their
// health is measured without a pause: for the race detector, and for answers that
// must stay right.
func TestHealthUnderUse(t *testing.T) {
	b := newBench(t, 1<<30)
	var running atomic.Bool
	running.Store(true)
	var steps, sessions sync.WaitGroup
	steps.Go(func() {
		runtime.LockOSThread()
		for running.Load() {
			b.Engine.Health().Step()
			runtime.Gosched()
		}
	})
	for n := range 4 {
		sessions.Go(func() {
			s := engine.NewSession(int64(n+2), "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
			var w engine.Workspace
			do := func(format string, args ...any) answer.Reply {
				w.Reset()
				w.Add(commandtest.Fields(fmt.Sprintf(format, args...)))
				for b.Engine.Exec(s, &w, 0) == 0 {
				}
				return w.Calls[0].Reply
			}
			for i := range 60 {
				key := fmt.Sprintf("k%d-%d", n, i%3) // each session has keys of its own
				do("DEL %s", key)
				do([]string{"BF.RESERVE %s 0.01 1000", "CF.RESERVE %s 1000", "FILTER.CREATE %s bloom CAPACITY 1000 PARTS 4"}[i%3], key)
				family := []string{"BF", "CF", "FILTER"}[i%3]
				do(family+".ADD %s a", key)
				has := []string{"BF.MEXISTS", "CF.MEXISTS", "FILTER.HAS"}[i%3]
				if r := do(has+" %s a", key); len(r.Bools) != 1 || !r.Bools[0] {
					t.Errorf("%s %s a: %s", has, key, commandtest.Show(r))
				}
				do("FILTER.FALSE %s a", key)
				if r := do("FILTER.REPAIR %s a b", key); len(r.Bools) != 2 || r.Bools[0] {
					t.Errorf("FILTER.REPAIR %s: %s", key, commandtest.Show(r))
				}
				if r := do("FILTER.INFO %s", key); r.Kind != answer.Map {
					t.Errorf("FILTER.INFO %s: %s", key, commandtest.Show(r))
				}
				do("FILTER.HEALTH COUNT 3")
				do("INFO health")
			}
		})
	}
	sessions.Wait()
	running.Store(false)
	steps.Wait()
	for range 10_000 { // the goroutine may not have had its turn
		if b.Engine.Health().Totals().Probes > 0 {
			break
		}
		b.Engine.Health().Step()
	}
	if got := b.Engine.Health().Totals(); got.Probes == 0 || got.False != 240 || got.Repaired != 240 {
		t.Errorf("%d probes, %d reported, %d repaired; want some, 240 and 240", got.Probes, got.False, got.Repaired)
	}
}
