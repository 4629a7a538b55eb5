package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// lies returns a name that begins with a prefix, and lies at a node where there is one copy.
func lies(prefix string, node int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint(prefix, i); oneCopy(placement.Base(name), node) {
			return name
		}
	}
}

// TestMergesThroughAnyNode merges sketches each of which another node holds, at every node: the answers are those of a server
// that holds all.
func TestMergesThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, alone := newSpread(t, memlog.Faults{Delay: time.Millisecond}), newSpread(t, memlog.Faults{})
		alone.place(t, func(int, int) bool { return true })
		v.place(t, oneCopy)
		var m, d [4]string
		for i := range m {
			m[i], d[i] = lies("m", i), lies("d", i)
		}
		for i, n := range v.nodes {
			lines := []string{"FLUSHALL", "SET s x", "CMS.INITBYDIM other 7 3", "BF.ADD b x"}
			for j := range m {
				lines = append(lines, "CMS.INITBYDIM "+m[j]+" 10 3", fmt.Sprintf("CMS.INCRBY %s i %d x 3", m[j], j+1), "TDIGEST.CREATE "+d[j]+" COMPRESSION 50", fmt.Sprintf("TDIGEST.ADD %s %d %d", d[j], j, 10*j))
			}
			fresh := lies("new", (i+1)%4)
			lines = append(lines,
				"CMS.MERGE "+strings.Join([]string{m[0], "3", m[1], m[2], m[3], "WEIGHTS", "1", "2", "3"}, " "), "CMS.QUERY "+m[0]+" i x", "CMS.INFO "+m[0],
				"CMS.MERGE "+m[1]+" 2 "+m[1]+" "+m[2], "CMS.QUERY "+m[1]+" i x", "CMS.MERGE "+m[2]+" 2 "+m[3]+" "+m[3], "CMS.QUERY "+m[2]+" i",
				"CMS.MERGE none 2 "+m[0]+" "+m[1], "CMS.MERGE "+m[0]+" 2 none "+m[1], "CMS.MERGE "+m[0]+" 2 s "+m[1], "CMS.MERGE "+m[0]+" 2 b "+d[1], "CMS.MERGE s 2 "+m[0]+" "+m[1], "CMS.MERGE "+m[0]+" 2 other "+m[1],
				"CMS.MERGE "+m[0]+" 2 "+m[1]+" "+m[2]+" WEIGHTS 9223372036854775807 1", "CMS.QUERY "+m[0]+" i x",
				"TDIGEST.MERGE "+fresh+" 2 "+d[0]+" "+d[1], "TDIGEST.INFO "+fresh, "TDIGEST.QUANTILE "+fresh+" 0 0.5 1", "TDIGEST.MERGE "+d[2]+" 3 "+d[0]+" "+d[1]+" "+d[3], "TDIGEST.QUANTILE "+d[2]+" 0 0.5 1",
				"TDIGEST.MERGE "+d[3]+" 2 "+d[0]+" "+d[1]+" COMPRESSION 20 OVERRIDE", "TDIGEST.INFO "+d[3], "TDIGEST.MERGE "+d[0]+" 2 none "+d[1], "TDIGEST.MERGE s 2 "+d[0]+" "+d[1], "TDIGEST.MERGE "+d[0]+" 2 "+m[0]+" "+d[1],
			)
			for _, line := range lines {
				if got, want := n.line(line), alone.nodes[0].line(line); got != want {
					t.Errorf("node %d: %s = %s, want %s", i+1, line, got, want)
				}
			}
		}
		b := v.nodes[0]
		before := b.line("CMS.QUERY " + m[1] + " i x")
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 4 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		if got := b.line("CMS.MERGE " + m[1] + " 2 " + m[2] + " " + m[3]); !strings.HasPrefix(got, "-CLUSTERDOWN contents of "+m[3]+" cannot be fetched from the nodes that hold them (") {
			t.Errorf("a source cannot be had: CMS.MERGE = %s", got)
		}
		v.peers.SetFault(nil)
		if got := b.line("CMS.QUERY " + m[1] + " i x"); got != before {
			t.Errorf("a merge that has failed: %s, want %s", got, before)
		}
		time.Sleep(time.Minute)
		for i, n := range v.nodes {
			if n := n.engine.Budget.Used() - n.engine.Budget.Clients() - n.state.Bytes(); n != 0 {
				t.Errorf("node %d has still set %d bytes aside", i+1, n)
			}
		}
	})
}

