package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
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
	node := log.Node(ErrFull)
	c.Log = as(node)
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		node.Kill()
		_ = d.Close()
		node.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return d, d.Start(ctx, nil)
}

func set(name string) *door.Op {
	return &door.Op{Record: store.Record{Op: store.OpSet, Name: []byte(name), Value: []byte("v")}}
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

// TestWithoutQuorum asks what clients are told while the log answers nothing, and
// that what was sent counts once it answers again.
func TestWithoutQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: 2 * time.Second})
		d := open(t, log, Config{})
		if err := do(d, set("before")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // silence is no fault
		if err := d.Refuses(); err != nil {
			t.Fatal(err)
		}
		log.SetDown(true)
		began := time.Now()
		if err := do(d, set("sent")); !errors.Is(err, door.ErrUnknown) {
			t.Errorf("a write without quorum: %v", err)
		}
		if took := time.Since(began); took != defaultTimeout {
			t.Errorf("the client was answered after %v", took)
		}
		if err := d.Refuses(); !errors.Is(err, door.ErrDown) {
			t.Errorf("Refuses = %v", err)
		}
		began = time.Now()
		if err := do(d, set("refused")); !errors.Is(err, door.ErrDown) || time.Since(began) != 0 {
			t.Errorf("a write after 10 s without quorum: %v, after %v", err, time.Since(began))
		}
		if err := d.FreshNames(); !errors.Is(err, door.ErrDown) {
			t.Errorf("FreshNames = %v", err)
		}
		if c := d.Cluster(); c.Quorum || !c.Serving || c.Err == nil || c.Lanes[0].Down == nil || len(c.Problems) == 0 {
			t.Errorf("Cluster = %+v", c)
		}
		log.SetDown(false)
		time.Sleep(10 * time.Second)
		if err := d.Refuses(); err != nil {
			t.Errorf("Refuses with a quorum = %v", err)
		}
		if err := do(d, set("after")); err != nil {
			t.Error(err)
		}
		if !has(d, "before") || !has(d, "sent") || has(d, "refused") || !has(d, "after") {
			t.Error("names are not as clients were told")
		}
	})
}

// TestUnsent asks that what is known not to have been sent is not answered as
// unknown, and never sent.
func TestUnsent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: time.Second})
		d := open(t, log, Config{Timeout: 5 * time.Second})
		log.SetDown(true)
		var ops []*door.Op
		for i := range 40 {
			op := set(fmt.Sprint("n", i))
			d.Do([]*door.Op{op})
			wake([]*door.Op{op})
			synctest.Wait() // the sender takes what it may
			ops = append(ops, op)
		}
		d.Wait(ops)
		unknown := 0
		for i, op := range ops {
			switch {
			case errors.Is(op.Err, door.ErrUnknown):
				unknown++
			case !errors.Is(op.Err, door.ErrDown):
				t.Errorf("op %d: %v", i, op.Err)
			}
		}
		if unknown < 1 || unknown > mostOpen {
			t.Errorf("%d of 40 ops are unknown, at most %d were sent", unknown, mostOpen)
		}
		if n := d.waitingBytes.Load(); n != 0 {
			t.Errorf("%d bytes wait", n)
		}
		log.SetDown(false)
		time.Sleep(10 * time.Second)
		for i, op := range ops {
			if got, want := has(d, fmt.Sprint("n", i)), errors.Is(op.Err, door.ErrUnknown); got != want {
				t.Errorf("op %d, %v: in the state: %v", i, op.Err, got)
			}
		}
	})
}

// TestGathers asks that records that are put in order one by one, and waited for
// together, make one message, and that those nobody waits for are sent too.
func TestGathers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
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
		long.Record.Value = make([]byte, enoughWaiting)
		d.Do([]*door.Op{long})
		if synctest.Wait(); log.Messages(0) == before {
			t.Error("much that waits was not sent at once")
		}
	})
}

// TestFullStream asks that a stream without room refuses writes, and takes them again.
func TestFullStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: time.Second})
		d := open(t, log, Config{})
		log.SetFull(true)
		first := set("first")
		d.Do([]*door.Op{first})
		time.Sleep(time.Second)
		if err := do(d, set("second")); !errors.Is(err, door.ErrDown) || !strings.Contains(err.Error(), "full") {
			t.Errorf("a write to a full stream: %v", err)
		}
		log.SetFull(false)
		if d.Wait([]*door.Op{first}); first.Err != nil {
			t.Errorf("the write that met the full stream: %v", first.Err)
		}
		if err := do(d, set("third")); err != nil {
			t.Error(err)
		}
	})
}

