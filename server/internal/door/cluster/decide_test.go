package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/balance"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// settles waits until the nodes hold the shards that they are to hold, and no others.
func settles(t *testing.T, d *Door) {
	t.Helper()
	for range 600 {
		time.Sleep(time.Second)
		if r := d.state.Roster(); r.Spread() && balance.Reached(r, balance.Target(r)) {
			return
		}
	}
	t.Fatal("moves do not end")
}

// holds asks that two nodes hold every part of CFs that were filled, and have the same.
func holds(t *testing.T, nodes []*Door, filters []uint64) {
	t.Helper()
	time.Sleep(time.Second) // all have what was written last
	for _, id := range filters {
		copies := map[string]int{}
		for _, d := range nodes {
			p := contents.PartOf(d.state.Names.ByID(id))
			if p.RLock(); d.state.Answers(p) {
				_, chunk := p.Contents().ScanDump(1)
				copies[string(chunk)]++
			} else if !p.Elsewhere() {
				t.Errorf("node %d still has contents of filter %d", d.number.Load(), id)
			}
			p.RUnlock()
		}
		for chunk, n := range copies {
			if len(copies) != 1 || n != 2 || len(chunk) == 0 {
				t.Errorf("filter %d has %d forms, one of them at %d nodes", id, len(copies), n)
			}
		}
	}
}

// insertSomewhere inserts a hash at a node that holds the CF.
func insertSomewhere(t *testing.T, nodes []*Door, id, hash uint64) {
	t.Helper()
	for range 100 {
		for _, d := range nodes {
			err := do(d, &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{hash}}}})
			if err == nil {
				return
			}
			if !errors.Is(err, door.ErrRefused) {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("no node takes a write")
}

