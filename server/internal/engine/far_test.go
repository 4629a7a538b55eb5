package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/peers"
)

// oneCopy places every shard at one node.
func oneCopy(shard, node int) bool { return shard%4 == node }

// has reports whether a filter has items, at every node.
func (v *spread) has(t *testing.T, key string, from, to int) {
	t.Helper()
	time.Sleep(time.Second) // all nodes have heard of it
	for i, n := range v.nodes {
		if got := n.do(withItems("FILTER.HAS "+key, from, to)...); strings.Count(got, "true") != to-from {
			t.Errorf("node %d: %s lacks items: %.200s", i+1, key, got)
		}
	}
}

// pieces returns what FILTER.DUMP returns of a filter, and the cursors.
func (b *bench) pieces(t *testing.T, key string) (cursors []string, data [][]byte) {
	t.Helper()
	for cursor := "0"; ; {
		r := b.exec(args([]string{"FILTER.DUMP", key, cursor}))[0]
		if len(r.Elems) != 2 {
			t.Fatalf("FILTER.DUMP %s %s = %s", key, cursor, show(r))
		}
		if cursor = fmt.Sprint(r.Elems[0].N); cursor == "0" {
			return cursors, data
		}
		cursors, data = append(cursors, cursor), append(data, []byte(r.Elems[1].Text))
	}
}

// TestLoadThroughAnyNode loads filters of many parts, and of one, at nodes that hold some of them, or nothing, and dumps
// them again: the bytes are the same.
func TestLoadThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: time.Millisecond})
		v.place(t, oneCopy)
		for _, create := range []string{"bloom CAPACITY 3000 PARTS 8", "cuckoo CAPACITY 3000 PARTS 4", "bloom CAPACITY 1500000", "counting CAPACITY 3000 PARTS 4"} {
			v.nodes[0].lines("DEL f", "FILTER.CREATE f "+create)
			v.nodes[0].do(withItems("FILTER.ADD f", 0, 300)...)
			cursors, data := v.nodes[1].pieces(t, "f")
			for i, n := range v.nodes {
				key := away(i, 0)
				for j := range data {
					if got := n.exec([][]byte{[]byte("FILTER.LOAD"), []byte(key), []byte(cursors[j]), data[j]})[0]; show(got) != "+OK" {
						t.Fatalf("node %d, %s: FILTER.LOAD %s = %s", i+1, create, cursors[j], show(got))
					}
				}
				v.has(t, key, 0, 300)
				if _, again := v.nodes[(i+1)%4].pieces(t, key); len(again) != len(data) || !bytes.Equal(bytes.Join(again, nil), bytes.Join(data, nil)) {
					t.Errorf("node %d, %s: other bytes", i+1, create)
				}
				// A part of another filter is refused, and so is one that is damaged.
				for _, bad := range [][]byte{data[0][:len(data[0])-9], bytes.Repeat([]byte{7}, 300)} {
					if got := n.exec([][]byte{[]byte("FILTER.LOAD"), []byte("x" + key), []byte(cursors[0]), bad})[0]; !got.Failed() {
						t.Errorf("node %d, %s: FILTER.LOAD of a damaged part = %s", i+1, create, show(got))
					}
				}
				n.line("DEL " + key)
			}
		}
	})
}

