package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// followed is a cluster whose filter is followed while its parts move between nodes.
type followed struct {
	t      *testing.T
	nodes  []*killable
	random *rand.Rand
	create string
	dumped bool // DUMP answers what a copy is
	items  int
	copies [10]commandtest.Copy
	forms  string // of all news
	moves  int    // records of moves
}

// newFollowed begins a cluster of four nodes, two of which hold each part of a filter.
func newFollowed(t *testing.T, seed uint64) *followed {
	v := &followed{t: t, random: rand.New(rand.NewPCG(seed, 32))}
	log, peers := memlog.New(seed, memlog.Faults{}), &memlog.Peers{}
	for range 4 {
		k := &killable{t: t, log: log, peers: peers, files: &folder.Memory{}}
		k.start()
		v.nodes = append(v.nodes, k)
	}
	time.Sleep(5 * time.Second) // they have heard of each other
	if _, err := v.nodes[0].door.Upgrade(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := v.nodes[0].door.SetCopies(2); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute) // contents have been moved
	return v
}

// begin begins the history of a filter.
func (v *followed) begin(create string) {
	v.create, v.dumped = create, !strings.HasPrefix(create, "FILTER.")
	v.items, v.copies = 0, [10]commandtest.Copy{}
	v.must("DEL f")
	time.Sleep(5 * time.Second) // all nodes know that it is gone
	v.must(create)
}

// any is a node.
func (v *followed) any() *killable { return v.nodes[v.random.IntN(len(v.nodes))] }

// must runs a command at any node until it is done: nodes may have been killed just now, or not know a name yet.
func (v *followed) must(line string) {
	v.t.Helper()
	got := ""
	for range 60 {
		got = v.any().do(strings.Fields(line)...)
		if !strings.HasPrefix(got, "-CLUSTERDOWN") && !strings.HasPrefix(got, "-UNKNOWN") && !strings.HasSuffix(got, "not found") && got != "-ERR no such key" {
			break
		}
		time.Sleep(time.Second) // all nodes know it then
	}
	if strings.HasPrefix(got, "-") {
		v.t.Fatalf("%s: %s", line, got)
	}
}

// step changes the filter, or who holds it.
func (v *followed) step() {
	verb, del, has := "FILTER.ADD f", "FILTER.DEL f", v.random.IntN(max(1, v.items))
	if v.dumped {
		verb, del = v.create[:2]+".ADD f", v.create[:2]+".DEL f"
	}
	switch n := v.random.IntN(21); {
	case n < 10:
		for range 1 + v.random.IntN(8) {
			v.must(fmt.Sprint(verb, " item", v.items))
			v.items++
		}
	case n < 12 && (strings.Contains(v.create, "cuckoo") || strings.HasPrefix(v.create, "CF")):
		v.must(fmt.Sprint(del, " item", has))
	case n < 13 && !v.dumped:
		v.must("FILTER.CLEAR f")
	case n < 14:
		v.must(strings.Replace(v.create, " f ", " g ", 1))
		v.must(strings.Replace(verb, " f", " g", 1) + " other")
		v.must("RENAME g f")
	case n < 15 && !v.dumped:
		k := v.any()
		time.Sleep(time.Second) // it knows the name
		for _, step := range []string{"BEGIN CAPACITY 4000", "FEED fed", "COMMIT FORCE", "ABORT"} {
			k.do(strings.Fields("FILTER.REBUILD f " + step)...) // a part may have no holder just now
		}
	case n < 16:
		k := v.any()
		k.kill()
		k.start()
		time.Sleep(time.Duration(v.random.IntN(5000)) * time.Millisecond)
	case n < 17 && !v.dumped:
		v.must(fmt.Sprint("FILTER.SET f NEWS ", v.random.IntN(2000)))
	default:
		k := v.any()
		before := k.state.Roster().Shards.Changes
		if err := k.door.SetCopies(2 + v.random.IntN(2)); err == nil {
			_, _ = k.door.Rebalance(true)
		}
		time.Sleep(time.Duration(v.random.IntN(3000)) * time.Millisecond) // some have moved, and others are about to
		v.moves += int(k.state.Roster().Shards.Changes - before)
	}
}

// follow has a copy catch up, which comes and goes, at any node, and compares it with the filter, byte for byte.
func (v *followed) follow() {
	i := v.random.IntN(len(v.copies))
	f := &v.copies[i]
	if v.random.IntN(8) == 0 {
		*f = commandtest.Copy{}
	}
	failed := ""
	for range 60 {
		b := v.any().bench
		var more []string
		if f.Parts != nil && v.random.IntN(2) == 0 {
			more = []string{"SUM", f.Sum()}
		}
		if failed = f.Ask(v.t, func(args [][]byte) answer.Reply { return b.connect().exec(args)[0] }, "f", more...); failed == "" {
			break
		}
		if !strings.HasPrefix(failed, "CLUSTERDOWN") {
			break
		}
		time.Sleep(time.Second)
	}
	if failed != "" {
		v.t.Fatalf("FILTER.NEWS: %s", failed)
	}
	v.forms += f.Forms
	for j, want := range v.contents() {
		if string(f.Parts[j]) != want {
			v.t.Fatalf("part %d of a copy that has caught up is another one than that of the filter; the last news were %q", j, f.Forms)
		}
	}
}

