package cluster

// How doors are opened over a log in memory, which records they take, and which messages
// they make of them.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bubble runs f with simulated time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// open starts a node and ends it with the test.
func open(t *testing.T, log *memlog.Log, c Config) *Door {
	t.Helper()
	d, err := tryOpen(t, log, c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func tryOpen(t *testing.T, log *memlog.Log, c Config) (*Door, error) {
	t.Helper()
	return tryOpenAs(t, log, c, func(node *memlog.Node) Log { return node })
}

// openAs opens a door over a log that a test makes of the node's.
func openAs(t *testing.T, log *memlog.Log, c Config, as func(*memlog.Node) Log) *Door {
	t.Helper()
	d, err := tryOpenAs(t, log, c, as)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func tryOpenAs(t *testing.T, log *memlog.Log, c Config, as func(*memlog.Node) Log) (*Door, error) {
	t.Helper()
	c.State = store.New()
	if c.Files == nil {
		c.Files = &folder.Memory{}
	}
	node := log.Node(ErrFull)
	c.Log = as(node)
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return d, begin(t, d, node)
}

// begin starts a door, and ends it with the test.
func begin(t *testing.T, d *Door, node *memlog.Node) error {
	t.Helper()
	t.Cleanup(func() {
		node.Kill()
		_ = d.Close()
		node.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return d.Start(ctx, nil)
}

// folderOf returns what another process finds that is started as the same node.
func folderOf(d *Door) folder.Files { return d.config.Files.(*folder.Memory).Copy() }

func set(name string) *door.Op {
	return &door.Op{Record: store.Record{Body: &store.Set{String: store.String{Name: []byte(name), Value: []byte("v")}}}}
}

// do puts an op in order and waits.
func do(d *Door, ops ...*door.Op) error {
	d.Do(ops)
	d.Wait(ops)
	for _, op := range ops {
		if op.Err != nil {
			return op.Err
		}
		if op.Result.Err != nil {
			return op.Result.Err
		}
	}
	return nil
}

func has(d *Door, name string) bool {
	return d.state.Names.Lookup([]byte(name), time.Now().UnixMilli()) != nil
}

// TestGathers asks that records that are put in order one by one, and waited for
// together, make one message, and that those nobody waits for are sent too.
func TestGathers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		synctest.Wait() // what the start has woken the sender for is over
		before := log.Messages(0)
		var ops []*door.Op
		for i := range 40 {
			op := set(fmt.Sprint("n", i))
			d.Do([]*door.Op{op})
			synctest.Wait() // the sender does what it can
			ops = append(ops, op)
		}
		began := time.Now()
		d.Wait(ops)
		if took := time.Since(began); took >= retryFirst {
			t.Errorf("they were settled after %v", took)
		}
		if got := log.Messages(0) - before; got != 1 || !has(d, "n0") || !has(d, "n39") {
			t.Errorf("40 records made %d messages, want 1", got)
		}

		before = log.Messages(0)
		d.Do([]*door.Op{set("left")})
		time.Sleep(2 * retryFirst)
		if got := log.Messages(0) - before; got != 1 || !has(d, "left") {
			t.Errorf("a record that nobody waits for made %d messages, want 1", got)
		}

		before = log.Messages(0)
		long := set("long")
		long.Record.Body.(*store.Set).Value = make([]byte, enoughWaiting)
		d.Do([]*door.Op{long})
		if synctest.Wait(); log.Messages(0) == before {
			t.Error("much that waits was not sent at once")
		}
	})
}

// TestGroups asks which groups are taken, and that a group is a message.
func TestGroups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		make := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("f"), Params: redisbloom.CuckooParams{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}}
		if err := do(d, make); err != nil {
			t.Fatal(err)
		}
		id := make.Result.Entry.ID
		insert := func(room uint64) *door.Op {
			return &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: room, Hashes: []uint64{1, 2}}}}
		}
		long := set("long")
		long.Record.Body.(*store.Set).Value = []byte(strings.Repeat("x", d.limit-messages.HeadBytes))
		for name, ops := range map[string][]*door.Op{
			"two lanes": {set("a"), insert(0)},
			"too long":  {set("a"), long},
			"a merge":   {{Record: store.Record{Body: &store.CountMinMerge{Name: []byte("m")}}}},
		} {
			if err := d.DoGroup(ops); !errors.Is(err, door.ErrGroup) {
				t.Errorf("%s: %v", name, err)
			}
		}
		before := log.Messages(d.LaneOf(id, 0))
		expect := &door.Op{Record: store.Record{ID: id, Body: &store.ExpectPart{Version: 0}}}
		ops := []*door.Op{expect, insert(store.Unlimited), insert(store.Unlimited)}
		if err := d.DoGroup(ops); err != nil {
			t.Fatal(err)
		}
		d.Wait(ops)
		if ops[2].Result.Err != nil || log.Messages(d.LaneOf(id, 0)) != before+1 {
			t.Errorf("a group of two inserts: %v, %d messages", ops[2].Result.Err, log.Messages(d.LaneOf(id, 0))-before)
		}
		if err := d.DoGroup(ops); err != nil { // the version is another one now
			t.Fatal(err)
		}
		if d.Wait(ops); !errors.Is(ops[0].Result.Err, store.ErrCondition) || !errors.Is(ops[2].Result.Err, store.ErrCondition) {
			t.Errorf("a group on an old version: %v, %v", ops[0].Result.Err, ops[2].Result.Err)
		}
		if got := contents.PartOf(make.Result.Entry).Cuckoo().Items(); got != 4 {
			t.Errorf("%d items, want 4", got)
		}
	})
}