// TestNodesComeAndGo asks that contents are spread when that is asked for, that a node that
// joins gets its share by itself, that what a lost one held is learned by others, and that one that
// returns learns again, under writes, with every write counted once.
func TestNodesComeAndGo(t *testing.T) {
	if underRace {
		t.Skip("the simulation of moves shares the same memory")
	}
	bubble(t, func(t *testing.T) {
		log, peers := memlog.New(1, memlog.Faults{Twice: 0.2, Delay: 5 * time.Millisecond}), &memlog.Peers{}
		var nodes []*Door
		for i := range 3 {
			nodes = append(nodes, openShards(t, log, Config{Lanes: 2, Peers: peers, Name: fmt.Sprint("n", i)}, false))
		}
		if err := nodes[0].SetCopies(2); !errors.Is(err, errEverything) {
			t.Errorf("copies before the level allows them: %v", err)
		}
		if _, err := nodes[0].Rebalance(true); !errors.Is(err, errEverything) || !errors.Is(nodes[0].PauseMoves(true), errEverything) {
			t.Errorf("moves where every node holds everything: %v", err)
		}
		names(t, nodes[0], &store.Level{Level: store.LevelShards})
		if err := nodes[0].SetCopies(4); err == nil || !strings.Contains(err.Error(), "4 copies need 4 nodes, and there are 3") {
			t.Errorf("more copies than nodes: %v", err)
		}
		time.Sleep(time.Second)
		var filters []uint64
		for i := range 12 {
			made := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: fmt.Append(nil, "f", i), Params: cuckooOf}}}
			if err := do(nodes[i%3], made); err != nil {
				t.Fatal(err)
			}
			filters = append(filters, made.Result.Entry.ID)
		}
		time.Sleep(time.Second)
		next := uint64(0)
		fill := func() {
			for _, id := range filters {
				next++
				insertSomewhere(t, nodes, id, next)
			}
		}
		fill()
		if err := errors.Join(nodes[0].SetCopies(2), nodes[0].SetCopies(2)); err != nil || nodes[0].SetCopies(6) == nil {
			t.Fatalf("copies: %v", err)
		}
		moves, err := nodes[0].Rebalance(true)
		retires := 0
		for _, v := range moves {
			retires += v.Retires
			if v.Learns > 0 {
				t.Errorf("node %d has everything, and is to learn %d shards", v.Node, v.Learns)
			}
		}
		if err != nil || retires != placement.Shards {
			t.Errorf("of three copies of each shard %d go: %v", retires, err)
		}
		settles(t, nodes[0])
		fill()
		holds(t, nodes, filters)

		nodes = append(nodes, openShards(t, log, Config{Peers: peers, Name: "n3"}, false))
		time.Sleep(5 * time.Second)
		for i, n := range nodes[:3] {
			if got := n.Cluster().Shards.Waits; !strings.HasPrefix(got, "nodes, their memory or copies have changed: they begin 30s after that, in 2") {
				t.Errorf("a node has joined: at node %d moves wait for %q", i+1, got)
			}
		}
		if err := nodes[2].PauseMoves(true); err != nil {
			t.Fatal(err)
		}
		fill()
		time.Sleep(2 * calmFor)
		moves, err = nodes[1].Rebalance(false)
		if last := len(moves) - 1; err != nil || last < 0 || moves[last].Node != 4 || moves[last].Learns != placement.Shards/2 || moves[last].Bytes == 0 || moves[last].Takes == 0 || nodes[0].Cluster().Shards.Learning > 0 {
			t.Errorf("while moves are paused, %+v are to come: %v", moves, err)
		}
		if got := nodes[1].Cluster().Shards.Waits; got != "they are paused: bloomery cluster resume-moves" {
			t.Errorf("while they are paused moves wait for %q", got)
		}
		failed := "shard 7: no memory"
		nodes[3].moves.failed.Store(&failed)
		nodes[0].hear(nodes[3].beat())
		if got := nodes[0].Cluster().Problems; !strings.Contains(fmt.Sprint(got), "node 4 cannot receive the shards that it is to hold: "+failed) {
			t.Errorf("a node cannot learn: %q", got)
		}
		if _, err := nodes[1].Rebalance(true); !errors.Is(err, errPaused) {
			t.Errorf("moves begin while they are paused: %v", err)
		}
		if err := nodes[2].PauseMoves(false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := nodes[1].Rebalance(true); err != nil || nodes[1].Cluster().Nodes[3].Learns != balance.LearnsAtOnce {
			t.Errorf("moves that an operator begins: %+v, %v", nodes[1].Cluster().Shards, err)
		}
		settles(t, nodes[0])
		fill()
		holds(t, nodes, filters)
		own := 0
		for shard := range placement.Shards {
			if phaseOf(nodes[3], shard) == roster.Holds {
				own++
			}
		}
		if got := nodes[0].Cluster(); got.Shards.Waits != "" {
			t.Errorf("all is where it is to be, and moves wait for %q", got.Shards.Waits)
		}
		if err := nodes[0].SetCopies(3); err != nil || !strings.HasSuffix(nodes[0].Cluster().Shards.Waits, ", in 30s") {
			t.Errorf("copies have just changed: %v, and moves wait for %q", err, nodes[0].Cluster().Shards.Waits)
		}
		if err := nodes[0].SetCopies(2); err != nil {
			t.Fatal(err)
		}
		if own != placement.Shards*2/4 {
			t.Errorf("the node that has joined holds %d shards, want a fourth of %d", own, placement.Shards*2)
		}

		lost := nodes[1]
		lost.config.Log.(*memlog.Node).Kill()
		_ = lost.Close()
		files := folderOf(lost)
		nodes = slices.Delete(nodes, 1, 2)
		fill()
		time.Sleep(time.Minute)
		if s := nodes[0].Cluster(); s.Shards.Below != placement.Shards/2 || !strings.Contains(fmt.Sprint(s.Problems), "512 of 1024 shards are held by fewer than 2 nodes") {
			t.Errorf("without a node of four, %d shards have too few copies: %q", s.Shards.Below, s.Problems)
		}
		if got := fmt.Sprint(nodes[0].Cluster().Problems); !regexp.MustCompile(`; others take over its shards in 5\d minutes, or after bloomery cluster leave 2 --yes`).MatchString(got) {
			t.Errorf("a node is down for a minute: %q", got)
		}
		time.Sleep(awayFor)
		if got := fmt.Sprint(nodes[0].Cluster().Problems); !strings.Contains(got, "some seconds; others take over its shards]") {
			t.Errorf("a node is down for an hour: %q", got)
		}
		settles(t, nodes[0])
		if m := nodes[0].state.Roster().Member(2); !m.Behind {
			t.Error("a node that is away is not given up")
		}
		fill()
		holds(t, nodes, filters)

		nodes = append(nodes, openShards(t, log, Config{Peers: peers, Name: "n1", Files: files}, false))
		settles(t, nodes[0])
		fill()
		holds(t, nodes, filters)
		for _, d := range nodes {
			for _, id := range filters {
				if p := contents.PartOf(d.state.Names.ByID(id)); d.state.Answers(p) && p.Cuckoo().Items() != next/uint64(len(filters)) {
					t.Errorf("node %d: filter %d has %d items, want %d", d.number.Load(), id, p.Cuckoo().Items(), next/uint64(len(filters)))
				}
			}
		}
		if err := nodes[0].Remove(4); !errors.Is(err, door.ErrNotYet) {
			t.Errorf("a node that holds something is removed: %v", err)
		}
		settles(t, nodes[0])
		if err := nodes[0].Remove(4); err != nil {
			t.Errorf("a node that holds nothing is not removed: %v", err)
		}
		if s := nodes[0].Cluster(); s.Shards.Below != 0 || s.Shards.Learning+s.Shards.Retiring != 0 || s.Nodes[0].Holds == 0 {
			t.Errorf("at the end: %+v", s.Shards)
		}
	})
}
