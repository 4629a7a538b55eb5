//go:build bloomerydebug

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server/internal/order"
)

// TestLocksAreInOrder has clients do everything at once, on few keys, and asks that
// no lock was taken in the wrong order and nobody waited under one.
func TestLocksAreInOrder(t *testing.T) {
	b := newDisk(t, 8<<30)
	order.Record(true)
	defer order.Record(false)
	order.Take()
	b.engine.GateReport()
	dump := setup(b)
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	var wg sync.WaitGroup
	for i := range uint64(6) {
		c := b.connect()
		rng := rand.New(rand.NewPCG(i, 5))
		wg.Go(func() {
			for range rounds {
				lines := []string{randomLine(rng), randomLine(rng), randomLine(rng)}
				c.lines(lines...)
				switch rng.IntN(40) {
				case 0:
					c.line("SAVE")
				case 1:
					c.line("FLUSHALL")
				case 2:
					b.engine.Sweep(10)
				case 3:
					c.do("RESTORE", fmt.Sprint("k", rng.IntN(3)), "1", dump["$dump"], "REPLACE")
				case 4:
					c.lines("KEYS *", "SCAN 0 COUNT 10", "DUMP ka", "MEMORY USAGE kb", "RANDOMKEY", "INFO")
				default:
				}
			}
		})
	}
	wg.Wait()
	r := order.Take()
	t.Log(r)
	if r.Locks == 0 || r.Holds == 0 {
		t.Error("nothing was recorded")
	}
	for _, what := range append(r.Inversions, r.Waits...) {
		t.Error(what)
	}
	for _, what := range b.engine.GateReport().Waits {
		t.Error(what)
	}
}