// TestSuperseded asks that of two processes of one node the later one serves.
func TestSuperseded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Delay: time.Millisecond})
		old := open(t, log, Config{})
		if err := do(old, set("old")); err != nil {
			t.Fatal(err)
		}
		later := open(t, log, Config{Number: old.number.Load()})
		synctest.Wait()
		time.Sleep(time.Second)
		select {
		case <-old.Failed():
		default:
			t.Error("the old process goes on")
		}
		if err := do(old, set("late")); !errors.Is(err, door.ErrDown) || !errors.Is(old.Serving(), ErrSuperseded) {
			t.Errorf("a write to the old process: %v, it serves: %v", err, old.Serving())
		}
		if !has(later, "old") || has(later, "late") {
			t.Error("the new process has other names")
		}
	})
}

// TestFenced asks that a message of an old session that comes late changes nothing: in
// the catalogue from the new session on, in another lane from its first message on.
func TestFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		n, id := d.number.Load(), d.id.Load()
		session := d.session.Load()
		message := func(name string) []byte {
			r := set(name).Record
			h := header{cluster: id, node: n, session: session, counter: 1000}
			return appendSum(store.AppendRecord(appendHeader(nil, &h), &r))
		}
		log.Append(0, message("in time"))
		d2 := open(t, log, Config{Number: n})
		log.Append(0, message("late"))
		stranger := header{cluster: id + 1, node: n, session: d2.session.Load(), counter: 5}
		log.Append(0, appendSum(store.AppendRecord(appendHeader(nil, &stranger), &set("foreign").Record)))
		time.Sleep(time.Second)
		if !has(d2, "in time") || has(d2, "late") || has(d2, "foreign") {
			t.Errorf("in time: %v, late: %v, of another cluster: %v", has(d2, "in time"), has(d2, "late"), has(d2, "foreign"))
		}
		if err := do(d2, set("own")); err != nil {
			t.Error(err)
		}
	})
}

// TestRemoved asks that a node that was removed stops, and does not come back.
func TestRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, b := open(t, log, Config{}), open(t, log, Config{})
		leave := &door.Op{Record: store.Record{Op: store.OpLeave, ID: uint64(b.number.Load())}}
		if err := do(a, leave); err != nil {
			t.Fatal(err)
		}
		<-b.Failed()
		if err := b.Serving(); !errors.Is(err, ErrRemoved) {
			t.Errorf("Serving = %v", err)
		}
		if _, err := tryOpen(t, log, Config{Number: b.number.Load()}); !errors.Is(err, ErrRemoved) {
			t.Errorf("a start of a node that was removed: %v", err)
		}
		if c := open(t, log, Config{}); c.number.Load() != 3 {
			t.Errorf("it comes back as %d, want 3", c.number.Load())
		}
	})
}

// TestUnreadable asks that a node that cannot read a message stops, and does not go on
// behind it.
func TestUnreadable(t *testing.T) {
	later := set("later").Record
	unknown := store.AppendRecord(nil, &later)
	unknown[1] = 250
	for name, c := range map[string]struct {
		message func(d *Door) []byte
		want    error
	}{
		"no record": {func(d *Door) []byte {
			h := header{cluster: d.id.Load(), node: 1, session: 1, counter: 1000}
			return appendSum(append(appendHeader(nil, &h), store.AppendRecord(nil, &later)[:3]...))
		}, bloomery.ErrCorrupt},
		"an operation of a later release": {func(d *Door) []byte {
			h := header{cluster: d.id.Load(), node: 1, session: 1, counter: 1000}
			return appendSum(append(store.AppendRecord(appendHeader(nil, &h), &later), unknown...))
		}, bloomery.ErrVersion},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log := memlog.New(1, memlog.Faults{})
				d := open(t, log, Config{})
				waiting := set("waiting")
				log.Append(0, c.message(d))
				d.Do([]*door.Op{waiting})
				<-d.Failed()
				if err := d.Serving(); !errors.Is(err, c.want) || !errors.Is(err, door.ErrDown) {
					t.Errorf("Serving = %v", err)
				}
				if errors.Is(c.want, bloomery.ErrVersion) && !strings.Contains(d.Serving().Error(), "a later one is needed") {
					t.Errorf("Serving = %v, want that it says what is needed", d.Serving())
				}
				if d.Wait([]*door.Op{waiting}); waiting.Err == nil {
					t.Error("a write behind it is answered")
				}
				if has(d, "later") || has(d, "waiting") {
					t.Error("a part of it was applied, or what is behind it")
				}
			})
		})
	}
}

