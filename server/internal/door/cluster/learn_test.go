package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
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

// openShards starts a node of a cluster that spreads contents; one that is still moves nothing
// by itself.
func openShards(t *testing.T, log *memlog.Log, c Config, still bool) *Door {
	t.Helper()
	if c.State = store.New(); c.Files == nil {
		c.Files = &folder.Memory{}
	}
	node := log.Node(ErrFull)
	c.Log = node
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	d.level, d.moves.still = store.LevelShards, still
	if err := begin(t, d, node); err != nil {
		t.Fatal(err)
	}
	return d
}

// spreadNodes opens three nodes, two copies of shards to be, with a CF, and takes its shard
// from the third.
func spreadNodes(t *testing.T, log *memlog.Log, c Config) (nodes [3]*Door, id uint64, shard int) {
	t.Helper()
	return spreadNodesOver(t, log, c, &memlog.Peers{})
}

// spreadNodesOver is spreadNodes over a network.
func spreadNodesOver(t *testing.T, log *memlog.Log, c Config, net *memlog.Peers) (nodes [3]*Door, id uint64, shard int) {
	t.Helper()
	c.Lanes, c.Peers = 2, net
	for i := range nodes {
		c.Name = fmt.Sprint("n", i)
		nodes[i] = openShards(t, log, c, true)
	}
	names(t, nodes[0], &store.Level{Level: store.LevelShards})
	made := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("c"), Params: redisbloom.CuckooParams{Capacity: 1 << 19, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}}
	if err := do(nodes[0], made); err != nil {
		t.Fatal(err)
	}
	id = made.Result.Entry.ID
	names(t, nodes[0], &store.ShardCopies{Copies: 2})
	shard = contents.PartOf(made.Result.Entry).Shard()
	time.Sleep(time.Second) // all know it
	for i := range uint64(20) {
		insert(t, nodes[i%2], id, i+1)
	}
	place := nodes[0].state.Roster().Shards.Places[shard]
	names(t, nodes[0], &store.ShardRetire{Node: 3, Shard: uint64(shard), Version: place.Version})
	time.Sleep(time.Second)
	if nodes[2].retireShards(t.Context()); phaseOf(nodes[2], shard) != 0 {
		t.Fatal("the third node has not retired")
	}
	time.Sleep(time.Second) // all know it
	return nodes, id, shard
}

// phaseOf returns what a node has of a shard, as it knows.
func phaseOf(d *Door, shard int) roster.Phase {
	return d.state.Roster().Shards.Places[shard].Copy(d.number.Load()).Phase
}

// toLearn has the third node learn a shard.
func toLearn(t *testing.T, nodes [3]*Door, shard int) roster.Held {
	t.Helper()
	version := nodes[0].state.Roster().Shards.Places[shard].Version
	since := names(t, nodes[0], &store.ShardLearn{Node: 3, Shard: uint64(shard), Version: version})
	return roster.Held{Shard: shard, Since: uint64(since)}
}

