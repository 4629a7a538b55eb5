package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRebuildOfPartsElsewhere rebuilds filters through nodes that hold some of their parts, or none.
func TestRebuildOfPartsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.record(t, 0, &store.Level{Level: store.LevelRebuilds})
		for i, kind := range []string{"counting CAPACITY 3000000 ERROR 0.0001", "fuse16 CAPACITY 500000", "bloom CAPACITY 100", "bloom"} {
			name := fmt.Sprint("f", i)
			b, c := v.nodes[i%4], v.nodes[(i+1)%4]
			for _, step := range []struct{ line, want string }{
				{"FILTER.CREATE " + name + " bloom CAPACITY 1000 PARTS 4", "+OK"},
				{"FILTER.ADD " + name + " a b c d e f g h", "[true true true true true true true true]"},
				{"FILTER.REBUILD " + name + " BEGIN " + kind, "+OK"},
				{"FILTER.ADD " + name + " i j k", "[true true true]"},
				{"FILTER.REBUILD " + name + " FEED a b c d e f g h", ":8"},
				{"FILTER.REBUILD " + name + " COMMIT", "+OK"},
				{"FILTER.HAS " + name + " a b c d e f g h i j k", "[true true true true true true true true true true true]"},
			} {
				if got := b.line(step.line); got != step.want {
					t.Errorf("%s = %s, want %s", step.line, got, step.want)
				}
				if strings.Contains(step.line, "FEED") {
					time.Sleep(time.Second) // the other node has it
					if got := c.line("FILTER.REBUILD " + name + " STATUS"); !strings.Contains(got, `"fed" :8 "added" :3`) || !strings.Contains(got, `"old_items" :11`) {
						t.Errorf("STATUS = %s", got)
					}
				}
			}
			time.Sleep(time.Second)
		}
	})
}

// TestCopiesEndRebuilds asks that contents are spread while rebuilds are open only by force.
func TestCopiesEndRebuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k := v.nodes[0]
		for _, step := range []struct{ line, want string }{
			{"FILTER.REBUILD a BEGIN", "+OK"},
			{"FILTER.REBUILD new BEGIN fuse8 CAPACITY 10", "+OK"},
			{"CLUSTER COPIES 2", "-ERR rebuilds are open that this would end: a, new: COMMIT or ABORT them first, or add FORCE"},
			{"CLUSTER COPIES 2 please", "-ERR syntax error"},
			{"FILTER.REBUILD a ABORT", "+OK"},
			{"CLUSTER COPIES 2 FORCE", "+OK"},
			{"FILTER.REBUILD new STATUS", "-ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one"},
			{"FILTER.REBUILD a BEGIN", "+OK"},
			{"CLUSTER COPIES 3", "+OK"},
			{"FILTER.REBUILD a ABORT", "+OK"},
		} {
			if got := k.do(strings.Fields(step.line)...); got != step.want {
				t.Errorf("%s = %s, want %s", step.line, got, step.want)
			}
		}
	})
}

// TestBuildAtEveryNode commits a static kind in a cluster of which a node has no memory to build it.
func TestBuildAtEveryNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k, full := v.nodes[0], v.nodes[2]
		line := func(text string) string { return k.do(strings.Fields(text)...) }
		time.Sleep(time.Second) // it has the filter
		before := full.engine.Budget.Used()
		line("FILTER.REBUILD s BEGIN fuse16 CAPACITY 100000")
		feed := []string{"FILTER.REBUILD", "s", "FEED"}
		for i := range 20000 {
			feed = append(feed, fmt.Sprint("item", i))
		}
		if got := k.do(feed...); got != ":20000" {
			t.Fatal(got)
		}
		fed := full.engine.Budget.Used()
		full.engine.Budget.SetMax(fed + 10000)
		if got := line("FILTER.REBUILD s COMMIT"); !strings.HasPrefix(got, "-OOM a node that holds parts of the new filter has no memory to build them: node 3: too little is left below max-memory: ") {
			t.Errorf("COMMIT = %s", got)
		}
		full.engine.Budget.SetMax(1 << 30)
		for _, step := range []string{"FEED more = :1", "COMMIT = +OK"} {
			verb, want, _ := strings.Cut(step, " = ")
			if got := line("FILTER.REBUILD s " + verb); got != want {
				t.Errorf("%s = %s", verb, got)
			}
		}
		if got := line("FILTER.HAS s item1 item2 more"); got != "[true true true]" {
			t.Errorf("FILTER.HAS = %s", got)
		}
		time.Sleep(time.Second)
		line("DEL s")
		time.Sleep(time.Second)
		if now := full.engine.Budget.Used(); now != before {
			t.Errorf("%d bytes are in use, %d were before", now, before)
		}
	})
}
