package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/peers"
)

// TestLookupsInARow asks for items one by one, and some at a time, of filters that other nodes hold, in one pipeline:
// every call has its own answers, of its own shape, and those behind a write see it. A user needs no other right than
// for the commands that were sent.
func TestLookupsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b := v.nodes[0]
		bf, cf, many := away(0, 0), away(0, 1), "many"
		b.lines("BF.MADD "+bf+" a b", "CF.ADD "+cf+" a", "FILTER.CREATE many bloom CAPACITY 100000 ERROR 0.000001 PARTS 16", "SET "+away(0, 2)+" v",
			"ACL SETUSER few on >pw ~* +bf.exists +filter.has +auth")
		b.do(withItems("FILTER.ADD many", 0, 40)...)
		time.Sleep(time.Second) // all holders have it: it was not written through the nodes that are asked
		for i := range v.nodes {
			c := v.nodes[i].connect()
			got := c.lines(
				"BF.EXISTS "+bf+" a", "BF.EXISTS "+bf+" z", "BF.MEXISTS "+bf+" z a z b", "BF.EXISTS "+bf+" b", // together
				"BF.EXISTS "+bf+fmt.Sprint(" new", i), "BF.ADD "+bf+fmt.Sprint(" new", i), "BF.EXISTS "+bf+fmt.Sprint(" new", i), "BF.EXISTS "+bf+" z",
				"CF.EXISTS "+cf+" z", "CF.EXISTS "+cf+" a", "CF.COUNT "+cf+" a", "CF.MEXISTS "+cf+" a z", // a count is asked alone
				"BF.EXISTS "+cf+" a", "BF.EXISTS "+cf+" b", "BF.EXISTS none a", "BF.EXISTS none b",
				"FILTER.HAS none a", "FILTER.HAS none b", "BF.EXISTS "+bf, "BF.EXISTS "+bf+" a",
			)
			want := []string{
				":1", ":0", "[false true false true]", ":1",
				":0", ":1", ":1", ":0",
				":0", ":1", ":1", "[true false]",
				":0", ":0", ":0", ":0",
				"-ERR not found", "-ERR not found", "-ERR wrong number of arguments for 'bf.exists' command", ":1",
			}
			for j := range want {
				if got[j] != want[j] {
					t.Errorf("node %d, reply %d = %s, want %s", i+1, j, got[j], want[j])
				}
			}
			var lines []string
			for j := range 64 {
				lines = append(lines, strings.Join(withItems("FILTER.HAS "+many, j, j+1+j%3), " "))
			}
			for j, got := range c.lines(lines...) {
				var want []bool
				for item := range 1 + j%3 {
					want = append(want, j+item < 40)
				}
				if got != fmt.Sprint(want) {
					t.Errorf("node %d, lookup %d = %s, want %v", i+1, j, got, want)
				}
			}
		}
		c := b.connect()
		c.line("AUTH few pw")
		if got := fmt.Sprint(c.lines("BF.EXISTS "+bf+" a", "BF.EXISTS "+bf+" z", "BF.MEXISTS "+bf+" a")); !strings.HasPrefix(got, "[:1 :0 -NOPERM ") {
			t.Errorf("a user of few rights: %s", got)
		}
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Lost: errors.New("lost")} })
		for _, got := range b.lines("BF.EXISTS "+bf+" a", "BF.EXISTS "+bf+" z") {
			if !strings.HasPrefix(got, "-CLUSTERDOWN BF.EXISTS has to be answered") {
				t.Errorf("nobody answers: %s", got)
			}
		}
	})
}

// TestLookupsInARowAreCounted asks for items one by one in one pipeline, of filters that other nodes hold, or some parts of
// them, a few and more than are run at once: all that is counted of filters and keys, by all nodes together, is what so many
// calls are.
func TestLookupsInARowAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b, one, steps := v.nodes[0], away(0, 0), away(0, 1)
		b.lines("FILTER.CREATE "+one+" bloom CAPACITY 1000", "FILTER.CREATE many bloom CAPACITY 100000 PARTS 16", "CF.RESERVE "+steps+" 1000 MAXITERATIONS 200")
		time.Sleep(time.Second) // all holders have them
		hits := func() (sum int64) {
			for _, n := range v.nodes {
				sum += n.engine.Figures().Hits
			}
			return sum
		}
		for _, look := range []string{"FILTER.HAS " + one, "FILTER.HAS many", "CF.EXISTS " + steps} {
			_, key, _ := strings.Cut(look, " ")
			all := 0
			for _, n := range []int{64, 600} {
				before := hits()
				var lines []string
				for i := range n {
					lines = append(lines, fmt.Sprint(look, " x", i))
				}
				b.lines(lines...)
				if got := hits() - before; got != int64(n) {
					t.Errorf("%s: %d reads have found the key, want %d", key, got, n)
				}
				all += n
				got := b.line("FILTER.INFO " + key)
				for _, want := range []string{fmt.Sprintf(`"lookups" :%d "negatives" :%d `, all, all), fmt.Sprintf(`"has_calls" :%d `, all)} {
					if !strings.Contains(got, want) {
						t.Errorf("%s: %s, want %s", key, got, want)
					}
				}
			}
		}
	})
}