// TestLearn moves a part to a node while others write to it, over a log that keeps messages
// twice: the node has in the end, byte for byte, what they have, and holds it when its
// snapshot has it.
func TestLearn(t *testing.T) {
	for seed := range uint64(3) {
		bubble(t, func(t *testing.T) {
			log := memlog.New(seed, memlog.Faults{Twice: 0.4, Unacked: 0.2, Delay: 20 * time.Millisecond})
			nodes, id, shard := spreadNodes(t, log, Config{MoveRate: 4 << 20})
			c := nodes[2]
			far := contents.PartOf(c.state.Names.ByID(id))
			if !far.Elsewhere() || c.state.Answers(far) {
				t.Fatal("the contents are still here")
			}
			op := &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{9}}}}
			if err := do(c, op); !errors.Is(err, contents.ErrElsewhere) || !errors.Is(err, door.ErrRefused) {
				t.Errorf("a write of a node that does not hold the part: %v", err)
			}
			writes := make(chan struct{})
			go func() {
				defer close(writes)
				for i := range uint64(200) {
					insert(t, nodes[i%2], id, i+200)
				}
			}()
			held := toLearn(t, nodes, shard)
			time.Sleep(time.Second)
			go func() {
				for phaseOf(c, shard) != roster.Holds {
					if _, err := c.lend(id, 0); !errors.Is(err, contents.ErrElsewhere) && phaseOf(c, shard) != roster.Holds {
						t.Errorf("it lends what it does not hold yet: %v", err)
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
			if c.learnShards(t.Context()); phaseOf(c, shard) != roster.Holds {
				t.Fatalf("the shard is not learned: %s", *c.moves.failed.Load())
			}
			m, err := snapshot.Read(c.config.Files)
			if err != nil || !slices.Contains(m.Held, held) {
				t.Errorf("it holds what its snapshot does not have: %v, %v", m, err)
			}
			<-writes
			insert(t, c, id, 301)
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
// learned any more, whose log is purged, for which there is no memory, or whose source dies.
func TestLearnInVain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		left := uint64(1 << 30)
		nodes, id, shard := spreadNodes(t, log, Config{MoveRate: 1 << 20, Headroom: func() uint64 { return left }})
		c, before := nodes[2], nodes[2].state.Bytes()
		l := c.laneAt(id, 0, false)
		held := toLearn(t, nodes, shard)
		time.Sleep(time.Second)
		learn := func(meanwhile func()) error {
			t.Helper()
			go func() {
				time.Sleep(300 * time.Millisecond) // it takes more than a second
				meanwhile()
			}()
			err := c.learnFrom(t.Context(), 1, id, 0, held)
			if c.state.Bytes() != before || !contents.PartOf(c.state.Names.ByID(id)).Elsewhere() {
				t.Errorf("%d bytes are here, %d before", c.state.Bytes(), before)
			}
			return err
		}
		if err := learn(func() {
			insert(t, nodes[0], id, 400)
			insert(t, nodes[0], id, 401)
			time.Sleep(100 * time.Millisecond)
			l.recent.Store(nil) // all of it has to be read
			if err := c.config.Log.Purge(l.number, l.seq.Load()); err != nil {
				t.Error(err)
			}
		}); !errors.Is(err, ErrPurged) {
			t.Errorf("the log is purged: %v", err)
		}
		left = 1 << 20
		if err := learn(func() {}); !errors.Is(err, door.ErrMemory) {
			t.Errorf("there is no memory: %v", err)
		}
		left = 1 << 30
		if err := learn(func() { nodes[0].endLoans(func(uint32, *lent) bool { return true }) }); err == nil || err.Error() != errNoLoan.Error() {
			t.Errorf("the loan is lost: %v", err)
		}
		if err := learn(func() {
			names(t, nodes[0], &store.ShardCancel{Node: 3, Shard: uint64(shard), Since: held.Since})
		}); !errors.Is(err, contents.ErrRetry) {
			t.Errorf("it is not to be learned: %v", err)
		}
		if err := c.learnFrom(t.Context(), 1, id+100, 0, held); !errors.Is(err, contents.ErrRetry) {
			t.Errorf("a part that is none is learned: %v", err)
		}
	})
}

// FuzzLoan reads answers about parts that are lent.
func FuzzLoan(f *testing.F) {
	piece := append([]byte{0}, binary.LittleEndian.AppendUint32(nil, crc32.Checksum([]byte("piece"), castagnoli))...)
	f.Add(append(append([]byte{1, 2, 3, 4, 2, 'x', 'y'}, piece...), "piece"...))
	f.Add([]byte{1, 2, 3, 4, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, b []byte) {
		z, rest, err := parseLoan(b)
		if err != nil {
			return
		}
		if len(z.senders)+len(rest) > len(b) {
			t.Fatal("there is more in it than came")
		}
		if p, off, sum, err := parsePiece(rest, 0); err == nil && (len(p) == 0 || off < 0 || sum != crc32.Checksum(p, castagnoli)) {
			t.Fatalf("a piece of %d bytes at %d with another checksum", len(p), off)
		}
	})
}

// askedOld answers who fetches a snapshot as a node does that has not heard yet that contents are
// spread, if it is old.
type askedOld struct {
	*memlog.Peers
	d   *Door
	old bool
}

// Ask implements Peers.
func (p askedOld) Ask(ctx context.Context, node uint32, question []byte) ([]byte, error) {
	if question[0] != askHold || !p.old {
		return p.Peers.Ask(ctx, node, question)
	}
	if node != p.d.number.Load() {
		return []byte{answerRefused}, nil
	}
	held, err := snapshot.Hold(p.d.config.Files, nil)
	if err != nil {
		return nil, err
	}
	p.d.keep.mu.Lock()
	defer p.d.keep.mu.Unlock()
	return p.d.giveHold(held), nil
}

// TestLostContents asks that a node which has lost contents that it had learned, and fetches the
// snapshot of another one, does not go on to hold what it lacks: nobody else would learn it, and nobody
// retire. The snapshot has no contents of shards, or is an old one, from before they were spread.
func TestLostContents(t *testing.T) {
	for _, old := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			log, peers := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
			var nodes [3]*Door
			for i := range nodes {
				nodes[i] = openShards(t, log, Config{Lanes: 2, Peers: peers, Name: fmt.Sprint("n", i)}, true)
			}
			names(t, nodes[0], &store.Level{Level: store.LevelShards})
			made := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("c"), Params: cuckooOf}}}
			if err := errors.Join(do(nodes[0], made), do(nodes[0], set("s"))); err != nil {
				t.Fatal(err)
			}
			id, shard := made.Result.Entry.ID, contents.PartOf(made.Result.Entry).Shard()
			time.Sleep(time.Second) // all know it
			if err := errors.Join(nodes[0].Snapshot(), nodes[1].Snapshot()); err != nil {
				t.Fatal(err)
			}
			names(t, nodes[0], &store.ShardCopies{Copies: 2})
			names(t, nodes[0], &store.ShardRetire{Node: 3, Shard: uint64(shard), Version: nodes[0].state.Roster().Shards.Places[shard].Version})
			time.Sleep(time.Second)
			nodes[2].retireShards(t.Context())
			time.Sleep(time.Second)
			toLearn(t, nodes, shard)
			time.Sleep(time.Second)
			if nodes[2].learnShards(t.Context()); phaseOf(nodes[2], shard) != roster.Holds {
				t.Fatal("the shard is not learned")
			}
			insert(t, nodes[0], id, 7)

			files := folderOf(nodes[2])
			nodes[2].config.Log.(*memlog.Node).Kill()
			_ = nodes[2].Close()
			list, _ := files.List()
			for _, name := range list {
				if _, part := folder.ParsePartName(name); part {
					_ = files.Remove(name)
				}
			}
			c := openShards(t, log, Config{Peers: askedOld{peers, nodes[0], old}, Name: "n2", Files: files}, true)
			if c.state.Names.Get([]byte("s")) == nil || c.number.Load() != 3 {
				t.Errorf("node %d has no names", c.number.Load())
			}
			m, err := snapshot.Read(files)
			if err != nil || m.Find(id) == nil || !old && (m.Find(id).InFile() || len(m.Files()) != 1 || !m.Fetched) {
				t.Errorf("what it has fetched: %+v, %v", m, err)
			}
			time.Sleep(time.Second)
			if h := c.state.Holdings(); len(h.Held()) > 0 || phaseOf(c, shard) != 0 || phaseOf(nodes[0], shard) != roster.Holds {
				t.Errorf("it has %d shards, and phase %d of the one that is lost", len(h.Held()), phaseOf(c, shard))
			}
			nodes[2] = c
			toLearn(t, nodes, shard)
			time.Sleep(time.Second)
			if c.learnShards(t.Context()); !c.state.Holdings().Answers(shard) || contents.PartOf(c.state.Names.ByID(id)).Cuckoo().Items() != 1 {
				t.Error("it does not learn the shard again")
			}
		})
	}
}

