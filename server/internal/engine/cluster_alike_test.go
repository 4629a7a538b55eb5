package engine_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// TestClusterAnswersAlike runs one random history on a single server and on two nodes of
// a cluster, whose clients ask for everything that was acknowledged: the answers are the
// same, but for what a cluster refuses, and in the end the states of both nodes are.
func TestClusterAnswersAlike(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			log := memlog.New(seed, memlog.Faults{})
			local := newBench(t, 1<<30)
			defer func() { _ = local.door.Close() }() // time is simulated: nothing may be left
			a, _, _ := newNode(t, log)
			b, _, _ := newNode(t, log)
			nodes := []*bench{a, b}
			for _, n := range nodes {
				n.line("FILTER.READ OWNER")
			}
			for range 100 {
				at, lines := nodes[rng.IntN(2)], []string{}
				for range 1 + rng.IntN(10) {
					if l := randomLine(rng); !strings.HasPrefix(l, "MULTI") && !strings.HasPrefix(l, "EXEC") && !strings.HasPrefix(l, "WATCH") {
						lines = append(lines, l)
					}
				}
				if rng.IntN(4) == 0 {
					got := at.transaction(lines...)
					if strings.HasPrefix(got, "-EXECABORT") {
						continue
					}
					if want := local.transaction(lines...); got != want {
						t.Fatalf("seed %d: MULTI %q = %s in a cluster, want %s", seed, lines, got, want)
					}
					continue
				}
				got, want := at.lines(lines...), local.lines(lines...)
				for i := range lines {
					if got[i] != want[i] {
						t.Fatalf("seed %d: %q of %q = %s in a cluster, want %s", seed, lines[i], lines, got[i], want[i])
					}
				}
			}
			time.Sleep(time.Second)
			if !bytes.Equal(snapshot(a.state), snapshot(b.state)) {
				t.Errorf("seed %d: the states of the nodes differ", seed)
			}
		})
	}
}

// TestEveryWriteInACluster runs the samples of every command that writes on one node,
// and asks that the other has the same state then.
func TestEveryWriteInACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, _, _ := newNode(t, log)
		b, _, _ := newNode(t, log)
		for name, lines := range samples {
			for _, line := range lines {
				if refusedInCluster[name] {
					continue
				}
				a.line("FLUSHALL")
				values := setup(a)
				if got := a.do(words(line, values)...); strings.HasPrefix(got, "-CLUSTERDOWN") || strings.HasPrefix(got, "-UNKNOWN") || strings.HasPrefix(got, "-ERR syntax") {
					t.Errorf("%s = %s", line, got)
				}
				b.line("FILTER.READ OWNER")
				b.lines("DBSIZE", "BF.EXISTS b i", "CF.EXISTS c i", "FILTER.HAS p i", "FILTER.HAS f i", "FILTER.HAS q i", "CMS.INFO m", "TOPK.INFO k", "TDIGEST.INFO d", "TYPE new")
				time.Sleep(100 * time.Millisecond)
				if !bytes.Equal(snapshot(a.state), snapshot(b.state)) {
					t.Errorf("behind %s the states of the nodes differ", line)
				}
			}
		}
	})
}
