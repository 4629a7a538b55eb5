package cluster

// Nodes with less memory than others.

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestNoMemory asks that a node for which the system has no memory, when others may have
// some, does not serve what it has made of a message, nor keeps it.
func TestNoMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{})
		const most = min(1<<40, math.MaxInt) // bytes, which hardly any machine has
		header := redisbloom.AppendCountMinHeader(nil, redisbloom.CountMinParams{Width: most / 4, Depth: 1}, 0)
		large := &door.Op{Record: store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte("large"), Header: header}}}
		err := do(d, large)
		if err == nil && large.Result.Err == nil {
			t.Skip("this system promises memory that it does not have")
		}
		if !errors.Is(err, door.ErrUnknown) {
			t.Errorf("a write that others may have: %v", err)
		}
		<-d.Failed()
		if err := d.Serving(); !errors.Is(err, contents.ErrMemory) {
			t.Errorf("Serving = %v", err)
		}
		if err := d.Snapshot(); !errors.Is(err, contents.ErrMemory) {
			t.Errorf("Snapshot = %v", err)
		}
	})
}

// TestHeadroom asks that the node with the least memory bounds what all take.
func TestHeadroom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
		a := open(t, log, Config{Peers: m})
		var left atomic.Uint64
		left.Store(1 << 30)
		b := open(t, log, Config{Peers: m, Headroom: left.Load})
		time.Sleep(2 * time.Second)
		reserve := func(name string) error {
			return do(a, &door.Op{Record: store.Record{Body: &store.MakeBloom{Name: []byte(name), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100_000, Expansion: 2}}}})
		}
		add := func() error {
			id := a.state.Names.Lookup([]byte("k"), 0).ID
			return do(a, &door.Op{Record: store.Record{ID: id, Body: &store.BloomAdd{Digests: []redisbloom.Digest{{A: 1, B: 2}}}}, Admit: generous{}})
		}
		if err := reserve("k"); err != nil {
			t.Fatal(err)
		}
		if err := add(); err != nil {
			t.Error(err)
		}
		left.Store(1000)
		time.Sleep(2 * time.Second)
		if err := reserve("k2"); !errors.Is(err, door.ErrMemory) {
			t.Errorf("a filter that one node has no room for: %v", err)
		}
		if err := add(); !errors.Is(err, door.ErrMemory) {
			t.Errorf("growth that one node has no room for: %v", err)
		}
		if err := do(a, set("small")); err != nil {
			t.Error(err)
		}
		_ = b.Close()
		time.Sleep(2 * liveFor)
		if err := reserve("k2"); err != nil {
			t.Errorf("when it is gone: %v", err)
		}
	})
}

// generous sets 10,000 bytes aside for everything.
type generous struct{}

func (generous) Admit(_ *contents.Part, ops []*door.Op) (uint64, bool) {
	for _, op := range ops {
		op.Record.Body.(store.Items).Give(10_000)
	}
	return 10_000, true
}

func (generous) Settle(uint64) {}

// TestHeadroomOfHolders asks that only nodes that hold a part, or learn it, bound its growth.
func TestHeadroomOfHolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		nodes, id, shard := spreadNodes(t, memlog.New(1, memlog.Faults{}), Config{})
		d := nodes[0]
		p := contents.PartOf(d.state.Names.ByID(id))
		full := func(node uint32) {
			v := heartbeat.Beat{Node: node, Level: d.level, At: time.Now().UnixMilli(), Headroom: 1000}
			d.hear(v.Bytes(d.id.Load()))
		}
		if full(3); d.fits(10_000) || !d.fitsPart(p, 10_000) {
			t.Error("a node that has nothing of the part bounds it, or does not bound others")
		}
		toLearn(t, nodes, shard)
		if full(3); d.fitsPart(p, 10_000) {
			t.Error("a node that learns the part does not bound it")
		}
		time.Sleep(2 * beatEvery) // it is heard of again
		if !d.fitsPart(p, 10_000) {
			t.Error("nobody is full")
		}
		if full(2); d.fitsPart(p, 10_000) || !d.fitsPart(p, 1000) {
			t.Error("a node that holds the part does not bound it")
		}
	})
}