// TestUniteThroughAnyNode unites, intersects, compares, copies and folds filters of many parts that lie apart, at every
// node: the answers are those of a server that holds all.
func TestUniteThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: time.Millisecond})
		alone := newSpread(t, memlog.Faults{})
		alone.place(t, func(int, int) bool { return true })
		v.place(t, oneCopy)
		for _, create := range []string{"bloom CAPACITY 4000 PARTS 4 SEED 1", "standard CAPACITY 200000 PARTS 4 SEED 1", "split CAPACITY 4000 PARTS 8 SEED 1"} {
			for _, n := range []*bench{v.nodes[0], alone.nodes[0]} {
				n.lines("FLUSHALL", "FILTER.CREATE a "+create, "FILTER.CREATE b "+create)
				n.do(withItems("FILTER.ADD a", 0, 200)...)
				n.do(withItems("FILTER.ADD b", 100, 300)...)
			}
			for i, n := range v.nodes {
				for _, line := range []string{
					"FILTER.UNION u%d a b", "FILTER.CARD u%d", "FILTER.INTERSECT i%d a b", "FILTER.CARD i%d", "FILTER.SIMILAR a b", "FILTER.SIMILAR a u%d",
					"COPY a c%d", "COPY a c%d", "COPY b c%d REPLACE", "FILTER.CARD c%d", "COPY none d%d", "FILTER.CREATE l%d " + strings.Fields(create)[0] + " LIKE a", "FILTER.UNION l%d a",
					"FILTER.SIMILAR l%d a", "FILTER.FOLD c%d", "FILTER.CARD c%d", "FILTER.UNION c%d a", "FILTER.FOLD c%d FIT", "FILTER.UNION u%d none",
				} {
					line = strings.ReplaceAll(line, "%d", fmt.Sprint(i))
					got, want := n.line(line), alone.nodes[0].line(line)
					if got != want {
						t.Errorf("node %d, %s: %s = %s, want %s", i+1, create, line, got, want)
					}
				}
				v.has(t, fmt.Sprint("u", i), 0, 300)
				v.has(t, fmt.Sprint("i", i), 100, 200)
				v.has(t, fmt.Sprint("c", i), 100, 300)
			}
		}
	})
}

// TestDumpThroughAnyNode makes one payload of filters of many parts at nodes none of which holds one, and restores it at
// every node.
func TestDumpThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		for _, create := range []string{"bloom CAPACITY 3000 PARTS 8", "quotient CAPACITY 3000 PARTS 4", "bloom CAPACITY 1500000"} {
			v.nodes[0].lines("FLUSHALL", "FILTER.CREATE f "+create)
			v.nodes[0].do(withItems("FILTER.ADD f", 0, 300)...)
			time.Sleep(time.Second)
			first := v.nodes[0].exec(args([]string{"DUMP", "f"}))[0]
			for i, n := range v.nodes {
				got := n.exec(args([]string{"DUMP", "f"}))[0]
				if got.Failed() || got.Text != first.Text {
					t.Fatalf("node %d, %s: DUMP = %.200s", i+1, create, show(got))
				}
				if got := n.exec([][]byte{[]byte("RESTORE"), []byte(away(i, 1)), []byte("0"), []byte(got.Text)})[0]; show(got) != "+OK" {
					t.Errorf("node %d, %s: RESTORE = %s", i+1, create, show(got))
				}
				v.has(t, away(i, 1), 0, 300)
			}
		}
	})
}

// TestUnionWhileANodeIsSilent asks that a union fails as a whole if a part cannot be had, and says so.
func TestUnionWhileANodeIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		b := v.nodes[0]
		b.lines("FILTER.CREATE a bloom CAPACITY 4000 PARTS 8", "FILTER.CREATE b bloom LIKE a")
		b.do(withItems("FILTER.ADD a", 0, 200)...)
		time.Sleep(time.Second)
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 3 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		for _, line := range []string{"FILTER.UNION u a b", "COPY a u", "FILTER.SIMILAR a b"} {
			if got := b.line(line); !strings.HasPrefix(got, "-CLUSTERDOWN ") {
				t.Errorf("%s = %s", line, got)
			}
		}
		if got := b.line("EXISTS u"); got != ":0" {
			t.Errorf("half of a filter has a name: %s", got)
		}
		v.peers.SetFault(nil)
		time.Sleep(time.Minute)
		for i, n := range v.nodes {
			if n := n.engine.Budget.Used() - n.engine.Budget.Clients() - n.state.Bytes(); n != 0 {
				t.Errorf("node %d has still set %d bytes aside", i+1, n)
			}
		}
		if got := b.line("FILTER.UNION u a b"); got != "+OK" {
			t.Errorf("FILTER.UNION = %s", got)
		}
		v.has(t, "u", 0, 200)
	})
}

