package cluster

// Messages as they are applied: those that cannot be read or are gone, and what may be
// seen meanwhile.

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestUnreadable asks that a node that cannot read a message stops, and does not go on
// behind it.
func TestUnreadable(t *testing.T) {
	later := set("later").Record
	unknown := store.AppendRecord(nil, &later)
	unknown[1] = 250
	outline := append(envelope.Header{Kind: 250}.AppendTo(nil), 0)
	for name, c := range map[string]struct {
		message func(d *Door) []byte
		want    error
	}{
		"no record": {func(d *Door) []byte {
			h := messages.Header{Cluster: d.id.Load(), Node: 1, Session: 1, Counter: 1000}
			return messages.AppendSum(append(messages.AppendHeader(nil, &h), store.AppendRecord(nil, &later)[:3]...))
		}, bloomery.ErrCorrupt},
		"an operation of a later release": {func(d *Door) []byte {
			h := messages.Header{Cluster: d.id.Load(), Node: 1, Session: 1, Counter: 1000}
			return messages.AppendSum(append(store.AppendRecord(messages.AppendHeader(nil, &h), &later), unknown...))
		}, bloomery.ErrVersion},
		"a filter of a later release": {func(d *Door) []byte {
			h := messages.Header{Cluster: d.id.Load(), Node: 1, Session: 1, Counter: 1000}
			r := store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("later"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}
			return messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &h), &r))
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

// TestReveal stages a filter on one node and asks that no other one shows it before it
// has its contents, however slow its lanes are.
func TestReveal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(3, memlog.Faults{Delay: time.Millisecond})
		a, b := open(t, log, Config{Lanes: 4}), open(t, log, Config{})
		if err := do(a, &door.Op{Record: store.Record{Body: &store.MakeBloom{Name: []byte("model"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2}}}}); err != nil {
			t.Fatal(err)
		}
		model := contents.PartOf(a.state.Names.Lookup([]byte("model"), 0)).Contents()
		next, chunk := model.ScanDump(1)
		bits := bytes.Repeat([]byte{0xff}, len(chunk))
		stage := &door.Op{Record: store.Record{Body: &store.Stage{As: store.OpBloomDump, Header: model.AppendHeader(nil)}}}
		if err := do(a, stage); err != nil {
			t.Fatal(err)
		}
		id := stage.Result.Entry.ID
		slow := b.config.Log.(*memlog.Node)
		slow.Hold(b.LaneOf(id, 0), true)
		if err := do(a, &door.Op{Record: store.Record{ID: id, Body: &store.BloomChunk{Position: next, Data: bits}}}); err != nil {
			t.Fatal(err)
		}
		if err := do(a, &door.Op{Record: store.Record{Body: &store.Reveal{ID: id, Name: []byte("k")}}}); err != nil {
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
		if _, got := contents.PartOf(b.state.Names.Lookup([]byte("k"), 0)).Contents().ScanDump(1); !bytes.Equal(got, bits) {
			t.Error("its contents are others")
		}
	})
}

// TestSeenAtOnce sends a record of a filter while the message that made it is still
// being applied: it has to name that message.
func TestSeenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		var d *Door
		var named messages.Place
		insert := &door.Op{Record: store.Record{Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{1}}}}
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
			for wake([]*door.Op{insert}); named == (messages.Place{}); runtime.Gosched() {
				l.send.Lock()
				for _, m := range l.flight {
					var h messages.Header
					if _, err := messages.Parse(&h, m.bytes); err != nil {
						t.Error(err)
					}
					named = h.After[0]
				}
				l.send.Unlock()
			}
		}
		d = open(t, log, Config{})
		made := &door.Op{Applied: between, Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("f"), Params: cuckooOf}}}
		if err := do(d, made, set("s")); err != nil {
			t.Fatal(err)
		}
		if want := (messages.Place{Seq: log.Messages(0)}); named != want {
			t.Errorf("the insert names %v, want %v", named, want)
		}
		d.Wait([]*door.Op{insert})
	})
}

// alone is a log without leaders whose tail damages messages, from some moment on.
type alone struct {
	*memlog.Node
	is atomic.Bool
}

func (a *alone) Tail(lane int, from uint64, took func(seq uint64, msg []byte)) (stop func(), err error) {
	return a.Node.Tail(lane, from, func(seq uint64, msg []byte) {
		if lane == 0 && a.is.Load() {
			msg = slices.Clone(msg)
			msg[len(msg)/2] ^= 4
		}
		took(seq, msg)
	})
}

func (a *alone) Read(lane int, seq uint64) ([]byte, error) {
	if a.is.Load() {
		return nil, errors.New("no leader")
	}
	return a.Node.Read(lane, seq)
}

// TestDamagedWithoutLeader asks that a damaged message, of which no leader can be asked, does
// not hold its lane and those that wait for it for ever: the node stops, passes over nothing,
// and says why.
func TestDamagedWithoutLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		first, copied := open(t, log, Config{}), &alone{}
		d := openAs(t, log, Config{}, func(n *memlog.Node) Log { copied.Node = n; return copied })
		copied.is.Store(true)
		if err := do(first, &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("f"), Params: cuckooOf}}}); err != nil {
			t.Fatal(err)
		}
		id := first.state.Names.Lookup([]byte("f"), 0).ID
		if err := do(first, &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{1}}}}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-d.Failed():
		case <-time.After(time.Hour):
			t.Fatal("a damaged message holds its lane for an hour")
		}
		if err := d.Serving(); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "no leader of the stream has answered") {
			t.Errorf("Serving = %v", err)
		}
		if d.stats.stray.Load() != 0 || has(d, "f") {
			t.Error("the message was passed over, or applied")
		}
	})
}