// TestPurgedStart asks that a node whose past was purged does not serve without it.
func TestPurgedStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		if err := do(d, set("a"), set("b")); err != nil {
			t.Fatal(err)
		}
		if err := d.config.Log.Purge(0, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := tryOpen(t, log, Config{}); !errors.Is(err, ErrPurged) {
			t.Errorf("a start of a node that lacks what was purged: %v", err)
		}
	})
}

// TestGroups asks which groups are taken, and that a group is a message.
func TestGroups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		make := &door.Op{Record: store.Record{Op: store.OpCuckoo, Name: []byte("f"), Cuckoo: redisbloom.CuckooParams{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}
		if err := do(d, make); err != nil {
			t.Fatal(err)
		}
		id := make.Result.Entry.ID
		insert := func(room uint64) *door.Op {
			return &door.Op{Record: store.Record{Op: store.OpInsert, ID: id, Room: room, Hashes: []uint64{1, 2}}}
		}
		long := set("long")
		long.Record.Value = []byte(strings.Repeat("x", d.limit-headBytes))
		for name, ops := range map[string][]*door.Op{
			"two lanes": {set("a"), insert(0)},
			"too long":  {set("a"), long},
			"a merge":   {{Record: store.Record{Op: store.OpCountMinMerge, Name: []byte("m")}}},
		} {
			if err := d.DoGroup(ops); !errors.Is(err, door.ErrGroup) {
				t.Errorf("%s: %v", name, err)
			}
		}
		before := log.Messages(d.LaneOf(id, 0))
		expect := &door.Op{Record: store.Record{Op: store.OpExpectPart, ID: id, Limit: 0}}
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
		if got := store.PartOf(make.Result.Entry).Cuckoo().Items(); got != 4 {
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
		for _, op := range []store.Op{
			store.OpCountMinMerge, store.OpTDigestMerge, store.OpShadow, store.OpShadowSeal, store.OpShadowSwap, store.OpPiece,
		} {
			if err := do(d, &door.Op{Record: store.Record{Op: op, Name: []byte("k")}}); !errors.Is(err, door.ErrRefused) {
				t.Errorf("operation %d: %v", op, err)
			}
		}
		before := log.Messages(0)
		if err := do(d, &door.Op{Record: store.Record{Op: store.OpBegin}}, &door.Op{Record: store.Record{Op: store.OpCommit}}); err != nil || log.Messages(0) != before {
			t.Errorf("marks: %v, %d messages", err, log.Messages(0)-before)
		}
		long := set("long")
		long.Record.Value = make([]byte, d.limit)
		if err := do(d, long); !errors.Is(err, door.ErrRefused) {
			t.Errorf("a record that is too long: %v", err)
		}
		most := set("most")
		most.Record.Value = make([]byte, d.MaxRecord()-64)
		if err := do(d, most); err != nil {
			t.Errorf("a record of MaxRecord: %v", err)
		}
		if err := do(d, set(strings.Repeat("n", store.MaxName+1))); !errors.Is(err, store.ErrLength) {
			t.Errorf("a name that is too long: %v", err)
		}
		if err := do(d, &door.Op{Record: store.Record{Op: store.OpInsert, ID: 99, Hashes: []uint64{1}}}); !errors.Is(err, store.ErrRetry) {
			t.Errorf("a record of a part that is gone: %v", err)
		}
	})
}

