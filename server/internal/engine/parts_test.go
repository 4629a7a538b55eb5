package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/peers"
)

// oneWhole spreads contents so that the first node holds all of them, and no other does.
func oneWhole(shard, node int) bool { return node == 0 || shard%3+1 == node }

// pairs returns the fields of a map.
func pairs(t *testing.T, r answer.Reply) (names []string, values map[string]answer.Reply) {
	t.Helper()
	if r.Failed() || len(r.Elems)%2 != 0 {
		t.Fatalf("not a map: %.300s", show(r))
	}
	values = map[string]answer.Reply{}
	for i := 0; i < len(r.Elems); i += 2 {
		names = append(names, r.Elems[i].Text)
		values[r.Elems[i].Text] = r.Elems[i+1]
	}
	return names, values
}

// sameFigure reports whether two figures are equal, up to how sums were rounded.
func sameFigure(a, b answer.Reply) bool {
	if a.Kind != answer.Double {
		return show(a) == show(b)
	}
	x, y := math.Float64frombits(uint64(a.N)), math.Float64frombits(uint64(b.N))
	return b.Kind == answer.Double && math.Abs(x-y) <= 1e-9*math.Abs(x)
}

// TestInfoOfParts asks for FILTER.INFO at a node that holds all parts of filters, and at nodes that do not: the
// figures are equal, in the same order.
func TestInfoOfParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneWhole)
		b := v.nodes[0]
		b.lines("FILTER.CREATE f counting CAPACITY 100000 PARTS 16 BUDGET 1000000", "FILTER.CREATE g bloom CAPACITY 1500 ERROR 0.001 PARTS 16", "FILTER.CREATE w window CAPACITY 1000 SPAN 1h PARTS 4", "FILTER.CREATE s scalable CAPACITY 1000 PARTS 8")
		for _, name := range []string{"f", "g", "w", "s"} {
			b.do(withItems("FILTER.ADD "+name, 0, 2900)...)
		}
		time.Sleep(time.Second)
		for _, name := range []string{"f", "g", "w", "s"} {
			want, whole := pairs(t, b.exec(args([]string{"FILTER.INFO", name}))[0])
			for i, n := range v.nodes[1:] {
				got, parts := pairs(t, n.exec(args([]string{"FILTER.INFO", name}))[0])
				if !slices.Equal(got, want) {
					t.Fatalf("node %d, %s has the fields %v, want %v", i+2, name, got, want)
				}
				for _, f := range []string{"kind", "capacity", "items", "items_exact", "bits", "bytes", "parts", "asked", "predicted", "saturation", "skew", "hash", "usable", "age", "grows", "alarm", "verdict", "reason", "command", "nodes"} {
					if !sameFigure(whole[f], parts[f]) {
						t.Errorf("node %d, %s: %s = %s, want %s", i+2, name, f, show(parts[f]), show(whole[f]))
					}
				}
				for _, f := range []string{"layers", "generations", "generation", "budget"} {
					if show(whole[f]) != show(parts[f]) {
						t.Errorf("node %d, %s: %s = %s, want %s", i+2, name, f, show(parts[f]), show(whole[f]))
					}
				}
			}
		}
		if _, f := pairs(t, v.nodes[2].exec(args([]string{"FILTER.INFO", "g"}))[0]); show(f["verdict"]) == `"OK"` || !strings.HasPrefix(show(f["nodes"]), `"1:16 2:`) {
			t.Errorf("verdict %s, nodes %s", show(f["verdict"]), show(f["nodes"]))
		}
		if got := v.nodes[2].line("FILTER.INFO g JSON"); !strings.Contains(got, `items`) || !strings.Contains(got, `history`) {
			t.Errorf("as JSON: %.300s", got)
		}
		if got := v.nodes[2].line("FILTER.INFO none"); got != "-ERR not found" {
			t.Errorf("of no filter: %s", got)
		}
		// What callers report is counted where it is asked for, by whichever holder.
		v.nodes[1].do(withItems("FILTER.FALSE f", 0, 10)...)
		v.nodes[3].do(withItems("FILTER.FALSE f", 10, 20)...)
		if _, f := pairs(t, v.nodes[2].exec(args([]string{"FILTER.INFO", "f"}))[0]); show(f["false_reported"]) != ":20" {
			t.Errorf("false_reported = %s", show(f["false_reported"]))
		}
	})
}

