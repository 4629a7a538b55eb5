package engine_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// spread is four nodes, of which three hold each shard; two are to.
type spread struct {
	nodes [4]*bench
	doors [4]*cluster.Door
	logs  [4]*memlog.Node
	peers *memlog.Peers
	room  [4]atomic.Uint64 // what nodes say that they have
}

// newSpread opens the nodes. Node i+1 does not hold the shards that are i modulo 4.
func newSpread(t testing.TB, faults memlog.Faults) *spread {
	t.Helper()
	return newSpreadOf(t, faults, command.All())
}

// newSpreadOf is newSpread with other commands.
func newSpreadOf(t testing.TB, faults memlog.Faults, commands []engine.Command) *spread {
	t.Helper()
	v, log := &spread{peers: &memlog.Peers{}}, memlog.New(1, faults)
	for i := range v.nodes {
		v.room[i].Store(1 << 40)
		config := cluster.Config{Peers: v.peers, Name: fmt.Sprint("n", i), Addr: fmt.Sprintf("host%d:1", i+1), Headroom: v.room[i].Load}
		v.nodes[i], v.doors[i], v.logs[i] = newNodeWith(t, log, config, commands)
	}
	v.record(t, 0, &store.Level{Level: store.LevelShards})
	time.Sleep(5 * time.Second) // all know it, and have heard of each other
	v.place(t, func(shard, node int) bool { return shard%len(v.nodes) != node })
	return v
}

// place spreads contents, as records would: holds says which node holds which shard.
func (v *spread) place(t testing.TB, holds func(shard, node int) bool) {
	t.Helper()
	table := &roster.Shards{Copies: 2, Paused: true, Changes: 1, Places: make([]roster.Place, placement.Shards)}
	for shard := range table.Places {
		place := roster.Place{Version: 1}
		for i := range v.nodes {
			if holds(shard, i) {
				place.Copies = append(place.Copies, roster.Copy{Node: uint32(i + 1), Phase: roster.Holds, Since: 1})
			}
		}
		table.Places[shard] = place
	}
	for i, b := range v.nodes {
		own := *b.state.Roster()
		own.Shards = table
		b.state.SetRoster(&own)
		if err := b.state.Resume(uint32(i+1), roster.Everything(uint32(i+1), table)); err != nil {
			t.Fatal(err)
		}
	}
}

// record puts a record of the catalogue in order.
func (v *spread) record(t testing.TB, by int, b store.Body) {
	t.Helper()
	op := &door.Op{Record: store.Record{Body: b}}
	v.doors[by].Do([]*door.Op{op})
	v.doors[by].Wait([]*door.Op{op})
	if op.Err != nil || op.Result.Err != nil {
		t.Fatalf("%T: %v, %v", b, op.Err, op.Result.Err)
	}
}

// retire has a node take a shard from another one, and let go of its contents.
func (v *spread) retire(t *testing.T, by, from, shard int) {
	t.Helper()
	v.record(t, by, &store.ShardPause{Settings: v.nodes[by].state.Roster().Shards.Settings})
	place, node := v.nodes[by].state.Roster().Shards.Places[shard], uint32(from+1)
	v.record(t, by, &store.ShardRetire{Node: uint64(node), Shard: uint64(shard), Version: place.Version})
	v.record(t, by, &store.ShardFree{Node: uint64(node), Shard: uint64(shard), Since: place.Copy(node).Since})
	time.Sleep(10 * time.Second) // it is swept
}

// away returns a name whose first shard a node does not hold, and neither do other names that
// were made so.
func away(node, n int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("k", i); placement.Base(name)%4 == node {
			if n--; n < 0 {
				return name
			}
		}
	}
}

