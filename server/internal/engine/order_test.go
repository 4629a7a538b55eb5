//go:build bloomerydebug

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
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

// TestMergesAreInOrder has sketches merged into new keys and into old ones: a merge
// holds its sources while it names what it has made.
func TestMergesAreInOrder(t *testing.T) {
	b := newDisk(t, 8<<30)
	c := b.connect()
	c.lines("TDIGEST.CREATE a", "TDIGEST.ADD a 1 2 3", "TDIGEST.CREATE b", "TDIGEST.ADD b 4",
		"CMS.INITBYDIM c 10 2", "CMS.INITBYDIM d 10 2", "FILTER.CREATE e bloom CAPACITY 100", "FILTER.CREATE f bloom LIKE e")
	order.Record(true)
	defer order.Record(false)
	order.Take()
	for _, line := range []string{
		"TDIGEST.MERGE new 2 a b", "TDIGEST.MERGE a 1 b", "TDIGEST.MERGE b 1 a OVERRIDE", "CMS.MERGE c 1 d",
		"FILTER.UNION other e f", "FILTER.UNION e f",
	} {
		got := c.line(line)
		if r := order.Take(); strings.HasPrefix(got, "-") || r.Locks == 0 || len(r.Inversions) > 0 || len(r.Waits) > 0 {
			t.Errorf("%s: %q, %v %q %q", line, got, r, r.Inversions, r.Waits)
		}
	}
}