// TestReveal stages a filter on one node and asks that no other one shows it before it
// has its contents, however slow its lanes are.
func TestReveal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(3, memlog.Faults{Delay: time.Millisecond})
		a, b := open(t, log, Config{Lanes: 4}), open(t, log, Config{})
		if err := do(a, &door.Op{Record: store.Record{Op: store.OpBloom, Name: []byte("model"), Bloom: redisbloom.BloomParams{Error: 0.01, Capacity: 100, Expansion: 2}}}); err != nil {
			t.Fatal(err)
		}
		model := store.PartOf(a.state.Names.Lookup([]byte("model"), 0)).Contents()
		next, chunk := model.ScanDump(1)
		bits := bytes.Repeat([]byte{0xff}, len(chunk))
		stage := &door.Op{Record: store.Record{Op: store.OpStage, Flags: uint8(store.OpBloomDump), Value: model.AppendHeader(nil)}}
		if err := do(a, stage); err != nil {
			t.Fatal(err)
		}
		id := stage.Result.Entry.ID
		slow := b.config.Log.(*memlog.Node)
		slow.Hold(b.LaneOf(id, 0), true)
		if err := do(a, &door.Op{Record: store.Record{Op: store.OpBloomChunk, ID: id, Position: next, Value: bits}}); err != nil {
			t.Fatal(err)
		}
		if err := do(a, &door.Op{Record: store.Record{Op: store.OpReveal, ID: id, Name: []byte("k")}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if has(b, "k") {
			t.Error("a filter is shown before its contents are there")
		}
		slow.Hold(b.LaneOf(id, 0), false)
		time.Sleep(time.Second)
		if !has(b, "k") {
			t.Fatal("a filter whose contents are there is not shown")
		}
		if _, got := store.PartOf(b.state.Names.Lookup([]byte("k"), 0)).Contents().ScanDump(1); !bytes.Equal(got, bits) {
			t.Error("its contents are others")
		}
	})
}

// TestOneBirth starts nodes at once: one cluster comes of it, and every node has a
// number of its own.
func TestOneBirth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(5, memlog.Faults{Delay: 50 * time.Millisecond, Twice: 0.5, Unacked: 0.5})
		doors := make([]*Door, 5)
		done := make(chan struct{})
		for i := range doors {
			go func() {
				doors[i] = open(t, log, Config{Lanes: i + 1, Name: fmt.Sprint("n", i)})
				done <- struct{}{}
			}()
		}
		for range doors {
			<-done
		}
		numbers := map[uint32]bool{}
		for _, d := range doors {
			numbers[d.number.Load()] = true
			if d.id.Load() != doors[0].id.Load() || len(d.all()) != len(doors[0].all()) {
				t.Errorf("node %d is in a cluster of its own", d.number.Load())
			}
		}
		if len(numbers) != len(doors) || numbers[0] {
			t.Errorf("numbers are %v", numbers)
		}
	})
}

// TestNoMemory asks that a node for which the system has no memory when others have
// some does not serve what it has made of a message, nor keeps it.
func TestNoMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a := open(t, log, Config{})
		b := open(t, log, Config{Files: &folder.Memory{}, hooks: hooks{lacks: func(r *store.Record) bool { return string(r.Name) == "large" }}})
		op := set("large")
		if err := do(b, op); !errors.Is(err, door.ErrUnknown) {
			t.Errorf("a write that others have: %v", err)
		}
		<-b.Failed()
		if err := b.Serving(); !errors.Is(err, store.ErrMemory) {
			t.Errorf("Serving = %v", err)
		}
		if err := b.Snapshot(); !errors.Is(err, store.ErrMemory) {
			t.Errorf("Snapshot = %v", err)
		}
		if err := do(a, set("small")); err != nil || !has(a, "large") {
			t.Errorf("the other node: %v", err)
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
			return do(a, &door.Op{Record: store.Record{Op: store.OpBloom, Name: []byte(name), Bloom: redisbloom.BloomParams{Error: 0.01, Capacity: 100_000, Expansion: 2}}})
		}
		add := func() error {
			id := a.state.Names.Lookup([]byte("k"), 0).ID
			return do(a, &door.Op{Record: store.Record{Op: store.OpAdd, ID: id, Digests: []redisbloom.Digest{{A: 1, B: 2}}}, Admit: generous{}})
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

func (generous) Admit(_ *store.Part, ops []*door.Op) (uint64, bool) {
	for _, op := range ops {
		op.Record.Room = 10_000
	}
	return 10_000, true
}

func (generous) Settle(uint64) {}

// TestMembers removes a node, and raises the level when all others can follow.
func TestMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
		a, b, c := open(t, log, Config{Peers: m}), open(t, log, Config{Peers: m}), open(t, log, Config{Peers: m})
		time.Sleep(2 * time.Second)
		if level, err := a.Upgrade(); err != nil || level != Level || b.state.Roster().Level > Level {
			t.Errorf("Upgrade = %d, %v", level, err)
		}
		if level, err := a.Upgrade(); err != nil || level != Level {
			t.Errorf("Upgrade again = %d, %v", level, err)
		}
		_ = c.Close()
		time.Sleep(2 * liveFor)
		if _, err := a.Upgrade(); err == nil || !strings.Contains(err.Error(), "node 3") {
			t.Errorf("Upgrade without node 3: %v", err)
		}
		if err := a.Remove(1); !errors.Is(err, errSelf) {
			t.Errorf("Remove of itself: %v", err)
		}
		if err := a.Remove(9); !errors.Is(err, errNobody) {
			t.Errorf("Remove of nobody: %v", err)
		}
		if err := a.Remove(3); err != nil {
			t.Error(err)
		}
		if _, err := a.Upgrade(); err != nil {
			t.Errorf("Upgrade without a node that was removed: %v", err)
		}
	})
}

