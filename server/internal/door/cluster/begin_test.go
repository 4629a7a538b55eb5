package cluster

// How a door begins: settings, the first record, the lanes, and when it saves again.

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestLaneStates asks that what a manifest keeps of the lanes has to fit together.
func TestLaneStates(t *testing.T) {
	made := func() *snapshot.Manifest {
		m := &snapshot.Manifest{}
		if err := (founder{&roster.Roster{ID: 5, Lanes: 2, Holders: make([][]uint32, 4)}, 0, store.New()}).Cut(m, func() {}); err != nil {
			t.Fatal(err)
		}
		for i := range m.Lanes { // lanes share their bytes
			m.Lanes[i].State = append([]byte(nil), m.Lanes[i].State...)
		}
		return m
	}
	for name, c := range map[string]struct {
		change func(m *snapshot.Manifest)
		ok     bool
	}{
		"as it is":         {func(*snapshot.Manifest) {}, true},
		"another cluster":  {func(m *snapshot.Manifest) { m.Cluster = 6 }, false},
		"a lane less":      {func(m *snapshot.Manifest) { m.Lanes = m.Lanes[:3] }, false},
		"a lane more":      {func(m *snapshot.Manifest) { m.Lanes = append(m.Lanes, m.Lanes[3]) }, false},
		"with a sum":       {func(m *snapshot.Manifest) { m.Lanes[2].State = append(m.Lanes[2].State, 7, 0, 0, 0) }, true},
		"a part of a sum":  {func(m *snapshot.Manifest) { m.Lanes[2].State = append(m.Lanes[2].State, 7) }, false},
		"more than a sum":  {func(m *snapshot.Manifest) { m.Lanes[0].State = append(m.Lanes[0].State, 7, 0, 0, 0, 0) }, false},
		"no table":         {func(m *snapshot.Manifest) { m.Lanes[1].State = nil }, false},
		"no table, no one": {func(m *snapshot.Manifest) { m.Lanes[0].State = nil }, false},
	} {
		m := made()
		c.change(m)
		r, tables, sums, err := laneStates(m)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (r.ID != 5 || r.Lanes != 2 || len(tables) != 4 || len(sums) != 4 || (sums[2] == 7) != (name == "with a sum") || sums[1] != 0) {
			t.Errorf("%s: %+v, %d tables, sums %v", name, r, len(tables), sums)
		}
	}
}

