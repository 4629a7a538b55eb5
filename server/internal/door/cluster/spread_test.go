package cluster

// Clusters whose contents are spread from the beginning: what restore makes of a copy.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// spreadOver makes the folders of nodes that begin with what a folder of a single server has, and returns them
// as machines that have not been started.
func spreadOver(t *testing.T, from folder.Folder, nodes, copies int) []*machine {
	t.Helper()
	f, err := NewFounding(3, nodes, copies)
	if err != nil {
		t.Fatal(err)
	}
	list := machines(t, nodes)
	for i, m := range list {
		m.follows = i > 0
		state := store.New()
		f.Divide(state, uint32(i+1))
		if err := local.Load(from, state, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := f.Found(m.files, state, uint32(i+1), time.Now); err != nil {
			t.Fatal(err)
		}
		state.Discard()
	}
	return list
}

// sameParts asks that so many nodes hold each part that is not of a filter that all have, as a state has it,
// that the others have nothing of it, and that all have the same names.
func sameParts(t *testing.T, list []*machine, want *store.State, copies int) {
	t.Helper()
	for _, e := range want.Names.All() {
		for i, p := range contents.Parts(e) {
			has := 0
			for n, m := range list {
				other := m.state.Names.ByID(e.ID)
				if other == nil || other.Name() != e.Name() || other.When() != e.When() {
					t.Fatalf("node %d has no %s, or another one", n+1, e.Name())
				}
				q := contents.PartAt(other, uint32(i))
				switch here := m.state.Answers(q); {
				case here && !bytes.Equal(partBytes(t, q), partBytes(t, p)):
					t.Errorf("node %d has another part %d of %s", n+1, i, e.Name())
				case here:
					has++
				case !q.Elsewhere():
					t.Errorf("node %d has part %d of %s in memory, and does not hold it", n+1, i, e.Name())
				}
			}
			if all := contents.Everywhere(e); has != copies && !all || all && has != len(list) {
				t.Errorf("%d nodes hold part %d of %s", has, i, e.Name())
			}
		}
	}
	for n, m := range list {
		if got, all := m.state.Names.Len(), want.Names.Len(); got != all {
			t.Errorf("node %d has %d names, want %d", n+1, got, all)
		}
	}
}

// partBytes returns the contents of a part.
func partBytes(t *testing.T, p *contents.Part) []byte {
	t.Helper()
	p.Lock()
	defer p.Unlock()
	frozen, err := p.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Close() }()
	all := make([]byte, frozen.Size())
	buf := make([]byte, 64<<10)
	for {
		data, off := frozen.Next(buf)
		if len(data) == 0 {
			return all
		}
		copy(all[off:], data)
	}
}