// lateMemory has nothing to set aside before a moment.
type lateMemory struct {
	asideMemory
	from chan struct{}
}

func (m *lateMemory) Reserve(n uint64) bool {
	<-m.from
	return m.asideMemory.Reserve(n)
}

// TestLearnsWhatIsBuilt has a node learn a part of a static filter that is swapped in meanwhile: it is built before the lane of
// the part stands still for it. A node that ends does not wait for that.
func TestLearnsWhatIsBuilt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		nodes, _, _ := spreadNodes(t, memlog.New(1, memlog.Faults{}), Config{MoveRate: 256 << 10})
		c := nodes[2]
		names(t, nodes[0], &store.Level{Level: store.LevelRebuilds})
		kinds := codec.Kinds()
		fuse8 := kinds[slices.IndexFunc(kinds, func(k codec.Kind) bool { return k.Name == "fuse8" })]
		open := &door.Op{Record: store.Record{Body: &store.ShadowOpen{Name: []byte("f"), Shared: true, Header: contents.AppendStatic(nil, &contents.Plan{}, &fuse8, hashing.Seeded(0), 50_000, 0.01)}}}
		if err := do(nodes[0], open); err != nil {
			t.Fatal(err)
		}
		id, shard := open.Result.Entry.ID, contents.PartOf(open.Result.Entry).Shard()
		names(t, nodes[0], &store.ShardRetire{Node: 3, Shard: uint64(shard), Version: nodes[0].state.Roster().Shards.Places[shard].Version})
		time.Sleep(time.Second)
		c.retireShards(t.Context())
		time.Sleep(time.Second)
		part := func(b store.Body) {
			t.Helper()
			if err := do(nodes[0], &door.Op{Record: store.Record{ID: id, Body: b}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint64(50) {
			hashes := make([]uint64, 1000)
			for j := range hashes {
				hashes[j] = (1000*i + uint64(j)) * 0x9e3779b97f4a7c15
			}
			part(&store.ShadowAdd{Fed: true, Shared: true, Hashes: hashes, Room: store.Unlimited})
		}
		names(t, nodes[0], &store.RebuildStep{ID: id, What: store.StepReady})
		attempt := uint64(names(t, nodes[0], &store.RebuildStep{ID: id, What: store.StepAttempt}))
		part(&store.RebuildSeal{Attempt: attempt})
		toLearn(t, nodes, shard)
		time.Sleep(time.Second)
		aside := lateMemory{from: make(chan struct{})}
		c.state.SetMemory(&aside)
		over, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if c.learnShards(over); phaseOf(c, shard) == roster.Holds || aside.most != 0 {
			t.Fatalf("the shard is learned, and %d bytes were set aside", aside.most)
		}
		close(aside.from)
		synctest.Wait() // what was begun is built, and given back
		go func() {
			time.Sleep(time.Second) // some of it has come
			names(t, nodes[0], &store.RebuildSwap{ID: id, Attempt: attempt})
		}()
		if c.learnShards(t.Context()); phaseOf(c, shard) != roster.Holds {
			t.Fatalf("the shard is not learned: %s", *c.moves.failed.Load())
		}
		if f := contents.PartOf(c.state.Names.ByID(id)).Filter(); f == nil || !f.ContainsHash(0x9e3779b97f4a7c15) {
			t.Error("the filter is not there")
		}
		synctest.Wait()
		if aside.most == 0 || aside.claimed != 0 || aside.now != 0 {
			t.Errorf("%d bytes were set aside to build it, %d were taken while the lane stood still, %d are not given back", aside.most, aside.claimed, aside.now)
		}
	})
}