// TestFirstRecord asks how a log begins: strays in front of the record that begins the
// cluster, and messages without one, are passed over.
func TestFirstRecord(t *testing.T) {
	message := func(h messages.Header, r store.Record) []byte {
		return messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &h), &r))
	}
	birth := message(messages.Header{}, store.Record{Body: &store.Birth{ID: 9, Lanes: 2}})
	found := message(messages.Header{Cluster: 8}, store.Record{Body: &store.Found{ID: 8}})
	join := message(messages.Header{}, store.Record{Body: &store.Join{Name: []byte("n")}})
	later := messages.AppendSum([]byte{messages.Version + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	for name, c := range map[string]struct {
		messages [][]byte
		purge    uint64
		want     beginning
		err      error
	}{
		"nothing":        {nil, 0, beginning{}, nil},
		"birth":          {[][]byte{birth}, 0, beginning{op: store.OpBirth, id: 9}, nil},
		"found":          {[][]byte{found, birth}, 0, beginning{op: store.OpFound, id: 8}, nil},
		"strays":         {[][]byte{[]byte("stray"), {}}, 0, beginning{}, nil},
		"behind strays":  {[][]byte{[]byte("stray"), {}, birth}, 0, beginning{op: store.OpBirth, id: 9}, nil},
		"behind another": {[][]byte{join, found}, 0, beginning{op: store.OpFound, id: 8}, nil},
		"of a node":      {[][]byte{message(messages.Header{Node: 1}, store.Record{Body: &store.Birth{ID: 9, Lanes: 2}})}, 0, beginning{}, nil},
		"later release":  {[][]byte{later, birth}, 0, beginning{}, bloomery.ErrVersion},
		"purged":         {[][]byte{birth, join}, 2, beginning{purged: true}, nil},
	} {
		log := memlog.New(1, memlog.Faults{})
		for _, msg := range c.messages {
			log.Append(0, msg)
		}
		node := log.Node(ErrFull)
		if err := node.Purge(0, c.purge); err != nil {
			t.Fatal(err)
		}
		d, err := Open(Config{State: store.New(), Log: node, Files: &folder.Memory{}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.readFirst(t.Context()); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, err, c.want, c.err)
		}
		log.SetDown(true)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := d.readFirst(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, a log that does not answer: %+v, %v", name, got, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTick asks that the time since a door was opened is never 0, which means never.
func TestTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Files: &folder.Memory{}})
		if err != nil || d.tick() <= 0 {
			t.Fatalf("%v, the time is %v", err, d.tick())
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStartNeedsEveryLane asks that a node which hears nothing of one lane does not serve.
func TestStartNeedsEveryLane(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, err := tryOpenAs(t, memlog.New(1, memlog.Faults{}), Config{Lanes: 1}, func(n *memlog.Node) Log {
			n.Hold(1, true)
			return n
		})
		if !errors.Is(err, context.DeadlineExceeded) || d.Serving() == nil {
			t.Errorf("start: %v, it serves: %v", err, d.Serving() == nil)
		}
	})
}

// TestLimitsOfDoors asks which settings a door refuses, and what it takes for none.
func TestLimitsOfDoors(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		ok     bool
	}{
		"defaults":           {Config{}, true},
		"one lane":           {Config{Lanes: 1}, true},
		"no lane":            {Config{Lanes: -1}, false},
		"all lanes":          {Config{Lanes: roster.MaxLanes}, true},
		"more":               {Config{Lanes: roster.MaxLanes + 1}, false},
		"short messages":     {Config{MaxMessage: 64<<10 + messages.Spare}, true},
		"too short messages": {Config{MaxMessage: 64<<10 + messages.Spare - 1}, false},
	} {
		c.config.State, c.config.Log, c.config.Files = store.New(), memlog.New(1, memlog.Faults{}).Node(ErrFull), &folder.Memory{}
		d, err := Open(c.config)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if name == "defaults" && (d.config.Lanes != 8 || d.limit != messages.MostBytes || d.config.Timeout != 15*time.Second || d.config.SnapshotAfter != 64<<20) {
			t.Errorf("defaults: %+v, messages of %d bytes", d.config, d.limit)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// stuck is a folder in which no file can be made.
type stuck struct {
	folder.Files
	is atomic.Bool
}

func (s *stuck) Create(name string) (folder.File, error) {
	if s.is.Load() {
		return nil, syscall.ENOSPC
	}
	return s.Files.Create(name)
}

// TestSnapshotsWaitAfterAFailure asks that a snapshot which has failed is tried again
// after a minute, and not before.
func TestSnapshotsWaitAfterAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		files := &stuck{Files: &folder.Memory{}}
		d := open(t, memlog.New(1, memlog.Faults{}), Config{Files: files, SnapshotAfter: 1})
		files.is.Store(true)
		if err := do(d, set("a")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after time.Duration
			want  int64
		}{{2 * time.Second, 1}, {50 * time.Second, 1}, {12 * time.Second, 2}} {
			time.Sleep(c.after)
			if st := d.Status(); st.Failed != c.want || st.Snapshots != 0 {
				t.Errorf("%d snapshots have failed, want %d; %d were taken", st.Failed, c.want, st.Snapshots)
			}
		}
		files.is.Store(false)
		time.Sleep(62 * time.Second)
		if st := d.Status(); st.Failed != 2 || st.Snapshots != 1 {
			t.Errorf("%d snapshots have failed, %d were taken", st.Failed, st.Snapshots)
		}
	})
}

// purges is a log that counts how often it is purged.
type purges struct {
	*memlog.Node
	n atomic.Int32
}

func (p *purges) Purge(lane int, below uint64) error {
	p.n.Add(1)
	return p.Node.Purge(lane, below)
}

// TestPurgesOnce asks that a lane is purged when a snapshot has more of it, and not again
// and again.
func TestPurgesOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &purges{}
		d := openAs(t, memlog.New(1, memlog.Faults{}), Config{Files: &folder.Memory{}, Lanes: 1}, func(n *memlog.Node) Log {
			log.Node = n
			return log
		})
		for _, want := range []int32{3, 4} { // all lanes, then the one that has changed
			if err := errors.Join(do(d, set("a")), d.Snapshot()); err != nil {
				t.Fatal(err)
			}
			if time.Sleep(20 * time.Second); log.n.Load() != want {
				t.Errorf("the log was purged %d times, want %d", log.n.Load(), want)
			}
		}
	})
}