// TestPassOn runs commands on filters of one part at every node: the answers are those of a
// node that holds them, in pipelines, and own writes are seen.
func TestPassOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: 5 * time.Millisecond})
		for i, b := range v.nodes {
			k := func(n int) string { return away(i, n) }
			got := b.lines(
				"BF.ADD "+k(0)+" a", "BF.EXISTS "+k(0)+" a", "BF.MADD "+k(0)+" a b", "BF.MEXISTS "+k(0)+" a b c", "BF.CARD "+k(0),
				"CF.ADD "+k(1)+" a", "CF.ADD "+k(1)+" a", "CF.COUNT "+k(1)+" a", "CF.DEL "+k(1)+" a", "CF.COUNT "+k(1)+" a",
				"CMS.INITBYDIM "+k(2)+" 100 5", "CMS.INCRBY "+k(2)+" a 3", "CMS.QUERY "+k(2)+" a",
				"TOPK.RESERVE "+k(3)+" 2", "TOPK.ADD "+k(3)+" a b", "TOPK.LIST "+k(3),
				"TDIGEST.CREATE "+k(4), "TDIGEST.ADD "+k(4)+" 1 2 3", "TDIGEST.MAX "+k(4),
				"FILTER.CREATE "+k(5)+" bloom CAPACITY 100", "FILTER.ADD "+k(5)+" a", "FILTER.HAS "+k(5)+" a b", "FILTER.CARD "+k(5),
				"SET "+k(6)+" v", "GET "+k(6), "BF.ADD "+k(6)+" a", "EXISTS "+k(0), "DEL "+k(0), "BF.EXISTS "+k(0)+" a", "BF.EXISTS "+k(1)+" a",
			)
			want := []string{
				":1", ":1", "[false true]", "[true true false]", ":2",
				":1", ":1", ":2", ":1", ":1",
				"+OK", "[:3]", "[:3]",
				"+OK", "[nil nil]", `["a" "b"]`,
				"+OK", "+OK", "3",
				"+OK", "[true]", "[true false]", ":1",
				"+OK", `"v"`, "-WRONGTYPE Operation against a key holding the wrong kind of value", ":1", ":1", ":0", ":0",
			}
			for j := range want {
				if got[j] != want[j] && !(want[j] == `["a" "b"]` && got[j] == `["b" "a"]`) {
					t.Errorf("node %d, reply %d = %s, want %s", i+1, j, got[j], want[j])
				}
			}
			if !contents.PartOf(b.state.Names.Lookup([]byte(k(1)), 0)).Elsewhere() {
				t.Errorf("node %d holds what it is not to hold", i+1)
			}
			got = b.lines("BF.ADD "+k(7)+" a", "DEL "+k(7), "EXISTS "+k(7), "CF.ADD "+k(8)+" a", "RENAME "+k(8)+" "+k(9), "CF.EXISTS "+k(9)+" a", "EXISTS "+k(8))
			if fmt.Sprint(got) != "[:1 :1 :0 :1 +OK :1 :0]" {
				t.Errorf("node %d: names that change between calls: %v", i+1, got)
			}
			for _, n := range []int{1, 2, 3, 4, 5, 9} {
				b.line("DEL " + k(n))
			}
			b.line("DEL " + k(6))
		}
	})
}

