package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// makeCF makes a CF that lies in the same shard as the CF c, or in another one.
func makeCF(t *testing.T, d *Door, name string) uint64 {
	t.Helper()
	op := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte(name), Params: redisbloom.CuckooParams{Capacity: 1 << 10, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}}
	if err := do(d, op); err != nil {
		t.Fatal(err)
	}
	return op.Result.Entry.ID
}

// TestCopyOfSpreadContents copies a cluster at a node that does not hold all of it, while filters
// are written to, made, replaced and removed, at every step of all snapshots: a single server has
// from it what the nodes that hold everything have.
func TestCopyOfSpreadContents(t *testing.T) {
	for seed := range uint64(4) {
		bubble(t, func(t *testing.T) {
			log := memlog.New(seed, memlog.Faults{Twice: 0.4, Unacked: 0.2, Delay: 20 * time.Millisecond})
			nodes, id, _ := spreadNodes(t, log, Config{})
			first, lacking := nodes[0], nodes[2]
			replaced := makeCF(t, first, "{c}replaced")
			insert(t, first, replaced, 7)
			removed := makeCF(t, first, "{c}removed")
			insert(t, first, removed, 7)
			makeCF(t, first, "elsewhere") // every node has this one
			round := uint64(100)
			change := func() {
				if round++; round > 130 {
					return
				}
				insert(t, first, id, round)
				next := makeCF(t, first, fmt.Sprint("{c}next", round))
				insert(t, first, next, 7)
				if err := do(first, &door.Op{Record: store.Record{Body: &store.Rename{From: []byte(fmt.Sprint("{c}next", round)), To: []byte("{c}replaced")}}}); err != nil {
					t.Fatal(err)
				}
				insert(t, first, next, round)
				if err := do(first, &door.Op{Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte("{c}removed")}}}}); err != nil && !errors.Is(err, store.ErrMissing) {
					t.Fatal(err)
				}
				synctest.Wait() // all have it
			}
			for i := range nodes {
				nodes[i].source = meddling{source: source{nodes[i]}, freezing: change}
			}
			files, err := readCopy(lacking, false)
			if err != nil {
				t.Fatal(err)
			}
			if round < 104 {
				t.Fatalf("%d changes were made meanwhile", round-100)
			}
			state, err := loadCopy(files)
			if err != nil {
				t.Fatal(err)
			}
			defer state.Discard()
			time.Sleep(time.Second) // all have the rest
			if !bytes.Equal(snapshotOf(state), snapshotOf(first.state)) {
				t.Error("the copy differs from what the nodes hold")
			}
			if left := leftOver(t, lacking.config.Files); left != "" {
				t.Errorf("%s is left in the folder", left)
			}
			for i, d := range nodes {
				d.keep.mu.Lock()
				if len(d.keep.holds) > 0 {
					t.Errorf("node %d still holds files", i+1)
				}
				d.keep.mu.Unlock()
			}
		})
	}
}

// TestCopyFindsDamageElsewhere asks that damage in the folder of another node is found when its
// file is read, and that the error names the node.
func TestCopyFindsDamageElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		nodes, _, _ := spreadNodes(t, log, Config{})
		for _, d := range nodes[:2] {
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
			disk := d.config.Files.(*folder.Memory)
			names, err := disk.List()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if data := bytes.Clone(disk.Bytes(name)); strings.HasSuffix(name, ".part") && len(data) > 100 {
					data[100] ^= 1
					disk.Put(name, data)
				}
			}
		}
		number, list, err := nodes[2].OpenCopy(false)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i, f := range list {
			for off := int64(0); off < f.Size; off += fetchPiece {
				_, err := nodes[2].ReadCopy(number, uint64(i), uint64(off), uint64(min(fetchPiece, f.Size-off)))
				found = found || err != nil && strings.Contains(err.Error(), "checksum") && strings.Contains(err.Error(), "node ")
			}
		}
		if !found {
			t.Error("nobody has noticed")
		}
		nodes[2].CloseCopy(number)
	})
}

// TestCopyWithoutHolders asks for the error if nobody is heard of who holds a part.
func TestCopyWithoutHolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		nodes, _, shard := spreadNodes(t, memlog.New(1, memlog.Faults{}), Config{})
		d := nodes[2]
		var need shardSet
		need.add(shard)
		synctest.Wait() // no beat is on its way
		if from, err := d.choose(&need); err != nil || len(from) != 1 {
			t.Errorf("choose = %v, %v", from, err)
		}
		d.beats.mu.Lock()
		before := d.beats.heard
		d.beats.heard = map[uint32]heard{}
		d.beats.mu.Unlock()
		_, err := d.choose(&need)
		d.beats.mu.Lock()
		d.beats.heard = before
		d.beats.mu.Unlock()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("shard %d has no live holder", shard)) {
			t.Errorf("choose = %v", err)
		}
	})
}

