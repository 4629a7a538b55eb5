package engine_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// words of a call with many items.
func withItems(head string, from, to int) []string {
	list := strings.Fields(head)
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint("item", i))
	}
	return list
}

// TestManyParts adds to filters of many parts, no node of which holds all, and asks for them, at
// every node: the answers stand in the order of the items.
func TestManyParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: 5 * time.Millisecond})
		for i, b := range v.nodes {
			bloom, counting := fmt.Sprint("bloom", i), fmt.Sprint("counting", i)
			b.lines("FILTER.CREATE "+bloom+" bloom CAPACITY 100000 ERROR 0.000001 PARTS 16", "FILTER.CREATE "+counting+" counting CAPACITY 100000 ERROR 0.000001 PARTS 16")
			if got := b.do(withItems("FILTER.ADD "+bloom, 0, 1500)...); strings.Count(got, "true") != 1500 {
				t.Fatalf("FILTER.ADD = %.300s", got)
			}
			for _, other := range v.nodes {
				time.Sleep(time.Second)
				found := other.exec(args(withItems("FILTER.HAS "+bloom, 1000, 2000)))[0]
				for j, yes := range found.Bools {
					if yes != (j < 500) {
						t.Fatalf("item %d of FILTER.HAS = %v", j, yes)
					}
				}
				if len(found.Bools) != 1000 {
					t.Fatalf("FILTER.HAS = %.300s", show(found))
				}
			}
			got := b.lines("FILTER.ADD "+counting+" a b c", "FILTER.ADD "+counting+" a b c", "FILTER.COUNT "+counting+" c d a", "FILTER.DEL "+counting+" a d", "FILTER.COUNT "+counting+" a",
				"FILTER.HAS "+counting+" a", "FILTER.HAS "+counting+" d", "FILTER.FALSE "+counting+" a d b e", "FILTER.REPAIR "+counting+" a d b e", "FILTER.HAS "+counting+" d e f",
				"FILTER.HASHASH "+counting+" 1 2 3 4", "FILTER.ADDHASH "+counting+" 1 2 3 4", "FILTER.HASHASH "+counting+" 4 3 2 1 5")
			want := []string{"[true true true]", "[false false false]", "[:2 :0 :2]", "[true false]", "[:1]", "[true]", "[false]", "[true false true false]", "[false true false true]", "[true true false]",
				"[false false false false]", "[true true true true]", "[true true true true false]"}
			for j := range want {
				if got[j] != want[j] {
					t.Errorf("node %d, reply %d = %s, want %s", i+1, j, got[j], want[j])
				}
			}
		}
	})
}

func args(words []string) [][]byte {
	list := make([][]byte, len(words))
	for i, w := range words {
		list[i] = []byte(w)
	}
	return list
}

// TestManyPartsHolderDies asks for many parts while a node does not answer: each part has other
// holders. If none of a part answers, the call is an error.
func TestManyPartsHolderDies(t *testing.T) {
	layouts := []func(shard, node int) bool{
		func(shard, node int) bool { return shard%4 != node },
		func(shard, node int) bool { return node == shard%4 || node == (shard+1)%4 }, // parts of a node have different other holders
	}
	for _, layout := range layouts {
		synctest.Test(t, func(t *testing.T) { manyPartsHolderDies(t, layout) })
	}
}

func manyPartsHolderDies(t *testing.T, layout func(shard, node int) bool) {
	v := newSpread(t, memlog.Faults{})
	v.place(t, layout)
	b := v.nodes[0]
	b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 64")
	b.do(withItems("FILTER.ADD f", 0, 500)...)
	for _, dead := range []uint32{2, 3, 4} {
		for _, f := range []memlog.Fault{{Unsent: peers.ErrUnsent}, {Lost: peers.ErrUnknown}, {Delay: time.Minute}} {
			v.peers.SetFault(func(node uint32) memlog.Fault {
				if node == dead {
					return f
				}
				return memlog.Fault{}
			})
			if got := b.do(withItems("FILTER.HAS f", 0, 500)...); strings.Count(got, "true") != 500 {
				t.Errorf("node %d has %+v: %.200s", dead, f, got)
			}
			add := b.do(withItems("FILTER.ADD f", 0, 500)...)
			none, unknown := strings.Count(add, "false"), strings.Count(add, "-UNKNOWN")
			if none != 500 && (f.Unsent != nil || unknown == 0 || unknown+strings.Count(add, ":0") != 500) {
				t.Errorf("node %d has %+v: %.200s", dead, f, add)
			}
		}
	}
	v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Unsent: peers.ErrUnsent} })
	if got := b.do(withItems("FILTER.HAS f", 0, 500)...); !strings.HasPrefix(got, "-CLUSTERDOWN ") {
		t.Errorf("nobody answers: %.200s", got)
	}
}

