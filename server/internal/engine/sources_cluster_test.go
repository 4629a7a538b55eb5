package engine_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// TestSourcesInACluster loads summaries of two sources through two nodes, in one piece and in
// several: both nodes answer with the union of the latest versions, and with what was added.
func TestSourcesInACluster(t *testing.T) {
	for _, capacity := range []int{100, 150_000} {
		synctest.Test(t, func(t *testing.T) {
			log, peers := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
			a, d, _ := newNodeOf(t, log, cluster.Config{Peers: peers})
			b, _, _ := newNodeOf(t, log, cluster.Config{Peers: peers})
			time.Sleep(5 * time.Second) // they have heard of each other
			upgrade(t, d)
			for _, n := range []*bench{a, b} {
				n.line("FILTER.READ OWNER")
			}
			load := func(n *bench, source string, version int, items ...string) string {
				f := bloom.New(capacity, 0.0001)
				for _, item := range items {
					f.AddString(item)
				}
				data, err := f.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				return n.do("FILTER.LOAD", "f", "1", string(data), "FROM", source, "VERSION", strconv.Itoa(version))
			}
			step := func(want, got, has string) {
				t.Helper()
				for _, n := range []*bench{a, b} {
					if found := n.line("FILTER.HAS f a b c d"); got != want || found != has {
						t.Errorf("capacity %d: %s, want %s; the filter has %s, want %s", capacity, got, want, found, has)
					}
				}
			}
			step(":1", load(a, "one", 1, "a"), "[true false false false]")
			step(":1", load(b, "two", 1, "b"), "[true true false false]")
			step("[true]", b.line("FILTER.ADD f d"), "[true true false true]")
			step(":1", load(b, "one", 2, "c"), "[false true true true]")
			step(":0", load(a, "one", 1, "a"), "[false true true true]") // late
			step(":0", load(a, "one", 2, "a"), "[false true true true]") // twice
			step("[true true]", a.line("FILTER.GONE f b c"), "[false true true true]")
			step(":1", load(a, "two", 2), "[false false true true]")
			for _, n := range []*bench{a, b} {
				if got := n.line("FILTER.INFO f"); !strings.Contains(got, `"one" "version" :2 `) || !strings.Contains(got, `"two" "version" :2 `) {
					t.Errorf("capacity %d: FILTER.INFO f = %s", capacity, got)
				}
			}
		})
	}
}