// TestOwnWritesThroughAnyNode writes through a node that does not hold the filter, and reads at
// once through every holder, which may be behind: the asking node says how far it is.
func TestOwnWritesThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: 20 * time.Millisecond})
		b := v.nodes[0]
		key := away(0, 0)
		b.line("BF.RESERVE " + key + " 0.01 1000")
		lane := v.doors[0].LaneOf(b.state.Names.Lookup([]byte(key), 0).ID, 0)
		for i := range 20 {
			slow := 1 + i%3                                   // one of the holders
			v.peers.SetFault(func(node uint32) memlog.Fault { // writes go to the other one
				if node == uint32(slow+1) {
					return memlog.Fault{Unsent: peers.ErrUnsent}
				}
				return memlog.Fault{}
			})
			v.logs[slow].Hold(lane, true)
			item := fmt.Sprint("item", i)
			if got := b.line("BF.ADD " + key + " " + item); got != ":1" {
				t.Fatalf("BF.ADD = %s", got)
			}
			v.peers.SetFault(func(node uint32) memlog.Fault { // and reads to the slow one
				if node != uint32(slow+1) {
					return memlog.Fault{Unsent: peers.ErrUnsent}
				}
				return memlog.Fault{}
			})
			go func() {
				time.Sleep(time.Second)
				v.logs[slow].Hold(lane, false)
			}()
			if got := b.line("BF.EXISTS " + key + " " + item); got != ":1" {
				t.Errorf("BF.EXISTS right after BF.ADD = %s", got)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestMadeAndSeen makes keys by writes, and asks holders whose catalogue is behind.
func TestMadeAndSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		for n := range 5 {
			key := away(0, n)
			for _, l := range v.logs[1:] {
				l.Hold(0, true)
			}
			go func() {
				time.Sleep(time.Second)
				for _, l := range v.logs[1:] {
					l.Hold(0, false)
				}
			}()
			got := b.lines("BF.ADD "+key+" a", "BF.EXISTS "+key+" a", "EXISTS "+key)
			if fmt.Sprint(got) != "[:1 :1 :1]" {
				t.Errorf("%v", got)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestWritesComeBack asks that a write is answered when this node has applied it: what is done
// next here, without asking anybody, sees it.
func TestWritesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		key := away(0, 0)
		b.line("BF.RESERVE " + key + " 0.01 1000")
		lane := v.doors[0].LaneOf(b.state.Names.Lookup([]byte(key), 0).ID, 0)
		v.logs[0].Hold(lane, true)
		done := make(chan string, 1)
		go func() { done <- b.line("BF.ADD " + key + " a") }()
		time.Sleep(time.Second)
		select {
		case got := <-done:
			t.Errorf("it is answered, %s, before it is applied here", got)
		default:
		}
		v.logs[0].Hold(lane, false)
		if got := <-done; got != ":1" {
			t.Errorf("BF.ADD = %s", got)
		}
	})
}

// TestReadsDoNotGoBack reads through a holder that is ahead of this node, and then through one that
// is behind, and here: whoever has seen an item sees it again.
func TestReadsDoNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		key, own := away(0, 0), away(1, 0)
		b.lines("BF.RESERVE "+key+" 0.01 1000", "BF.ADD "+own+" x")
		time.Sleep(time.Second)
		lane := v.doors[0].LaneOf(b.state.Names.Lookup([]byte(key), 0).ID, 0)
		only := func(node uint32) {
			v.peers.SetFault(func(n uint32) (f memlog.Fault) {
				if n != node {
					f.Unsent = peers.ErrUnsent
				}
				return f
			})
		}
		for _, i := range []int{0, 2, 3} {
			v.logs[i].Hold(lane, true)
		}
		v.nodes[1].line("BF.ADD " + key + " a")
		only(2)
		if got := b.line("BF.EXISTS " + key + " a"); got != ":1" {
			t.Errorf("through a node that has it: %s", got)
		}
		later := func(what, line string, held *memlog.Node) {
			t.Helper()
			done := make(chan string, 1)
			go func() { done <- b.line(line) }()
			time.Sleep(time.Second)
			select {
			case got := <-done:
				t.Errorf("%s: %s", what, got)
				done <- ":1"
			default:
			}
			held.Hold(lane, false)
			if got := <-done; got != ":1" {
				t.Errorf("%s: %s", what, got)
			}
		}
		only(3)
		later("a node that lacks it has answered", "BF.EXISTS "+key+" a", v.logs[2])
		later("this node lacks it, and has answered", "BF.EXISTS "+own+" x", v.logs[0])
	})
}