// TestManyPartsOneDeadOneSlow asks for many parts while a node is dead and another one is slow: each part has a holder that
// answers in the end, and no node has all of the parts whose other holder has failed.
func TestManyPartsOneDeadOneSlow(t *testing.T) {
	pairs := [][2]int{{1, 2}, {1, 3}, {2, 3}} // the first node has nothing
	for dead := uint32(2); dead <= 4; dead++ {
		for slow := uint32(2); slow <= 4; slow++ {
			synctest.Test(t, func(t *testing.T) {
				v := newSpread(t, memlog.Faults{})
				v.place(t, func(shard, node int) bool { return slices.Contains(pairs[shard%3][:], node) })
				b := v.nodes[0]
				b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 64")
				b.do(withItems("FILTER.ADD f", 0, 500)...)
				time.Sleep(time.Second)
				v.peers.SetFault(func(node uint32) (f memlog.Fault) {
					switch node {
					case dead:
						f.Unsent = peers.ErrUnsent
					case slow:
						f.Delay = 40 * time.Millisecond
					}
					return f
				})
				var lines []string // nodes that fail are found by several calls at a time
				for n := range 100 {
					lines = append(lines, strings.Join(withItems("FILTER.HAS f", n*5, n*5+5), " "))
				}
				for n := range 10 {
					began := time.Now()
					got := fmt.Sprint(b.lines(lines[n*10 : n*10+10]...))
					if took := time.Since(began); strings.Count(got, "true") != 50 || took > 80*time.Millisecond {
						t.Errorf("node %d is dead and %d slow: after %v %.200s", dead, slow, took, got)
					}
				}
			})
		}
	}
}

// TestSlotsAreHolders asks that CLUSTER SLOTS lists, for every key, nodes that hold it, and that
// SHARDS and NODES agree.
func TestSlotsAreHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		at, next := map[int][]string{}, int64(0)
		for _, row := range v.nodes[0].exec(args([]string{"CLUSTER", "SLOTS"}))[0].Elems {
			if row.Elems[0].N != next {
				t.Fatalf("a range begins at %d, want %d", row.Elems[0].N, next)
			}
			next = row.Elems[1].N + 1
			for slot := row.Elems[0].N; slot < next; slot++ {
				for _, n := range row.Elems[2:] {
					at[int(slot)] = append(at[int(slot)], n.Elems[0].Text)
				}
			}
		}
		if next != placement.Slots {
			t.Errorf("%d slots", next)
		}
		masters := map[string]int{}
		for slot, hosts := range at {
			shard := slot * placement.Shards / placement.Slots
			if len(hosts) != 3 || strings.Contains(fmt.Sprint(hosts), fmt.Sprintf("host%d", shard%4+1)) {
				t.Fatalf("slot %d is at %v", slot, hosts)
			}
			masters[hosts[0]]++
		}
		for _, row := range v.nodes[0].exec(args([]string{"CLUSTER", "SHARDS"}))[0].Elems {
			host := row.Elems[3].Elems[0].Elems[5].Text
			for i, list := 0, row.Elems[1].Elems; i < len(list); i += 2 {
				if got := at[int(list[i].N)][0]; got != host {
					t.Errorf("CLUSTER SHARDS: slot %d is first at %s, and in SLOTS at %s", list[i].N, host, got)
				}
				masters[host] -= int(list[i+1].N - list[i].N + 1)
			}
		}
		for host, n := range masters {
			if n != 0 {
				t.Errorf("%s has %d slots more in CLUSTER SLOTS than in SHARDS", host, n)
			}
		}
		if got := v.nodes[0].line("CLUSTER NODES"); strings.Count(got, " master ")+strings.Count(got, "myself,master ") != 4 || !strings.Contains(got, " 0-15") {
			t.Errorf("CLUSTER NODES = %.300s", got)
		}
	})
}

