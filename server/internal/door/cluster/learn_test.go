package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// names puts a record of the catalogue in order.
func names(t *testing.T, d *Door, b store.Body) int64 {
	t.Helper()
	op := &door.Op{Record: store.Record{Body: b}}
	if err := do(d, op); err != nil {
		t.Fatalf("%T: %v", b, err)
	}
	return op.Result.N
}

// insert inserts a hash into the CF with an id.
func insert(t *testing.T, d *Door, id, hash uint64) {
	t.Helper()
	if err := do(d, &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{hash}}}}); err != nil {
		t.Fatal(err)
	}
}

// spreadNodes opens three nodes, two copies of shards to be, with a CF, and takes its shard
// from the third.
func spreadNodes(t *testing.T, log *memlog.Log) (nodes [3]*Door, id uint64, shard int) {
	t.Helper()
	for i := range nodes {
		nodes[i] = open(t, log, Config{Lanes: 2, Name: fmt.Sprint("n", i)})
	}
	names(t, nodes[0], &store.Level{Level: store.LevelShards})
	made := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("c"), Params: redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}}
	if err := do(nodes[0], made); err != nil {
		t.Fatal(err)
	}
	id = made.Result.Entry.ID
	names(t, nodes[0], &store.ShardCopies{Copies: 2})
	shard = store.PartOf(made.Result.Entry).Shard()
	time.Sleep(time.Second) // all know it
	for i := range uint64(20) {
		insert(t, nodes[i%2], id, i+1)
	}
	place := nodes[0].state.Roster().Shards.Places[shard]
	names(t, nodes[0], &store.ShardRetire{Node: 3, Shard: uint64(shard), Version: place.Version})
	names(t, nodes[0], &store.ShardFree{Node: 3, Shard: uint64(shard), Since: place.Copy(3).Since})
	time.Sleep(2 * keepEvery) // it is swept
	return nodes, id, shard
}

// toLearn has the third node learn a shard.
func toLearn(t *testing.T, nodes [3]*Door, shard int) store.Held {
	t.Helper()
	version := nodes[0].state.Roster().Shards.Places[shard].Version
	since := names(t, nodes[0], &store.ShardLearn{Node: 3, Shard: uint64(shard), Version: version})
	time.Sleep(time.Second)
	return store.Held{Shard: shard, Since: uint64(since)}
}

// TestLearn moves a part to a node while others write to it, over a log that keeps messages
// twice: the node has in the end, byte for byte, what they have.
func TestLearn(t *testing.T) {
	for seed := range uint64(12) {
		bubble(t, func(t *testing.T) {
			log := memlog.New(seed, memlog.Faults{Twice: 0.4, Unacked: 0.2, Delay: 20 * time.Millisecond})
			nodes, id, shard := spreadNodes(t, log)
			c := nodes[2]
			far := store.PartOf(c.state.Names.ByID(id))
			if !far.Elsewhere() || c.state.Answers(far) {
				t.Fatal("the contents are still here")
			}
			op := &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{9}}}}
			if err := do(c, op); !errors.Is(err, store.ErrElsewhere) || !errors.Is(err, door.ErrRefused) {
				t.Errorf("a write of a node that does not hold the part: %v", err)
			}
			if _, err := c.lend(id, 0); !errors.Is(err, store.ErrElsewhere) {
				t.Errorf("it lends what it does not have: %v", err)
			}
			held := toLearn(t, nodes, shard)
			z, err := nodes[seed%2].lend(id, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(10) { // behind what is lent
				insert(t, nodes[i%2], id, i+100)
			}
			g, err := c.receive(id, 0, held, z)
			z.close()
			if err != nil {
				t.Fatal(err)
			}
			if c.state.Learned(held) {
				t.Error("the shard is whole before the part is there")
			}
			writes := make(chan struct{})
			go func() { // while it follows
				defer close(writes)
				for i := range uint64(10) {
					insert(t, nodes[i%2], id, i+200)
				}
			}()
			if err := g.learn(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-writes
			if !c.state.Learned(held) {
				t.Fatal("the shard is not whole")
			}
			if _, err := c.lend(id, 0); !errors.Is(err, store.ErrElsewhere) {
				t.Errorf("it lends what it does not hold yet: %v", err)
			}
			names(t, nodes[0], &store.ShardHold{Node: 3, Shard: uint64(shard), Since: held.Since})
			insert(t, nodes[0], id, 300)
			time.Sleep(10 * time.Second)
			insert(t, c, id, 301) // it holds it now
			time.Sleep(10 * time.Second)
			states := [3][]byte{}
			for i, d := range nodes {
				d.state.Names.Lock()
				states[i] = d.state.AppendSnapshot(nil)
				d.state.Names.Unlock()
			}
			if !bytes.Equal(states[0], states[1]) || !bytes.Equal(states[0], states[2]) {
				t.Errorf("seed %d: nodes differ", seed)
			}
		})
	}
}

// TestLearnInVain asks that a part is given up, and its memory back, whose shard is not to be
// learned any more, or whose log is purged.
func TestLearnInVain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		nodes, id, shard := spreadNodes(t, log)
		c := nodes[2]
		before := c.state.Bytes()
		learn := func(held store.Held, meanwhile func()) error {
			t.Helper()
			z, err := nodes[0].lend(id, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer z.close()
			g, err := c.receive(id, 0, held, z)
			if err != nil {
				t.Fatal(err)
			}
			meanwhile()
			return g.learn(t.Context())
		}
		held := toLearn(t, nodes, shard)
		err := learn(held, func() {
			insert(t, nodes[0], id, 400)
			insert(t, nodes[0], id, 401)
			l := c.laneAt(id, 0, false)
			time.Sleep(time.Second)
			if err := c.config.Log.Purge(l.number, l.seq.Load()); err != nil {
				t.Fatal(err)
			}
		})
		if !errors.Is(err, ErrPurged) || c.state.Bytes() != before {
			t.Errorf("the log is purged: %v, %d bytes, %d before", err, c.state.Bytes(), before)
		}
		err = learn(held, func() {
			names(t, nodes[0], &store.ShardCancel{Node: 3, Shard: uint64(shard), Since: held.Since})
			time.Sleep(time.Second)
		})
		if !errors.Is(err, store.ErrRetry) || c.state.Bytes() != before || !store.PartOf(c.state.Names.ByID(id)).Elsewhere() {
			t.Errorf("it is not to be learned: %v, %d bytes, %d before", err, c.state.Bytes(), before)
		}
		if _, err := nodes[0].lend(id+100, 0); !errors.Is(err, store.ErrRetry) {
			t.Errorf("a part that is none is lent: %v", err)
		}
	})
}