// TestHolderDies asks for what a dead node holds: reads go to the next one, writes only if nothing
// was sent, and if nobody lives who holds it that is said.
func TestHolderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		key := away(0, 0)
		b.lines("BF.RESERVE "+key+" 0.01 1000", "BF.ADD "+key+" a", "CF.RESERVE {"+key+"}c 100")
		fault := func(f memlog.Fault, nodes ...uint32) {
			v.peers.SetFault(func(node uint32) memlog.Fault {
				if slices.Contains(nodes, node) {
					return f
				}
				return memlog.Fault{}
			})
		}
		ask := func(what, want string, lines ...string) {
			t.Helper()
			if got := fmt.Sprint(b.lines(lines...)); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %v = %s, want %s", what, lines, got, want)
			}
		}
		first := v.doors[0].Holders(placement.Base(key))[0]
		fault(memlog.Fault{Unsent: peers.ErrUnsent}, first)
		ask("no connection", "[:1 :1]", "BF.EXISTS "+key+" a", "BF.ADD "+key+" b")
		fault(memlog.Fault{Lost: peers.ErrUnknown}, first)
		ask("the answer is lost", "[:1]", "BF.EXISTS "+key+" a")
		ask("the answer of a write is lost", "[-UNKNOWN ", "CF.ADD {"+key+"}c x")
		if got := b.lines("CF.ADDNX {"+key+"}c x", "CF.EXISTS {"+key+"}c x", "CF.EXISTS {"+key+"}c x"); !strings.HasPrefix(got[0], "-UNKNOWN ") || got[1] != ":1" || got[2] != ":1" {
			t.Errorf("reads beside a write whose answer is lost: %s", got)
		}
		fault(memlog.Fault{})
		ask("it was done once", "[:1]", "CF.COUNT {"+key+"}c x")
		fault(memlog.Fault{Delay: 10 * time.Second}, first)
		began := time.Now()
		ask("a slow node", "[:1 :0]", "BF.EXISTS "+key+" a", "BF.EXISTS "+key+" z")
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the next node was asked after %v", took)
		}
		fault(memlog.Fault{Unsent: peers.ErrUnsent}, 2, 3, 4)
		ask("nobody answers", "[-CLUSTERDOWN BF.EXISTS has to be answered by another node", "BF.EXISTS "+key+" a")
		ask("nobody answers", "[-CLUSTERDOWN BF.ADD has to be answered by another node", "BF.ADD "+key+" a")
		v.peers.SetDeaf(true)
		time.Sleep(10 * time.Second)
		ask("nobody was heard of", fmt.Sprintf("[-CLUSTERDOWN shard %d has no live holder", placement.Base(key)), "BF.EXISTS "+key+" a")
	})
}

// TestHolderStarts asks for what two nodes hold of which one is dead and the other one starts: it is answered when that serves.
func TestHolderStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(_, node int) bool { return node == 1 || node == 2 })
		b := v.nodes[0]
		b.lines("BF.ADD a x", "FILTER.CREATE f bloom CAPACITY 10000 PARTS 16", "FILTER.ADD f x y z")
		time.Sleep(time.Second)
		for _, c := range []struct {
			want  string
			lines []string
		}{
			{"[:1]", []string{"BF.EXISTS a x"}},
			{"[:1 [true true true] :1]", []string{"BF.EXISTS a x", "FILTER.HAS f x y z", "BF.EXISTS a x"}},
			{"[:0]", []string{"BF.ADD a x"}},
			{"[[false false false]]", []string{"FILTER.ADD f x y z"}},
			{"[+OK +QUEUED [:1]]", []string{"MULTI", "BF.EXISTS a x", "EXEC"}},
		} {
			serves := time.Now().Add(2 * time.Second)
			v.peers.SetFault(func(node uint32) (f memlog.Fault) {
				switch {
				case node == 2:
					f.Unsent = peers.ErrUnsent
				case time.Now().Before(serves):
					f.Instead = []byte("\x01starting") // as a door refuses
				}
				return f
			})
			if got := fmt.Sprint(b.lines(c.lines...)); got != c.want || time.Since(serves) > time.Second {
				t.Errorf("%q = %s after %v, want %s", c.lines, got, time.Since(serves), c.want)
			}
		}
	})
}