// TestAssemble asks for whole filters of many parts at every node, none of which holds one.
func TestAssemble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: 5 * time.Millisecond})
		b := v.nodes[0]
		b.lines("FILTER.CREATE f counting CAPACITY 100000 ERROR 0.000001 PARTS 16", "FILTER.CREATE g bloom CAPACITY 1000", "BF.ADD h item3", "FILTER.CREATE all bloom CAPACITY 1000 REPLICAS ALL", "FILTER.ADD all item3 item4", "CF.ADD c item4", "SET s item3")
		b.do(withItems("FILTER.ADD f", 0, 400)...)
		b.line("FILTER.ADD g item3 item500")
		time.Sleep(time.Second)
		for i, n := range v.nodes {
			if got := n.line("FILTER.CARD f"); got != ":400" {
				t.Errorf("node %d: FILTER.CARD = %s", i+1, got)
			}
			want := `["item3" ["all" "f" "g" "h"] "item4" ["all" "c" "f"] "item500" ["g"] "none" []]`
			if got := n.line("FILTER.WHERE * item3 item4 item500 none"); got != want {
				t.Errorf("node %d: FILTER.WHERE = %s, want %s", i+1, got, want)
			}
			if got := n.line("FILTER.WHERE f item3 none"); got != `["item3" ["f"] "none" []]` {
				t.Errorf("node %d: FILTER.WHERE of one = %s", i+1, got)
			}
			if got := n.exec(args([]string{"MEMORY", "USAGE", "f"}))[0].N; got < 100_000 || got != b.exec(args([]string{"MEMORY", "USAGE", "f"}))[0].N {
				t.Errorf("node %d: MEMORY USAGE = %d", i+1, got)
			}
		}
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 3 {
				f.Lost = peers.ErrUnknown
			}
			return f
		})
		if got := b.line("FILTER.CARD f"); got != ":400" {
			t.Errorf("a node does not answer: FILTER.CARD = %s", got)
		}
		if got := b.line("FILTER.WHERE * none"); got != `["none" []]` {
			t.Errorf("a node does not answer: FILTER.WHERE = %s", got)
		}
		v.peers.SetFault(nil)
		got := v.nodes[2].lines("FILTER.ADD f x", "FILTER.CLEAR f", "FILTER.CARD f", "FILTER.HAS f x item1")
		if fmt.Sprint(got) != "[[true] +OK :0 [false false]]" {
			t.Errorf("FILTER.CLEAR: %v", got)
		}
		if got := v.nodes[1].lines("MULTI", "FILTER.LIST", "EXEC"); !strings.HasPrefix(got[2], "[-ERR FILTER.LIST needs contents of several nodes") {
			t.Errorf("FILTER.LIST in a transaction = %s", got)
		}
		v.peers.SetDeaf(true)
		time.Sleep(10 * time.Second)
		for _, line := range []string{"FILTER.CARD f", "FILTER.CLEAR f", "MEMORY USAGE f"} {
			if got := b.line(line); !strings.HasPrefix(got, "-CLUSTERDOWN shard ") {
				t.Errorf("nobody is heard of: %s = %s", line, got)
			}
		}
	})
}

// TestAssembleSlow asks for whole filters while nodes are slow: others that hold the same are asked soon. If all are slow,
// they are waited for.
func TestAssembleSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		b.line("FILTER.CREATE f counting CAPACITY 100000 ERROR 0.000001 PARTS 16")
		b.do(withItems("FILTER.ADD f", 0, 400)...)
		for i := range 300 {
			b.line(fmt.Sprint("BF.ADD g", i, " item3"))
		}
		time.Sleep(time.Second)
		lines := []string{"FILTER.INFO f", "FILTER.CARD f", "FILTER.LIST SORT items COUNT 2", "FILTER.WHERE f item3"}
		want := b.lines(lines...)
		const hedge = 25 * time.Millisecond
		ask := func(what string, delays [5]time.Duration, all, where time.Duration) {
			t.Helper()
			v.peers.SetFault(func(node uint32) (f memlog.Fault) {
				if f.Delay = delays[node]; f.Delay < 0 {
					f = memlog.Fault{Unsent: peers.ErrUnsent}
				}
				return f
			})
			for i, line := range lines {
				began, most := time.Now(), all
				if i == len(lines)-1 {
					most = where
				}
				got := b.line(line)
				if took := time.Since(began); took > most || i > 0 && got != want[i] || strings.HasPrefix(got, "-") {
					t.Errorf("%s: %s = %.200s after %v, want %.200s within %v", what, line, got, took, want[i], most)
				}
				time.Sleep(time.Minute) // what is late has come
			}
		}
		ask("nobody is slow", [5]time.Duration{}, 0, 0)
		const paused = 20 * time.Second
		for node := range 3 {
			delays := [5]time.Duration{}
			delays[2+node] = paused
			ask("one is paused", delays, hedge, 16*hedge)
			delays[2+(node+1)%3] = -1
			ask("and another dead", delays, 2*hedge, 32*hedge)
			delays = [5]time.Duration{2: 2 * hedge, 3: 2 * hedge, 4: 2 * hedge}
			ask("all are slow", delays, 6*3*hedge, 2*hedge)
			delays[2+node] = paused
			ask("all are slow and one is paused", delays, 6*19*hedge, 18*hedge)
		}
	})
}