// TestUnfit asks that records which would not do the same on every node are refused,
// and those around a group do nothing.
func TestUnfit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		for _, body := range []store.Body{
			&store.CountMinMerge{}, &store.TDigestMerge{}, &store.ShadowOpen{}, &store.ShadowSeal{}, &store.ShadowSwap{}, &store.Piece{},
			&store.ShadowAdd{Fed: true}, &store.Seed{},
			&store.FilterGrow{}, // of a level that the cluster does not have yet
		} {
			if err := do(d, &door.Op{Record: store.Record{Body: body}}); !errors.Is(err, door.ErrRefused) {
				t.Errorf("operation %d: %v", (&store.Record{Body: body}).Op(), err)
			}
		}
		before := log.Messages(0)
		if err := do(d, &door.Op{Record: store.Record{Body: &store.Begin{}}}, &door.Op{Record: store.Record{Body: &store.Commit{}}}); err != nil || log.Messages(0) != before {
			t.Errorf("marks: %v, %d messages", err, log.Messages(0)-before)
		}
		long := set("long")
		long.Record.Body.(*store.Set).Value = make([]byte, d.limit)
		if err := do(d, long); !errors.Is(err, door.ErrRefused) {
			t.Errorf("a record that is too long: %v", err)
		}
		most := set("most")
		most.Record.Body.(*store.Set).Value = make([]byte, d.MaxRecord()-64)
		if err := do(d, most); err != nil {
			t.Errorf("a record of MaxRecord: %v", err)
		}
		if err := do(d, set(strings.Repeat("n", store.MaxName+1))); !errors.Is(err, store.ErrLength) {
			t.Errorf("a name that is too long: %v", err)
		}
		if err := do(d, &door.Op{Record: store.Record{ID: 99, Body: &store.CuckooInsert{Hashes: []uint64{1}}}}); !errors.Is(err, contents.ErrRetry) {
			t.Errorf("a record of a part that is gone: %v", err)
		}
	})
}

// TestLanes asks that parts are spread over the data lanes, those of a filter for every
// node are in the wide one, and that no release ever changes which.
func TestLanes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{Lanes: 8})
		outline, err := codec.AppendOutline(nil, bloom.New(100, 0.01))
		if err != nil {
			t.Fatal(err)
		}
		for _, replicas := range []uint8{0, 3, contents.AllReplicas} {
			name := fmt.Sprint("f", replicas)
			plan := contents.Plan{Parts: 7, Replicas: replicas}
			made := &door.Op{Record: store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte(name), Header: contents.AppendCreation(nil, &plan, outline)}}}
			if err := do(d, made); err != nil {
				t.Fatal(err)
			}
			lanes := map[int]int{}
			for i := range uint32(128) {
				lanes[d.LaneOf(made.Result.Entry.ID, i)]++
			}
			if replicas == contents.AllReplicas {
				if lanes[9] != 128 {
					t.Errorf("a filter for every node is in lanes %v", lanes)
				}
				continue
			}
			for lane := 1; lane <= 8; lane++ {
				if lanes[lane] < 4 { // 16 are expected, with a standard deviation of 3.7
					t.Errorf("%s: lanes %v", name, lanes)
				}
			}
		}
		for id, want := range map[uint64]int{1: 6, 2: 3, 3: 1, 1000: 8, 1 << 40: 1} {
			if got := d.laneAt(id, 0, false).number; got != want {
				t.Errorf("id %d is in lane %d, and was in lane %d", id, got, want)
			}
		}
	})
}