// TestCopyBesideTransactions asks that a transaction with a condition on a filter of another node
// has the copy be made again.
func TestCopyBesideTransactions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		nodes, id, _ := spreadNodes(t, log, Config{})
		times := 0
		nodes[2].source = meddling{source: source{nodes[2]}, freezing: func() {
			if times++; times > 1 {
				return
			}
			version := contents.PartOf(nodes[0].state.Names.ByID(id)).Changes()
			ops := []*door.Op{
				{Record: store.Record{ID: id, Body: &store.ExpectPart{Version: version}}},
				{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{99}}}},
			}
			if err := nodes[0].DoGroup(ops); err != nil {
				t.Fatal(err)
			}
			nodes[0].Wait(ops)
			synctest.Wait()
		}}
		makeCF(t, nodes[0], "elsewhere")
		files, err := readCopy(nodes[2], false)
		if err != nil {
			t.Fatal(err)
		}
		state, err := loadCopy(files)
		if err != nil {
			t.Fatal(err)
		}
		defer state.Discard()
		if times < 2 || !bytes.Equal(snapshotOf(state), snapshotOf(nodes[0].state)) {
			t.Errorf("%d snapshots, or the copy differs", times)
		}
	})
}

// TestGatherQuestions asks that questions that are none are refused.
func TestGatherQuestions(t *testing.T) {
	whole := append(question(0, 2, 5, 6)[1:], make([]byte, len(shardSet{}))...)
	if places, _, err := parseGather(whole, 2); err != nil || places[0] != 5 || places[1] != 6 {
		t.Errorf("parseGather = %v, %v", places, err)
	}
	for i := range whole {
		if _, _, err := parseGather(whole[:i], 2); !errors.Is(err, errQuestion) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, _, err := parseGather(append(whole, 0), 2); !errors.Is(err, errQuestion) {
		t.Errorf("more than there is: %v", err)
	}
	if _, _, err := parseGather(whole, 3); !errors.Is(err, errQuestion) {
		t.Errorf("other lanes: %v", err)
	}
}

// TestCopyAsksOthersAgain has one of two nodes not give what it is asked for, so that the other one would
// have to give files under names that it has given already: no name is in the copy twice.
func TestCopyAsksOthersAgain(t *testing.T) {
	for _, dies := range []uint32{1, 2} {
		bubble(t, func(t *testing.T) {
			net := &memlog.Peers{}
			nodes, _, shard := spreadNodesOver(t, memlog.New(1, memlog.Faults{}), Config{}, net)
			other := makeCF(t, nodes[0], "other")
			insert(t, nodes[0], other, 7)
			second := contents.PartOf(nodes[0].state.Names.ByID(other)).Shard()
			if second == shard {
				t.Fatal("both are in the same shard")
			}
			place := nodes[0].state.Roster().Shards.Places[second]
			names(t, nodes[0], &store.ShardRetire{Node: 3, Shard: uint64(second), Version: place.Version})
			time.Sleep(time.Second)
			nodes[2].retireShards(t.Context())
			time.Sleep(time.Second) // all know it
			failed := false
			net.SetFault(func(node uint32) (f memlog.Fault) {
				if node == dies && !failed {
					failed, f.Unsent = true, errors.New("it has died")
				}
				return f
			})
			number, list, err := nodes[2].OpenCopy(false)
			if err != nil || !failed {
				t.Fatalf("%v, a node has failed: %v", err, failed)
			}
			seen := map[string]bool{}
			for _, f := range list {
				if seen[f.Name] {
					t.Errorf("%s is in the copy twice", f.Name)
				}
				seen[f.Name] = true
			}
			nodes[2].CloseCopy(number)
		})
	}
}

// TestCopyIsReadSlowly asks that other nodes keep their files for a client that reads those of this node for minutes.
func TestCopyIsReadSlowly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		nodes, _, _ := spreadNodes(t, memlog.New(1, memlog.Faults{}), Config{})
		number, list, err := nodes[2].OpenCopy(false)
		if err != nil {
			t.Fatal(err)
		}
		manifest := uint64(len(list) - 1)
		for range 20 {
			time.Sleep(copyFor / 4)
			if _, err := nodes[2].ReadCopy(number, manifest, 0, 1); err != nil {
				t.Fatal(err)
			}
		}
		for i := range list {
			if _, err := nodes[2].ReadCopy(number, uint64(i), 0, uint64(min(1, list[i].Size))); err != nil {
				t.Errorf("%s: %v", list[i].Name, err)
			}
		}
		nodes[2].CloseCopy(number)
	})
}

// TestReadHoldFails asks that a node that ends its connection gives no bytes.
func TestReadHoldFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net := &memlog.Peers{}
		nodes, _, _ := spreadNodesOver(t, memlog.New(1, memlog.Faults{}), Config{}, net)
		number, list, err := nodes[2].OpenCopy(false)
		if err != nil {
			t.Fatal(err)
		}
		net.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Unsent: fmt.Errorf("a connection: %w", io.EOF)} })
		refused := 0
		for i := range list {
			if _, err := nodes[2].ReadCopy(number, uint64(i), 0, 1); err != nil && strings.Contains(err.Error(), "node ") {
				refused++
			}
		}
		if refused == 0 {
			t.Error("files of a node that is gone are read")
		}
		net.SetFault(nil)
		nodes[2].CloseCopy(number)
	})
}