// TestRefusedForManyParts runs all of them on filters of several parts of which no node has all.
func TestRefusedForManyParts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		refused := map[string]bool{}
		engine.NewTable(command.All()).Walk(func(c *engine.Command) {
			if !c.LooksInside() || c.Group != traits.GroupFilter && c.Group != traits.GroupGeneric && c.Group != traits.GroupServer {
				return
			}
			for _, line := range append(inside[c.FullName()], samples[c.FullName()]...) {
				v.nodes[0].line("FLUSHALL")
				values := setup(v.nodes[0])
				v.nodes[0].lines("DEL f", "FILTER.CREATE f cuckoo CAPACITY 100 PARTS 4", "FILTER.ADD f i", "DEL z", "FILTER.CREATE z bloom CAPACITY 80000 PARTS 4")
				if got := v.nodes[0].do(words(line, values)...); strings.Contains(got, "needs contents that no single node holds") {
					refused[c.FullName()] = true
				}
			}
		})
		if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, refusedParts) {
			t.Errorf("refused: %q, want %q", got, refusedParts)
		}
	})
	for _, name := range append(refusedFar, refusedParts...) {
		short := strings.ToUpper(strings.TrimPrefix(name, "filter."))
		if !strings.Contains(string(page), "`"+short+"`") && !strings.Contains(string(page), "`FILTER."+short+"`") {
			t.Errorf("docs/cluster.md does not list %s", name)
		}
	}
}

// TestOtherTypesOfManyParts runs the commands of RedisBloom on a filter of FILTER.CREATE whose parts no single node holds, in the
// place of each of their keys: what they say of another type does not depend on where it lies.
func TestOtherTypesOfManyParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, ran := newSpread(t, memlog.Faults{}), 0
		local := newBench(t, 1<<30)
		defer func() { _ = local.door.Close() }() // time is simulated: nothing may be left
		engine.NewTable(command.All()).Walk(func(c *engine.Command) {
			switch c.Group {
			case traits.GroupBloom, traits.GroupCuckoo, traits.GroupCountMin, traits.GroupTopK, traits.GroupTDigest:
			default:
				return
			}
			for _, line := range append(inside[c.FullName()], samples[c.FullName()]...) {
				var keys []int
				c.Keys.Each(args(strings.Fields(line)), func(i int, _ traits.Key) { keys = append(keys, i) })
				for _, key := range keys {
					var got []string
					for _, b := range []*bench{local, v.nodes[0], v.nodes[1]} {
						b.line("FLUSHALL")
						call := words(line, setup(b))
						b.line("FILTER.CREATE wide bloom CAPACITY 100000 PARTS 16")
						call[key] = "wide"
						got = append(got, b.do(call...))
					}
					if ran++; got[1] != got[0] || got[2] != got[0] {
						t.Errorf("%s, argument %d: %s in a cluster, want %s", line, key, got[1:], got[0])
					}
				}
			}
		})
		if ran < 50 {
			t.Errorf("%d calls were tried", ran)
		}
	})
}