// TestHolderOfPartsStarts is TestHolderStarts for commands about contents that no single node holds.
func TestHolderOfPartsStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		pairs := [][2]int{{1, 2}, {1, 3}, {2, 3}} // the first node has nothing
		v.place(t, func(shard, node int) bool { return slices.Contains(pairs[shard%3][:], node) })
		b := v.nodes[0]
		b.lines("FILTER.CREATE f bloom CAPACITY 10000 PARTS 16", "FILTER.ADD f x y z", "FILTER.CREATE g bloom CAPACITY 10000 PARTS 16", "BF.ADD a x")
		time.Sleep(time.Second)
		for _, line := range []string{"FILTER.INFO f", "FILTER.LIST", "FILTER.WHERE * x", "DUMP f", "FILTER.DUMP f 0", "COPY f copy REPLACE", "FILTER.UNION g f", "FILTER.CLEAR g", "RESTORE r 0 REPLACE"} {
			v.peers.SetFault(nil)
			words := strings.Fields(line)
			if words[0] == "RESTORE" {
				words = slices.Insert(words, 3, b.exec(args([]string{"DUMP", "f"}))[0].Text)
			}
			want := b.do(words...)
			serves := time.Now().Add(2 * time.Second)
			v.peers.SetFault(func(node uint32) (f memlog.Fault) {
				switch {
				case node == 2:
					f.Unsent = peers.ErrUnsent
				case time.Now().Before(serves):
					f.Instead = []byte("\x01starting") // as a door refuses
				}
				return f
			})
			got := b.do(words...)
			same := got == want || line == "FILTER.INFO f" || line == "FILTER.LIST" // what these have measured differs
			if !same || strings.Contains(got, "CLUSTERDOWN") || time.Since(serves) > time.Second {
				t.Errorf("%s = %.200s after %v, want %.200s", line, got, time.Since(serves), want)
			}
		}
	})
}

// TestNobodyWaitsTwice has a holder start for ever: what a client sends together waits once for it, and what it sends then
// does not. Nobody waits for a client that has left, nor when the server ends.
func TestNobodyWaitsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(_, node int) bool { return node == 1 || node == 2 })
		b := v.nodes[0]
		b.lines("BF.ADD a x", "FILTER.CREATE f bloom CAPACITY 10000 PARTS 16", "FILTER.ADD f x y z")
		time.Sleep(time.Second)
		const down = "-CLUSTERDOWN "
		ask := func(what string, least, most time.Duration, lines ...string) {
			t.Helper()
			began := time.Now()
			for i, got := range b.lines(lines...) {
				if last := i == len(lines)-1; last && !strings.HasPrefix(got, down) || strings.Contains(got, "moved") {
					t.Errorf("%s: %s = %s", what, lines[i], got)
				}
			}
			if took := time.Since(began); took < least || took > most {
				t.Errorf("%s: %q took %v", what, lines, took)
			}
		}
		const once, more = 15 * time.Second, 16 * time.Second
		for _, lines := range [][]string{
			slices.Repeat([]string{"MULTI", "BF.EXISTS a x", "EXEC"}, 3),
			{"BF.EXISTS a x", "PING", "SET s x", "BF.EXISTS a x"},
			{"FILTER.HAS f x y z", "FILTER.HAS f x y z", "FILTER.ADD f x", "FILTER.HAS f x y z"},
			{"FILTER.INFO f", "FILTER.INFO f"},
			{"DUMP f", "FILTER.WHERE nothing x", "FILTER.LIST", "DUMP f"},
		} {
			v.peers.SetFault(func(node uint32) (f memlog.Fault) {
				if f.Instead = []byte("\x01starting"); node == 2 {
					f = memlog.Fault{Unsent: peers.ErrUnsent}
				}
				return f
			})
			ask("it starts for ever", once, more, lines...)
			ask("and still", 0, time.Second, lines...)
			v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{} })
			b.lines("BF.EXISTS a x")
			b.lines("BF.EXISTS a x")
		}
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Unsent: peers.ErrUnsent} })
		left := time.Now().Add(time.Second)
		b.session.Gone = func() bool { return time.Now().After(left) }
		ask("the client leaves", time.Second, 2*time.Second, "BF.EXISTS a x", "MULTI", "BF.EXISTS a x", "EXEC")
		b.client = b.connect()
		go func() {
			time.Sleep(time.Second)
			b.engine.Ends()
		}()
		ask("the server ends", time.Second, 2*time.Second, "BF.EXISTS a x", "FILTER.INFO f", "BF.EXISTS a x")
	})
}