// fillSpread changes filters of one part and of several, names and strings, at whichever node holds them.
func fillSpread(t *testing.T, list []*machine, round int) {
	t.Helper()
	first := list[0]
	if err := do(first.Door, set(fmt.Sprint("text", round)), set("same")); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		name := fmt.Sprint("cuckoo", i)
		if e := first.state.Names.Lookup([]byte(name), 0); e == nil {
			makeCF(t, first.Door, name)
		}
		addSomewhere(t, list, name, 0, &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{uint64(round*100 + i)}})
	}
	for i := range uint32(4) {
		addSomewhere(t, list, "parts", i, &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{uint64(round)}})
	}
	if err := do(first.Door, &door.Op{Record: store.Record{Body: &store.Rename{From: fmt.Append(nil, "cuckoo", round), To: fmt.Append(nil, "renamed", round)}}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // all have it
}

// addSomewhere applies a record of a part at a node that holds it.
func addSomewhere(t *testing.T, list []*machine, name string, index uint32, body store.Body) {
	t.Helper()
	for range 100 {
		for _, m := range list {
			e := m.state.Names.Lookup([]byte(name), 0)
			if e == nil || !m.state.Answers(contents.PartAt(e, index)) {
				continue
			}
			if err := do(m.Door, &door.Op{Record: store.Record{ID: e.ID, Index: index, Body: body}}); err != nil {
				t.Fatal(err)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("nobody holds part %d of %s", index, name)
}

// intoOne opens a copy as a single server that may hold less than it has, and then as one that may hold all.
func intoOne(t *testing.T, copied *folder.Memory, want *store.State) {
	t.Helper()
	names, err := copied.List()
	if err != nil {
		t.Fatal(err)
	}
	one, before := cloneFiles(copied, names), cloneFiles(copied, names)
	small := store.New()
	if _, err := local.Open(local.Config{State: small, Files: one, Manual: true, Most: want.Bytes() / 2}); !errors.Is(err, local.ErrLarger) || small.Names.Len() > 0 {
		t.Errorf("a server that is too small has %d names: %v", small.Names.Len(), err)
	}
	after, err := one.List()
	if err != nil || !slices.Equal(after, names) {
		t.Errorf("it has left %v, %v", after, err)
	}
	for _, name := range names {
		if !bytes.Equal(one.Bytes(name), before.Bytes(name)) {
			t.Errorf("it has changed %s", name)
		}
	}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: one, Manual: true, Most: 2 * want.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotOf(state), snapshotOf(want)) {
		t.Error("a single server has other data")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestRestoreWithoutANode starts all nodes of a restore but one: what it holds, others hold, too, and the status names it.
func TestRestoreWithoutANode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := started(t, 1)[0]
		old.fill(0)
		copied, err := readCopy(old.Door, false)
		if err != nil {
			t.Fatal(err)
		}
		list := spreadOver(t, copied, 4, 2)
		startAll(t, list[:3])
		time.Sleep(liveFor + time.Second)
		c := list[0].Cluster()
		const want = "node 4, which has a folder of the restore, has not started: start it, or bloomery cluster leave 4 --yes"
		got := fmt.Sprint(c.Problems)
		if !strings.Contains(got, want) || strings.Contains(got, "is down") || strings.Contains(got, "no node that is up") {
			t.Errorf("problems: %q", c.Problems)
		}
		if n := &c.Nodes[3]; n.Live || n.Left || n.Holds == 0 || c.Shards.Below == 0 {
			t.Errorf("node 4 is %+v, and %d shards lack copies", n, c.Shards.Below)
		}
		if _, err := list[0].Rebalance(true); err == nil || !strings.Contains(err.Error(), "nothing moves before node 4") {
			t.Errorf("it is rebalanced: %v", err)
		}
		list[3].start()
		time.Sleep(2 * time.Second)
		if c = list[0].Cluster(); len(c.Problems) > 0 || c.Shards.Below > 0 {
			t.Errorf("when it has started: %q", c.Problems)
		}
	})
}

// TestRestoreIntoNodes copies six nodes, two copies of everything, under writes, at one that lacks most of it. The copy
// becomes four nodes, three with three copies, and a single server: each has what it is to hold, byte
// for byte, and nothing else, takes writes, and has all of it after a restart.
func TestRestoreIntoNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := started(t, 1)[0]
		old.fill(0)
		copied, err := readCopy(old.Door, false)
		if err != nil {
			t.Fatal(err)
		}
		old.kill()
		six := spreadOver(t, copied, 6, 2)
		startAll(t, six)
		fillSpread(t, six, 1)
		round := 1
		six[3].source = meddling{source: source{six[3].Door}, freezing: func() {
			if round++; round < 5 {
				fillSpread(t, six, round)
			}
		}}
		if copied, err = readCopy(six[3].Door, false); err != nil || round < 2 {
			t.Fatalf("after %d rounds: %v", round, err)
		}
		whole, err := loadCopy(copied)
		if err != nil {
			t.Fatal(err)
		}
		defer whole.Discard()
		sameParts(t, six, whole, 2)
		for _, m := range six {
			m.kill()
		}
		intoOne(t, copied, whole)
		for _, c := range []struct{ nodes, copies int }{{4, 2}, {3, 3}} {
			list := spreadOver(t, copied, c.nodes, c.copies)
			most := int64(0)
			startAll(t, list)
			for _, m := range list {
				most = max(most, m.state.Bytes())
			}
			if c.copies < c.nodes && most >= whole.Bytes() {
				t.Errorf("one of %d nodes has %d bytes, and all takes %d", c.nodes, most, whole.Bytes())
			}
			sameParts(t, list, whole, c.copies)
			time.Sleep(2 * calmFor) // equal nodes have nothing to move
			if got := list[0].Cluster().Shards; got.Learning != 0 || got.Below != 0 || got.Copies != c.copies {
				t.Errorf("%d nodes: %+v", c.nodes, got)
			}
			fillSpread(t, list, 6)
			for _, m := range list { // some of them before their first snapshot
				if m != list[1] {
					m.save()
				}
				m.kill()
			}
			startAll(t, list)
			fillSpread(t, list, 7)
			for _, m := range list {
				if m.numberOf() == 0 || m.Cluster().Nodes[m.numberOf()-1].Addr != m.config.Addr {
					t.Errorf("node %d is not known by its address", m.numberOf())
				}
				m.kill()
			}
		}
	})
}