// TestLeftWithoutAName asks that a filter whose node has died before it had a name is
// removed when the node comes back.
func TestLeftWithoutAName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, b := open(t, log, Config{}), open(t, log, Config{})
		stage := &door.Op{Record: store.Record{Op: store.OpStage, Flags: uint8(store.OpFilterLoad), Value: store.AppendPlan(nil, &store.Plan{})}}
		if err := do(a, stage); err != nil {
			t.Fatal(err)
		}
		id := stage.Result.Entry.ID
		_ = a.Close()
		time.Sleep(time.Second)
		if b.state.Names.ByID(id) == nil {
			t.Error("it is gone before its node has come back")
		}
		a = open(t, log, Config{Number: a.number.Load()})
		time.Sleep(time.Second)
		if a.state.Names.ByID(id) != nil || b.state.Names.ByID(id) != nil || b.state.Bytes() != 0 {
			t.Errorf("it is left, with %d bytes", b.state.Bytes())
		}
	})
}

// TestSeenAtOnce sends a record of a filter while the message that made it is still
// being applied: it has to name that message.
func TestSeenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		var d *Door
		var named place
		insert := &door.Op{Record: store.Record{Op: store.OpInsert, Room: store.Unlimited, Hashes: []uint64{1}}}
		between := func() {
			e := d.state.Names.Lookup([]byte("f"), 0)
			if e == nil || insert.Record.ID != 0 {
				return
			}
			insert.Record.ID = e.ID
			l := d.partLane(e.ID, 0)
			d.config.Log.(*memlog.Node).Hold(l.number, true)
			defer d.config.Log.(*memlog.Node).Hold(l.number, false)
			d.Do([]*door.Op{insert})
			for wake([]*door.Op{insert}); named == (place{}); runtime.Gosched() {
				l.send.Lock()
				for _, m := range l.flight {
					var h header
					if _, err := parseMessage(&h, m.bytes); err != nil {
						t.Error(err)
					}
					named = h.after[0]
				}
				l.send.Unlock()
			}
		}
		d = open(t, log, Config{hooks: hooks{between: func() { between() }}})
		made := &door.Op{Record: store.Record{Op: store.OpCuckoo, Name: []byte("f"), Cuckoo: cuckooOf}}
		if err := do(d, made, set("s")); err != nil {
			t.Fatal(err)
		}
		if want := (place{0, log.Messages(0)}); named != want {
			t.Errorf("the insert names %v, want %v", named, want)
		}
		d.Wait([]*door.Op{insert})
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
		for _, replicas := range []uint8{0, 3, store.AllReplicas} {
			name := fmt.Sprint("f", replicas)
			plan := store.Plan{Parts: 7, Replicas: replicas}
			made := &door.Op{Record: store.Record{Op: store.OpFilter, Name: []byte(name), Value: store.AppendCreation(nil, &plan, outline)}}
			if err := do(d, made); err != nil {
				t.Fatal(err)
			}
			lanes := map[int]int{}
			for i := range uint32(128) {
				lanes[d.LaneOf(made.Result.Entry.ID, i)]++
			}
			if replicas == store.AllReplicas {
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