// TestRetiredMeanwhile takes the shard from the node that is asked, while the asking one does not
// know it yet: the calls are run, in order, by one that holds it, and nothing is done twice.
func TestRetiredMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		key := away(0, 0)
		b.line("CF.RESERVE " + key + " 1000")
		b.lines("CF.ADD "+key+" a", "CF.COUNT "+key+" a")
		v.logs[0].Hold(0, true) // it does not learn of what follows
		v.retire(t, 1, int(v.doors[0].Holders(placement.Base(key))[0])-1, placement.Base(key))
		reader, read := b.connect(), make(chan string, 1)
		go func() {
			read <- fmt.Sprint(reader.lines("CF.EXISTS "+key+" a", "CF.MEXISTS "+key+" z a", "CF.EXISTS "+key+" z"))
		}()
		done := make(chan string, 2)
		go func() {
			done <- fmt.Sprint(b.lines("CF.ADD "+key+" a", "CF.COUNT "+key+" a", "CF.EXISTS "+key+" a"))
			done <- fmt.Sprint(b.lines("MULTI", "CF.ADD "+key+" a", "EXEC"))
		}()
		time.Sleep(time.Second)
		select {
		case got := <-done:
			t.Errorf("%s was answered by a node that holds it no more", got)
		case got := <-read:
			t.Errorf("%s was answered by a node that holds it no more", got)
			read <- got
		default:
		}
		v.logs[0].Hold(0, false)
		if got := <-read; got != "[:1 [false true] :0]" {
			t.Errorf("lookups = %s", got)
		}
		for _, want := range []string{"[:1 :2 :1]", "[+OK +QUEUED [:1]]"} {
			if got := <-done; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// TestExecElsewhere runs transactions about filters that other nodes hold.
func TestExecElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		key, other := away(0, 0), away(0, 1)
		b.lines("BF.RESERVE "+key+" 0.01 100", "BF.RESERVE "+other+" 0.01 100")
		got := b.lines("MULTI", "BF.ADD "+key+" a", "BF.EXISTS "+key+" a", "EXEC", "BF.EXISTS "+key+" a")
		if fmt.Sprint(got) != "[+OK +QUEUED +QUEUED [:1 :1] :1]" {
			t.Errorf("a transaction on one filter: %v", got)
		}
		got = b.lines("MULTI", "BF.ADD "+key+" b", "BF.ADD "+other+" b", "EXEC", "BF.EXISTS "+key+" b")
		if !strings.HasPrefix(got[3], "-EXECABORT ") || got[4] != ":0" {
			t.Errorf("a transaction on two filters: %v", got)
		}
		// What every node holds, and what does not exist, is everywhere.
		b.line("FILTER.CREATE all bloom CAPACITY 100 REPLICAS ALL")
		got = b.lines("MULTI", "FILTER.HAS all a", "FILTER.HAS none a", "BF.EXISTS "+key+" a", "EXEC")
		if !strings.HasPrefix(got[4], "[[false] -") || !strings.HasSuffix(got[4], " :1]") {
			t.Errorf("a transaction that reads what every node holds: %v", got)
		}
		if got := b.line("WATCH " + key); !strings.HasPrefix(got, "-ERR a filter is watched at a node that holds its contents: node ") || !strings.Contains(got, "(host2:1)") {
			t.Errorf("WATCH = %s", got)
		}
	})
}