// TestRestoredNodesWait starts nodes of a restore one by one: nothing moves and nothing of the log is dropped before all are
// there, what nobody who runs holds is refused, and folders of another restore are refused for good.
func TestRestoredNodesWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := started(t, 1)[0]
		old.fill(0)
		if err := do(old.Door, set("a")); err != nil {
			t.Fatal(err)
		}
		copied, err := readCopy(old.Door, false)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := loadCopy(copied)
		if err != nil {
			t.Fatal(err)
		}
		defer whole.Discard()
		list := spreadOver(t, copied, 4, 2)
		early := make(chan error, 1)
		go func() { early <- list[1].tryStart() }() // it waits for the first node
		time.Sleep(20 * time.Second)
		select {
		case err := <-early:
			t.Fatalf("the second node does not wait: %v", err)
		default:
		}
		if m, err := snapshot.Read(list[1].files); err != nil || !isFound(list[1].files, m) || Kept(list[1].files) {
			t.Errorf("it counts as begun: %v", err)
		}
		list[0].start()
		if err := <-early; err != nil {
			t.Fatal(err)
		}
		for _, m := range list[:2] {
			if err := do(m.Door, set("a")); err != nil {
				t.Fatal(err)
			}
			m.save()
		}
		if !Kept(list[0].files) {
			t.Error("a folder with a session counts as not begun")
		}
		time.Sleep(3 * calmFor)
		first, _, err := list[0].node.Head(0)
		if status := list[0].Cluster().Shards; err != nil || first != 1 || status.Learning > 0 {
			t.Errorf("before all nodes are there the log begins at %d, and %d copies are learned: %v", first, status.Learning, err)
		}
		if _, err := list[0].Rebalance(true); err == nil {
			t.Error("an operator begins moves before all nodes are there")
		}
		startAll(t, list[2:])
		sameParts(t, list, whole, 2)

		other := spreadOver(t, copied, 4, 2)
		other[2].log = list[0].log
		if err := other[2].tryStart(); !errors.Is(err, ErrNotNew) {
			t.Errorf("a folder of another restore: %v", err)
		}
	})
}

// TestFoundings asks which clusters can begin with data.
func TestFoundings(t *testing.T) {
	for _, c := range []struct {
		lanes, nodes, copies int
		ok                   bool
	}{
		{0, 0, 0, true}, {64, 0, 0, true}, {65, 0, 0, false}, {-1, 0, 0, false},
		{0, 3, 2, true}, {0, 3, 3, true}, {0, 3, 4, false}, {0, 2, 2, false}, {0, -1, 2, false}, {0, 4, 1, false}, {0, 4, 0, false},
		{0, 100, 5, true}, {0, 100, 6, false}, {0, 101, 2, false},
	} {
		f, err := NewFounding(c.lanes, c.nodes, c.copies)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			continue
		}
		if f.Lanes() != cmp.Or(c.lanes, defaultLanes) || f.Cluster() == 0 || len(f.roster.Members) != c.nodes {
			t.Errorf("%+v: %+v", c, f.roster)
		}
		if c.nodes == 0 {
			continue
		}
		b := roster.Append(nil, f.roster)
		if r, rest, err := roster.Parse(b); err != nil || len(rest) > 0 || !bytes.Equal(roster.Append(nil, r), b) {
			t.Errorf("%+v: the roster is not one that nodes read: %v", c, err)
		}
		for shard := range placement.Shards {
			if n := f.roster.Shards.Places[shard].Count(roster.Holds); n != c.copies {
				t.Errorf("%+v: %d nodes hold shard %d", c, n, shard)
			}
		}
	}
}