// TestLookupsInARowFailAlone asks for items one by one in one pipeline while a node does not answer that alone holds some
// of them: only lookups of those fail.
func TestLookupsInARowFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(shard, node int) bool { return node == 1+shard%3 })
		b := v.nodes[0]
		b.line("FILTER.CREATE f bloom CAPACITY 100000 ERROR 0.000001 PARTS 64")
		b.do(withItems("FILTER.ADD f", 0, 64)...)
		v.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 2 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		var lines []string
		for i := range 64 {
			lines = append(lines, strings.Join(withItems("FILTER.HAS f", i, i+1), " "), "FILTER.HAS f absent")
		}
		found, absent, failed := 0, 0, 0
		for i, got := range b.lines(lines...) {
			switch {
			case strings.HasPrefix(got, "-CLUSTERDOWN "):
				failed++
			case got == "[true]" && i%2 == 0:
				found++
			case got == "[false]" && i%2 == 1:
				absent++
			default:
				t.Errorf("%s = %s", lines[i], got)
			}
		}
		if found < 16 || failed < 8 || absent != 0 && absent != 64 {
			t.Errorf("%d items were found, %d absent, %d lookups failed", found, absent, failed)
		}
	})
}

// TestLongLookupsInARow asks for items that are together longer than a question may be, each of which is not: all are answered.
func TestLongLookupsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		b, key := v.nodes[0], away(0, 0)
		long := func(i int) string { return fmt.Sprint(i, strings.Repeat("x", door.MaxQuestion/16)) }
		b.lines("BF.ADD "+key+" "+long(0), "BF.ADD "+key+" "+long(19))
		var lines []string
		for i := range 20 {
			lines = append(lines, "BF.EXISTS "+key+" "+long(i))
		}
		for i, got := range b.lines(lines...) {
			if want := map[bool]string{true: ":1", false: ":0"}[i%19 == 0]; got != want {
				t.Errorf("lookup %d = %.300s, want %s", i, got, want)
			}
		}
	})
}

// TestLookupsInARowWithoutKey asks for items while their name comes to stand for a filter with a secret key that the node which
// asks does not have: it cannot say any more where they lie, and every call is told why.
func TestLookupsInARowWithoutKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		for _, b := range v.nodes[1:] {
			b.state.SetKeys(map[string]hashing.Hasher{"k1": hashing.Keyed([16]byte{1})})
		}
		b := v.nodes[0]
		v.nodes[1].lines("FILTER.CREATE f bloom CAPACITY 1000 PARTS 16", "FILTER.CREATE g bloom CAPACITY 1000 PARTS 16 KEYED k1")
		time.Sleep(time.Second) // all nodes have them
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Delay: 10 * time.Millisecond} })
		go func() {
			time.Sleep(5 * time.Millisecond)
			if got := v.nodes[1].connect().line("RENAME g f"); got != "+OK" {
				t.Error(got)
			}
		}()
		var lines []string
		for i := range 64 {
			lines = append(lines, fmt.Sprint("FILTER.HAS f x", i))
		}
		failed := 0
		for i, got := range b.lines(lines...) {
			switch {
			case strings.HasPrefix(got, "-ERR the secret key 'k1' of this filter is not in the file of keys"):
				failed++
			case got != "[false]": // this node holds it, and has answered before
				t.Errorf("lookup %d = %s", i, got)
			}
		}
		if failed < 16 {
			t.Errorf("%d lookups of 64 have failed for want of the key", failed)
		}
	})
}

// TestLookupsThatCannotBeDivided has a node not know any more where items lie when it is about to pass them on, once: they are
// looked at again, and none is left waiting.
func TestLookupsThatCannotBeDivided(t *testing.T) {
	const many = 64 // items, more than are looked at together to find out whether some lie elsewhere
	commands, divided := command.All(), 0
	for i := range commands {
		split := commands[i].Split
		if name := commands[i].Name; name != "filter.has" && name != "filter.count" {
			continue
		}
		commands[i].Split = func(p *contents.Part, items [][]byte, hashes []uint64) bool {
			if len(items) == many {
				if divided++; divided%2 == 1 {
					return false
				}
			}
			return split(p, items, hashes)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		v := newSpreadOf(t, memlog.Faults{}, commands)
		b := v.nodes[0]
		b.line("FILTER.CREATE f counting CAPACITY 1000 PARTS 16")
		time.Sleep(time.Second) // all nodes have it
		var lines []string
		for i := range many {
			lines = append(lines, fmt.Sprint("FILTER.HAS f x", i))
		}
		for i, got := range b.lines(lines...) {
			if got != "[false]" {
				t.Errorf("lookup %d = %s", i, got)
			}
		}
		for _, name := range []string{"FILTER.HAS f", "FILTER.COUNT f"} {
			if got := b.do(withItems(name, 0, many)...); strings.Count(got, " ") != many-1 {
				t.Errorf("%s = %s", name, got)
			}
		}
		if divided != 6 {
			t.Errorf("items were divided %d times, want each twice", divided)
		}
	})
}