// TestListOfParts asks for FILTER.LIST at a node that holds everything, and at nodes that do not: they have the
// same rows in the same order.
func TestListOfParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneWhole)
		b := v.nodes[0]
		b.lines("FILTER.CREATE many counting CAPACITY 100000 PARTS 16", "FILTER.CREATE all bloom CAPACITY 1000 REPLICAS ALL", "SET string v", "TOPK.RESERVE top 5", "CF.RESERVE cuckoo 1000", "CMS.INITBYDIM counts 100 5")
		b.do(withItems("FILTER.ADD many", 0, 300)...)
		for i := range 150 {
			b.do(withItems(fmt.Sprint("BF.MADD bf", i), 0, i+1)...)
		}
		time.Sleep(time.Second)
		for _, line := range []string{"FILTER.LIST", "FILTER.LIST SORT items DESC COUNT 200", "FILTER.LIST SORT kind", "FILTER.LIST SORT bytes OFFSET 100", "FILTER.LIST MATCH m*", "FILTER.LIST SORT verdict", "FILTER.LIST COUNT 0"} {
			_, whole := pairs(t, b.exec(args(strings.Fields(line)))[0])
			for i, n := range v.nodes[1:] {
				_, parts := pairs(t, n.exec(args(strings.Fields(line)))[0])
				if show(whole["total"]) != show(parts["total"]) || len(whole["filters"].Elems) != len(parts["filters"].Elems) {
					t.Fatalf("node %d, %s: %s and %d rows, want %s and %d", i+2, line, show(parts["total"]), len(parts["filters"].Elems), show(whole["total"]), len(whole["filters"].Elems))
				}
				for j, row := range whole["filters"].Elems {
					want, wholeRow := pairs(t, row)
					got, partsRow := pairs(t, parts["filters"].Elems[j])
					if !slices.Equal(got, want) {
						t.Fatalf("node %d, %s, row %d has the fields %v, want %v", i+2, line, j, got, want)
					}
					for _, f := range []string{"key", "kind", "items", "items_exact", "capacity", "bytes", "parts", "layers", "saturation", "asked", "predicted", "verdict", "reason", "command", "created"} {
						if !sameFigure(wholeRow[f], partsRow[f]) {
							t.Errorf("node %d, %s, %s: %s = %s, want %s", i+2, line, show(wholeRow["key"]), f, show(partsRow[f]), show(wholeRow[f]))
						}
					}
				}
			}
		}
		few := v.nodes[1].connect()
		v.nodes[1].line("ACL SETUSER few on >pw ~bf1* +filter.list +auth")
		few.line("AUTH few pw")
		if _, list := pairs(t, few.exec(args([]string{"FILTER.LIST"}))[0]); show(list["total"]) != ":61" {
			t.Errorf("a user sees %s filters, want those that it may read", show(list["total"]))
		}
		for _, line := range []string{"FILTER.LIST SORT none", "FILTER.LIST \x00of x"} {
			if got := v.nodes[1].line(line); !strings.HasPrefix(got, "-ERR ") {
				t.Errorf("%q = %.100s", line, got)
			}
		}
		v.peers.SetDeaf(true)
		time.Sleep(10 * time.Second)
		_, list := pairs(t, v.nodes[1].exec(args([]string{"FILTER.LIST", "SORT", "items", "COUNT", "1000"}))[0])
		lost := 0
		for _, row := range list["filters"].Elems {
			_, fields := pairs(t, row)
			entry := v.nodes[1].state.Names.Lookup([]byte(fields["key"].Text), 0)
			held := true
			for _, p := range contents.Parts(entry) {
				held = held && v.nodes[1].state.Answers(p)
			}
			if held != (fields["kind"].Text != "") || held == strings.HasPrefix(fields["error"].Text, "CLUSTERDOWN shard ") {
				t.Errorf("nobody is heard of: %s", show(row))
			}
			if !held {
				lost++
			}
		}
		if lost == 0 || lost == len(list["filters"].Elems) || int64(len(list["filters"].Elems)) != list["total"].N {
			t.Errorf("nobody is heard of: %d of %d are lost, and there are %s", lost, len(list["filters"].Elems), show(list["total"]))
		}
	})
}