// TestMergedDigests asks that a digest which was merged in a cluster is that of a single server, and that
// its sources are as they were: there they are compressed.
func TestMergedDigests(t *testing.T) {
	lines := []string{
		"TDIGEST.CREATE a COMPRESSION 50", "TDIGEST.ADD a 1 2 3 4 5", "TDIGEST.CREATE b COMPRESSION 50", "TDIGEST.ADD b 7 8 9",
		"TDIGEST.MERGE new 2 a b", "TDIGEST.INFO new", "TDIGEST.ADD new 5 6", "TDIGEST.MERGE new 2 a b", "TDIGEST.INFO new",
		"TDIGEST.MERGE new 1 a COMPRESSION 20", "TDIGEST.INFO new", "TDIGEST.MERGE new 1 b OVERRIDE", "TDIGEST.INFO new", "TDIGEST.QUANTILE new 0 0.5 1",
	}
	alone := newBench(t, 1<<30)
	var want []string
	for _, line := range lines {
		want = append(want, alone.line(line))
	}
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := newNode(t, memlog.New(1, memlog.Faults{}))
		before := ""
		for i, line := range lines {
			if i == 4 {
				before = b.line("TDIGEST.INFO a")
			}
			if got := b.line(line); got != want[i] {
				t.Errorf("%s = %s, want %s", line, got, want[i])
			}
		}
		if got := b.line("TDIGEST.INFO a"); got != before {
			t.Errorf("a source is %s behind a merge, and was %s", got, before)
		}
	})
}

// TestMergesWithoutTheNodeOfAll merges sketches that one node holds together, which cannot be asked: others hold each of them,
// too.
func TestMergesWithoutTheNodeOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return node == 3 || oneCopy(shard, node) })
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 4 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		target, source := lies("m", 0), lies("m", 1)
		for i, n := range v.nodes[:3] {
			time.Sleep(time.Second) // until each has heard what the others hold
			for _, line := range []string{"CMS.INITBYDIM " + target + " 10 3", "CMS.INITBYDIM " + source + " 10 3", "CMS.INCRBY " + source + " x 7"} {
				n.line(line)
			}
			if got := n.line("CMS.MERGE " + target + " 1 " + source); got != "+OK" {
				t.Errorf("node %d: CMS.MERGE = %s", i+1, got)
			}
			if got := n.line("CMS.QUERY " + target + " x"); got != "[:7]" {
				t.Errorf("node %d: CMS.QUERY = %s", i+1, got)
			}
			n.line("FLUSHALL")
		}
	})
}

// TestNamesOnSeveralNodes runs every command about the contents of several names, each of which lies at one node: none
// is refused because they are apart.
func TestNamesOnSeveralNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		ran := 0
		engine.NewTable(command.All()).Walk(func(c *engine.Command) {
			if !c.LooksInside() {
				return
			}
			for _, line := range append(inside[c.FullName()], samples[c.FullName()]...) {
				names := 0
				c.Keys.Each(args(strings.Fields(line)), func(int, traits.Key) { names++ })
				if names < 2 {
					continue
				}
				ran++
				for _, b := range v.nodes {
					b.line("FLUSHALL")
					values := setup(b)
					if got := b.do(words(line, values)...); strings.Contains(got, "no single node holds") {
						t.Errorf("%s = %s", line, got)
					}
				}
			}
		})
		if ran < 10 {
			t.Errorf("%d commands were run", ran)
		}
	})
}