// TestExecOfSeveralNodes runs transactions about contents that no single node holds: they are refused, and the commands
// work without MULTI.
func TestExecOfSeveralNodes(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil || !strings.Contains(string(page), "| `EXEC` about contents that no single node holds |") {
		t.Errorf("docs/cluster.md does not list it, %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		one, two := placed(func(shard int) bool { return shard%4 == 1 }), placed(func(shard int) bool { return shard%4 == 2 })
		v.nodes[0].lines("FILTER.CREATE parts bloom CAPACITY 100 PARTS 4", "BF.RESERVE "+one+" 0.01 100", "BF.RESERVE "+two+" 0.01 100")
		time.Sleep(time.Second)
		const want = "-EXECABORT Transaction discarded: in a cluster it is one message, and no node holds the contents of all of its keys; without MULTI the commands are done one by one (redis-py: pipeline(transaction=False))"
		for i, b := range v.nodes {
			for _, lines := range [][]string{{"FILTER.HAS parts a b c d e f g h"}, {"BF.EXISTS " + one + " a", "BF.EXISTS " + two + " a"}} {
				got := b.lines(append(append([]string{"MULTI"}, lines...), "EXEC")...)
				if got[len(got)-1] != want {
					t.Errorf("node %d: %q: %v", i+1, lines, got)
				}
				for _, got := range b.lines(lines...) {
					if strings.HasPrefix(got, "-") {
						t.Errorf("node %d: %q without MULTI: %s", i+1, lines, got)
					}
				}
			}
		}
	})
}

// refusedFar are the commands that a node refuses which holds nothing of what they are about, while
// another one holds all of it; and refusedParts those that are refused on a filter of several parts of
// which no node holds all. docs/cluster.md has both.
var (
	refusedFar   = []string{}
	refusedParts = []string{}
)

// TestEveryCommandAtEveryNode runs every command that looks into filters at a node that holds
// nothing: it answers as one that holds everything, or refuses what is in the list.
func TestEveryCommandAtEveryNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(_ int, node int) bool { return node > 0 })
		refused := map[string]bool{}
		var values map[string]string // nil if the keys are not what they were made
		engine.NewTable(command.All()).Walk(func(c *engine.Command) {
			if !c.LooksInside() {
				return
			}
			for _, line := range append(inside[c.FullName()], samples[c.FullName()]...) {
				run := func(b *bench) string {
					if values == nil {
						v.nodes[1].line("FLUSHALL")
						values = setup(v.nodes[1])
						loadMap(t, v.nodes[1], "values")
					}
					time.Sleep(time.Second)
					got := b.do(words(line, values)...)
					if c.Flags.Writes() {
						values = nil
					}
					return got
				}
				want, got := run(v.nodes[1]), run(v.nodes[0])
				switch {
				case got == want || c.FullName() == "filter.info" || c.FullName() == "filter.health": // they measure
				case c.FullName() == "filter.news" && !strings.HasPrefix(got, "-"): // tokens differ
				case !strings.HasPrefix(got, "-"):
					t.Errorf("%s = %.200s, want %.200s", line, got, want)
				default:
					refused[c.FullName()] = true
				}
			}
		})
		if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, refusedFar) {
			t.Errorf("refused: %q, want %q", got, refusedFar)
		}
	})
}

// TestRightsElsewhere asks that a user has the rights of the node that it talks to, though another
// one, which asks for none, runs the command.
func TestRightsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		key, other := away(0, 0), away(0, 1)
		b.lines("FILTER.CREATE "+key+" stable CAPACITY 100", "FILTER.CREATE "+other+" bloom CAPACITY 100", "ACL SETUSER few on >pw ~"+key+" +filter.add +filter.has +multi +exec +filter.where +auth")
		b.line("FILTER.ADD " + other + " a")
		c := b.connect()
		c.line("AUTH few pw")
		for _, line := range []string{"FILTER.ADD " + key + " a", "FILTER.ADD " + other + " a", "FILTER.DEL " + key + " a"} {
			if got := c.line(line); !strings.HasPrefix(got, "-NOPERM ") {
				t.Errorf("%s = %s", line, got)
			}
		}
		if got := c.lines("MULTI", "FILTER.ADD "+key+" a", "EXEC"); !strings.HasPrefix(got[2], "-EXECABORT ") {
			t.Errorf("EXEC = %v", got)
		}
		if got := c.lines("FILTER.HAS "+key+" a", "FILTER.WHERE * a"); fmt.Sprint(got) != `[[false] ["a" []]]` {
			t.Errorf("%v", got)
		}
	})
}