// TestCreateLargerThanANode makes a filter of which every node is to hold a quarter, through one that has no room
// for all of it. If a node has too little for its share, the error names it.
func TestCreateLargerThanANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return shard%4 == node })
		b := v.nodes[0]
		b.line("CONFIG SET maxmemory 5mb")
		for i := range v.room {
			v.room[i].Store(5 << 20)
		}
		time.Sleep(5 * time.Second)                             // all have heard of it
		const create = " standard CAPACITY 10000000 ERROR 0.01" // 12 MB
		if got := b.line("FILTER.CREATE f" + create); got != "+OK" {
			t.Fatalf("FILTER.CREATE = %s", got)
		}
		if n := b.exec(args([]string{"MEMORY", "USAGE", "f"}))[0].N; n < 11<<20 {
			t.Errorf("MEMORY USAGE = %d", n)
		}
		if got := b.do(withItems("FILTER.ADD f", 0, 100)...) + b.do(withItems("FILTER.HAS f", 0, 100)...); strings.Count(got, "true") != 200 {
			t.Errorf("%.300s", got)
		}
		b.line("CONFIG SET maxmemory 20mb")
		v.nodes[2].line("CONFIG SET maxmemory 4mb")
		for _, n := range []*bench{v.nodes[1], v.nodes[3]} {
			if got := n.line("FILTER.CREATE g" + create); !strings.HasPrefix(got, "-OOM node 3 (host3:1) is to hold ") {
				t.Errorf("FILTER.CREATE = %s", got)
			}
		}
		b.line("CONFIG SET maxmemory 5mb")
		time.Sleep(time.Second) // nothing is set aside for others any more
		if got := b.line("FILTER.CREATE h" + create); !strings.HasPrefix(got, "-OOM FILTER.CREATE needs ") {
			t.Errorf("FILTER.CREATE at a node that is full = %s", got)
		}
		if got := b.line("FILTER.CREATE all" + create + " REPLICAS ALL"); !strings.HasPrefix(got, "-OOM ") {
			t.Errorf("FILTER.CREATE at every node = %s", got)
		}
		if got := b.line("FILTER.CREATE small bloom CAPACITY 100"); got != "+OK" {
			t.Errorf("FILTER.CREATE = %s", got)
		}
	})
}

// TestCellsAndLayersOfParts asks for FILTER.LAYERS and DENSITY at a node that holds all parts of a filter, and at nodes that
// do not, before and after FILTER.GROW by one of these: the answers are equal.
func TestCellsAndLayersOfParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneWhole)
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 10000 PARTS 16")
		b.do(withItems("FILTER.ADD f", 0, 2900)...)
		same := func() {
			t.Helper()
			time.Sleep(time.Second) // all nodes have what was written
			for _, line := range []string{"FILTER.LAYERS f", "FILTER.DENSITY f 1", "FILTER.DENSITY f 5", "FILTER.DENSITY f 100", "FILTER.DENSITY f 4096"} {
				want := b.line(line)
				for i, n := range v.nodes[1:] {
					if got := n.line(line); got != want || strings.HasPrefix(got, "-") {
						t.Errorf("node %d: %s = %.300s, want %.300s", i+2, line, got, want)
					}
				}
			}
		}
		same()
		if got := v.nodes[1].line("FILTER.GROW f ERROR 0.0000001"); !strings.HasPrefix(got, "-ERR ERROR must be more than") {
			t.Errorf("FILTER.GROW to a lower rate = %s", got)
		}
		if got := v.nodes[1].line("FILTER.GROW f"); got != "+OK" {
			t.Errorf("FILTER.GROW = %s", got)
		}
		same()
		if _, f := pairs(t, v.nodes[2].exec(args([]string{"FILTER.INFO", "f"}))[0]); show(f["kind"]) != `"scalable"` {
			t.Errorf("it has become %s", show(f["kind"]))
		}
		if got := v.nodes[3].line("FILTER.GROW f"); !strings.HasPrefix(got, "-ERR FILTER.GROW is for kind bloom") {
			t.Errorf("FILTER.GROW once more = %s", got)
		}
		if got := v.nodes[3].do(withItems("FILTER.HAS f", 0, 2900)...); strings.Count(got, "true") != 2900 {
			t.Errorf("items are lost: %.200s", got)
		}
	})
}