// TestWhereWithoutHolders asks for items where all nodes are down that hold some filters: those that are held are answered
// for, and an error names each of the others.
func TestWhereWithoutHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return node == 1+shard%3 }) // the first has nothing
		b, second := v.nodes[0], placed(func(shard int) bool { return shard%3 == 0 })
		third := placed(func(shard int) bool { return shard%3 == 1 })
		b.lines("FILTER.CREATE all bloom CAPACITY 100 REPLICAS ALL", "BF.ADD "+second+" x", "BF.ADD "+third+" x", "FILTER.ADD all x", "CMS.INITBYDIM sketch"+third+" 10 2")
		time.Sleep(time.Second)
		want := []string{"all", second, third}
		slices.Sort(want)
		if got := b.line("FILTER.WHERE * x y"); got != fmt.Sprintf(`["x" [%q %q %q] "y" []]`, want[0], want[1], want[2]) {
			t.Errorf("FILTER.WHERE = %s", got)
		}
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 3 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		want = []string{"all", second}
		slices.Sort(want)
		lost := "-CLUSTERDOWN nodes that hold contents of this key do not answer: send it again: " + third
		if got := b.line("FILTER.WHERE * x y"); got != fmt.Sprintf(`["x" [%q %q %s] "y" [%s]]`, want[0], want[1], lost, lost) {
			t.Errorf("a node does not answer: FILTER.WHERE = %s", got)
		}
		if got := b.line("FILTER.WHERE a* x"); got != `["x" ["all"]]` {
			t.Errorf("of filters that are held, FILTER.WHERE = %s", got)
		}
	})
}

// TestWhereWithoutAPart asks for items of a filter of many parts of which some are lost: only the items of those parts are
// unknown.
func TestWhereWithoutAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return node == 1+shard%3 }) // the first has nothing
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 10000 ERROR 0.000001 PARTS 8")
		b.do(withItems("FILTER.ADD f", 0, 30)...)
		time.Sleep(time.Second)
		entry := b.state.Names.Lookup([]byte("f"), 0)
		h, _ := contents.PartOf(entry).Hasher()
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 3 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		lost := 0
		for i := range 60 {
			item := fmt.Sprint("item", i)
			want := fmt.Sprintf("[%q []]", item)
			switch p := contents.PartAt(entry, uint32(bloomery.Route(h.Hash([]byte(item)), 3))); {
			case p.Shard()%3 == 1:
				want = fmt.Sprintf("[%q [-CLUSTERDOWN nodes that hold contents of this key do not answer: send it again: f]]", item)
				lost++
			case i < 30:
				want = fmt.Sprintf(`[%q ["f"]]`, item)
			}
			if got := b.line("FILTER.WHERE f " + item); got != want {
				t.Errorf("FILTER.WHERE = %s, want %s", got, want)
			}
		}
		if lost < 5 || lost > 50 {
			t.Errorf("%d of 60 items are in parts that are lost", lost)
		}
	})
}

// placed returns a name whose filter of one part lies in such a shard.
func placed(in func(shard int) bool) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("key", i); in(placement.Base(name)) {
			return name
		}
	}
}

// TestHashesOfAnotherFilter asks for items while their name comes to stand for a filter that hashes in another way: what
// is on its way has the hashes of the filter before.
func TestHashesOfAnotherFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		for _, b := range v.nodes {
			b.state.SetKeys(map[string]hashing.Hasher{"k1": hashing.Keyed([16]byte{1})})
		}
		b := v.nodes[0]
		b.lines("FILTER.CREATE f bloom CAPACITY 1000 PARTS 16", "FILTER.CREATE g bloom CAPACITY 1000 PARTS 16 KEYED k1")
		b.do(withItems("FILTER.ADD f", 0, 300)...)
		b.do(withItems("FILTER.ADD g", 0, 300)...)
		time.Sleep(time.Second)
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Delay: 10 * time.Millisecond} })
		go func() {
			time.Sleep(5 * time.Millisecond)
			if got := v.nodes[1].connect().line("RENAME g f"); got != "+OK" {
				t.Error(got)
			}
		}()
		want := fmt.Sprint(slices.Repeat([]bool{true}, 300))
		if got := b.do(withItems("FILTER.HAS f", 0, 300)...); got != want {
			t.Errorf("while it changes: %.300s", got)
		}
		if entry := b.state.Names.Lookup([]byte("g"), 0); entry != nil {
			t.Error("nothing has changed meanwhile")
		}
		if got := b.do(withItems("FILTER.HAS f", 0, 300)...); got != want {
			t.Errorf("later: %.300s", got)
		}
	})
}