// contents returns the encodings of the parts of the filter.
func (v *followed) contents() (parts []string) {
	for range 60 {
		c := v.any().connect()
		c.line("FILTER.READ OWNER") // what any node has acknowledged
		if v.dumped {
			if r := c.exec(args([]string{"DUMP", "f"}))[0]; r.Kind == answer.Bulk {
				return []string{r.Text}
			}
			time.Sleep(time.Second)
			continue
		}
		parts = nil
		for cursor := int64(0); ; {
			r := c.exec(args([]string{"FILTER.DUMP", "f", fmt.Sprint(cursor)}))[0]
			if r.Failed() {
				break
			}
			if cursor = r.Elems[0].N; cursor == 0 {
				return parts
			}
			parts = append(parts, r.Elems[1].Text)
		}
		time.Sleep(time.Second)
	}
	v.t.Fatal("the filter cannot be dumped")
	return nil
}

// TestFollowersOfMovingParts runs a random history of filters whose parts move between nodes, with ten followers that come
// and go and ask any node: whoever has caught up has a copy that is equal, byte for byte.
func TestFollowersOfMovingParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newFollowed(t, 32)
		defer func() {
			for _, k := range v.nodes {
				k.kill()
			}
		}()
		for _, create := range []string{
			"FILTER.CREATE f bloom CAPACITY 3000 PARTS 8", "FILTER.CREATE f cuckoo CAPACITY 3000 PARTS 4 NEWS 1000", "FILTER.CREATE f bloom CAPACITY 3000",
			"BF.RESERVE f 0.01 100", "CF.RESERVE f 100",
		} {
			v.begin(create)
			for range 25 {
				v.step()
				v.follow()
			}
		}
		whole := strings.Count(v.forms, "w") + strings.Count(v.forms, "d")
		if v.moves == 0 || whole == 0 || whole == len(v.forms) {
			t.Errorf("%d records of moves; of %d news %d were all of a part", v.moves, len(v.forms), whole)
		}
	})
}

// TestNewsWithoutMemoryHere asks a node for news of a filter that another one holds, and has no memory for them: that is what it
// answers, and not that the other one does not answer.
func TestNewsWithoutMemoryHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		v.nodes[0].lines("FILTER.CREATE f bloom CAPACITY 300000")
		for i := 0; i < 300_000; i += 10_000 {
			v.nodes[0].do(withItems("FILTER.ADD f", i, i+10_000)...)
		}
		time.Sleep(time.Second)
		short := 0
		for i, n := range v.nodes {
			n.engine.Budget.SetMax(n.engine.Budget.Used() + 300_000)
			got := show(n.connect().exec(args([]string{"FILTER.NEWS", "f"}))[0])
			if strings.HasPrefix(got, "-CLUSTERDOWN") {
				t.Errorf("node %d: %s", i+1, got)
			}
			if strings.HasPrefix(got, "-OOM") {
				short++
			}
			n.engine.Budget.SetMax(1 << 30)
		}
		if short == 0 {
			t.Error("no node was short of memory")
		}
	})
}

// TestNewsAtEveryNode asks for news of parts that lie elsewhere, some too long for one answer between nodes, at every node:
// copies are equal, byte for byte, also if their holder changes. A client that waits gets what happens elsewhere.
func TestNewsAtEveryNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{Delay: time.Millisecond})
		v.place(t, oneCopy)
		for _, create := range []string{"FILTER.CREATE f bloom CAPACITY 3000 PARTS 8", "FILTER.CREATE f cuckoo CAPACITY 3000 PARTS 4", "FILTER.CREATE f bloom CAPACITY 1500000"} {
			v.nodes[0].lines("DEL f", create)
			if items := 160_000; strings.Contains(create, "1500000") {
				for i := 0; i < items; i += 10_000 {
					v.nodes[0].do(withItems("FILTER.ADD f", i, i+10_000)...)
				}
			}
			for i, n := range v.nodes {
				var f commandtest.Copy
				ask := func(when string) {
					t.Helper()
					if failed := f.Ask(t, func(args [][]byte) answer.Reply { return n.exec(args)[0] }, "f"); failed != "" {
						t.Fatalf("node %d, %s: %s", i+1, create, failed)
					}
					if _, want := v.nodes[(i+1)%4].pieces(t, "f"); !slices.EqualFunc(want, f.Parts, bytes.Equal) {
						t.Errorf("node %d, %s: a copy is another one %s", i+1, create, when)
					}
				}
				ask("at first")
				v.nodes[(i+2)%4].do(withItems("FILTER.ADD f", 200_000+100*i, 200_000+100*i+50)...)
				if ask("later"); strings.ContainsAny(f.Forms, "w") || f.Forms == "" {
					t.Errorf("node %d, %s: news are %q", i+1, create, f.Forms)
				}
				if ask("without a change"); f.Forms != "" {
					t.Errorf("node %d, %s: news without a change: %q", i+1, create, f.Forms)
				}
				waits := n.connect()
				woken := make(chan struct{}, 10)
				waits.session.OnWake(func() { woken <- struct{}{} })
				waits.session.MayPark(true)
				call := args([]string{"FILTER.NEWS", "f", "SINCE", f.Token, "BLOCK", "3600000"})
				if r := waits.exec(call)[0]; r.Kind != answer.None || !waits.session.Parked() {
					t.Fatalf("node %d, %s: a call that is to wait answers %s", i+1, create, show(r))
				}
				v.nodes[(i+3)%4].do(withItems("FILTER.ADD f", 300_000+i, 300_001+i)...)
				<-woken
				if r := waits.exec(call)[0]; len(r.Elems) != 4 || len(r.Elems[2].Elems) != 1 {
					t.Errorf("node %d, %s: whoever has waited gets %s", i+1, create, show(r))
				}
				n.engine.Close(waits.session)
			}
		}
	})
}