// TestSilentNodeIsAskedOnce asks for items of many parts while a node does not answer: it is left out for all parts that
// it holds, not for those alone about which it was asked first.
func TestSilentNodeIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		// Nodes 2 and 4 are the first holders of parts whose other holders differ.
		holders := [][]int{{1, 3}, {1, 2}, {2, 3}, {1, 3}}
		v.place(t, func(shard, node int) bool { return slices.Contains(holders[shard%4], node) })
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 64")
		b.do(withItems("FILTER.ADD f", 0, 500)...)
		for silent := uint32(2); silent <= 4; silent++ {
			var asked atomic.Int32
			v.peers.SetFault(func(node uint32) (f memlog.Fault) {
				if node == silent {
					asked.Add(1)
					f.Unsent = peers.ErrUnsent
				}
				return f
			})
			if got := b.do(withItems("FILTER.HAS f", 0, 500)...); strings.Count(got, "true") != 500 {
				t.Errorf("node %d is silent: %.200s", silent, got)
			}
			if n := asked.Load(); n > 1 {
				t.Errorf("node %d was asked %d times by one call", silent, n)
			}
		}
	})
}

// TestDumpOfParts reads filters piece by piece through nodes none of which holds all of them: the pieces are those of a node
// that does.
func TestDumpOfParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneWhole)
		b := v.nodes[0]
		b.lines("FILTER.CREATE f bloom CAPACITY 10000 PARTS 16", "FILTER.CREATE large standard CAPACITY 2000000 ERROR 0.01")
		b.do(withItems("FILTER.ADD f", 0, 2900)...)
		time.Sleep(time.Second) // all nodes have it
		for _, name := range []string{"f", "large"} {
			for i, n := range v.nodes[1:] {
				cursor, pieces := "0", 0
				for {
					want := b.exec(args([]string{"FILTER.DUMP", name, cursor}))[0]
					got := n.exec(args([]string{"FILTER.DUMP", name, cursor}))[0]
					if show(got) != show(want) || len(got.Elems) != 2 {
						t.Fatalf("node %d: FILTER.DUMP %s %s = %.200s, want %.200s", i+2, name, cursor, show(got), show(want))
					}
					if cursor = fmt.Sprint(got.Elems[0].N); cursor == "0" {
						break
					}
					pieces++
				}
				if pieces < 4 {
					t.Errorf("%s has %d pieces", name, pieces)
				}
			}
		}
		for _, cursor := range []string{"x", "-1", "5", "99999999999"} {
			if got := v.nodes[1].line("FILTER.DUMP f " + cursor); !strings.HasPrefix(got, "-ERR cursor must be") {
				t.Errorf("cursor %s: %.100s", cursor, got)
			}
		}
	})
}

// TestSlowNodesAreWaitedFor asks for items of many parts while all nodes are slower than one is that has another one to ask
// instead: they are waited for. If none can be reached, that is an error, never "absent".
func TestSlowNodesAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		holders := [][]int{{1, 3}, {1, 2}, {2, 3}, {1, 3}}
		v.place(t, func(shard, node int) bool { return slices.Contains(holders[shard%4], node) })
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 64")
		b.do(withItems("FILTER.ADD f", 0, 500)...)
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Delay: 300 * time.Millisecond} })
		if got := b.do(withItems("FILTER.HAS f", 0, 500)...); strings.Count(got, "true") != 500 {
			t.Errorf("all nodes are slow: %.200s", got)
		}
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Unsent: peers.ErrUnsent} })
		if got := b.do(withItems("FILTER.HAS f", 0, 500)...); !strings.HasPrefix(got, "[-CLUSTERDOWN ") && !strings.HasPrefix(got, "-CLUSTERDOWN ") {
			t.Errorf("no node can be reached: %.200s", got)
		}
	})
}