// TestLongChunks loads and restores what is longer than a question, at a node that holds nothing of it.
func TestLongChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(_, node int) bool { return node > 0 })
		v.nodes[1].line("BF.RESERVE f 0.01 2000000") // 2.4 MB
		v.nodes[1].line("BF.MADD f item0 item1 item2")
		type chunk struct {
			iter string
			data []byte
		}
		var all []chunk
		for iter := "0"; ; {
			r := v.nodes[1].exec(args([]string{"BF.SCANDUMP", "f", iter}))[0]
			if iter = fmt.Sprint(r.Elems[0].N); iter == "0" {
				break
			}
			all = append(all, chunk{iter, []byte(r.Elems[1].Text)})
		}
		b := v.nodes[0]
		for _, c := range all {
			if got := b.exec([][]byte{[]byte("BF.LOADCHUNK"), []byte("g"), []byte(c.iter), c.data})[0]; show(got) != "+OK" {
				t.Fatalf("BF.LOADCHUNK %s of %d bytes = %s", c.iter, len(c.data), show(got))
			}
		}
		if got := b.line("BF.MEXISTS g item0 item1 item2 none"); got != "[true true true false]" {
			t.Errorf("BF.MEXISTS = %s", got)
		}
		dump := v.nodes[1].exec(args([]string{"DUMP", "f"}))[0].Text
		if got := b.exec([][]byte{[]byte("RESTORE"), []byte("h"), []byte("0"), []byte(dump)})[0]; show(got) != "+OK" {
			t.Fatalf("RESTORE of %d bytes = %s", len(dump), show(got))
		}
		if got := b.line("BF.MEXISTS h item0 item1 item2 none"); got != "[true true true false]" {
			t.Errorf("BF.MEXISTS = %s", got)
		}
		last := all[len(all)-1]
		if got := b.exec([][]byte{[]byte("BF.LOADCHUNK"), []byte("g"), []byte("999999999"), last.data})[0]; !got.Failed() {
			t.Errorf("BF.LOADCHUNK at no place = %s", show(got))
		}
	})
}

// TestLargerThanANode makes, fills, dumps, loads, copies, unites and compares filters of 12 MB each through a node whose memory is
// less than one of them.
func TestLargerThanANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return node == 1+shard%3 }) // the first has nothing
		b := v.nodes[0]
		b.line("CONFIG SET maxmemory 8mb")
		must := func(want, got string) {
			t.Helper()
			if got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		const create = " standard CAPACITY 10000000 ERROR 0.01 SEED 1"
		must("[+OK +OK]", fmt.Sprint(b.lines("FILTER.CREATE a"+create, "FILTER.CREATE b"+create)))
		b.do(withItems("FILTER.ADD a", 0, 200)...)
		b.do(withItems("FILTER.ADD b", 200, 300)...)
		if n := b.exec(args([]string{"MEMORY", "USAGE", "a"}))[0].N; n < 11<<20 {
			t.Errorf("MEMORY USAGE = %d", n)
		}
		cursors, data := b.pieces(t, "a")
		for i := range data {
			must("+OK", show(b.exec([][]byte{[]byte("FILTER.LOAD"), []byte("loaded"), []byte(cursors[i]), data[i]})[0]))
		}
		must("[:1 +OK +OK]", fmt.Sprint(b.lines("COPY a copied", "FILTER.UNION united a b", "FILTER.INTERSECT common a united")))
		v.has(t, "loaded", 0, 200)
		v.has(t, "copied", 0, 200)
		v.has(t, "united", 0, 300)
		v.has(t, "common", 0, 200)
		for _, line := range []string{"FILTER.SIMILAR loaded copied", "FILTER.SIMILAR common a"} {
			if got := b.line(line); got != "1" {
				t.Errorf("%s = %s", line, got)
			}
		}
		if n := b.state.Bytes(); n > 1<<20 {
			t.Errorf("the node has %d bytes", n)
		}
	})
}