// TestFewNodesAreAsked asks for items of parts that the same two nodes hold, of which either is
// nearest for some: one of them is asked, once.
func TestFewNodesAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(_, node int) bool { return node == 1 || node == 2 })
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 100000 PARTS 64")
		var asked atomic.Int32
		v.peers.SetFault(func(uint32) (f memlog.Fault) {
			asked.Add(1)
			return f
		})
		b.do(withItems("FILTER.HAS f", 0, 500)...)
		if n := asked.Load(); n != 1 {
			t.Errorf("%d questions for one call", n)
		}
		asked.Store(0)
		lines := make([]string, 64)
		for i := range lines {
			lines[i] = fmt.Sprint("FILTER.HAS f ", i)
		}
		if b.lines(lines...); asked.Load() != 1 {
			t.Errorf("%d questions for one pipeline", asked.Load())
		}
	})
}

// TestLongItems divides calls of more bytes than nodes pass on at once: answers are in the order asked.
func TestLongItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 16")
		add, has, want := []string{"FILTER.ADD", "f"}, []string{"FILTER.HAS", "f"}, make([]string, 60)
		for i := range want {
			item := fmt.Sprint(i, strings.Repeat(" and so on", 6400))
			has = append(has, item)
			if want[i] = "false"; i%3 == 0 {
				add, want[i] = append(add, item), "true"
			}
		}
		if got := b.do(add...); strings.Count(got, "true") != len(add)-2 {
			t.Errorf("FILTER.ADD = %.200s", got)
		}
		time.Sleep(time.Second) // all nodes have it
		for i, b := range v.nodes {
			if got := b.do(has...); got != fmt.Sprint(want) {
				t.Errorf("node %d: FILTER.HAS = %.200s", i+1, got)
			}
		}
	})
}

// TestSlowNodeBesideADeadOne asks for items of many parts while one node has died and the others are slow: those are waited
// for, because the other holder of a part is the dead one.
func TestSlowNodeBesideADeadOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		holders := [][]int{{1, 3}, {1, 2}, {2, 3}, {1, 3}}
		v.place(t, func(shard, node int) bool { return slices.Contains(holders[shard%4], node) })
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 64")
		b.do(withItems("FILTER.ADD f", 0, 500)...)
		for dead := uint32(2); dead <= 4; dead++ {
			v.peers.SetFault(func(node uint32) memlog.Fault {
				if node == dead {
					return memlog.Fault{Unsent: peers.ErrUnsent}
				}
				return memlog.Fault{Delay: 300 * time.Millisecond}
			})
			for _, command := range []string{"FILTER.HAS f", "FILTER.ADD f"} {
				if got := b.do(withItems(command, 0, 500)...); strings.Contains(got, "CLUSTERDOWN") {
					t.Errorf("node %d has died: %s: %.200s", dead, command, got)
				}
			}
		}
	})
}

// TestInfoBesideADeadNode asks for the figures of a filter while one node that holds parts of it has died, and is not known to
// have: the others have them.
func TestInfoBesideADeadNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return node == shard%3 || node == 3 })
		v.nodes[0].line("FILTER.CREATE f bloom CAPACITY 100000 PARTS 64")
		v.peers.SetFault(func(node uint32) memlog.Fault {
			if node == 4 {
				return memlog.Fault{Unsent: peers.ErrUnsent}
			}
			return memlog.Fault{}
		})
		for i, b := range v.nodes[:3] {
			if got := b.line("FILTER.INFO f"); strings.HasPrefix(got, "-") {
				t.Errorf("node %d: FILTER.INFO = %s", i+1, got)
			}
		}
	})
}
