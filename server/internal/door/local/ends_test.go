package local_test

// How far the log is, and what the next start makes of how it ended.

import (
	"errors"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestAfterACutGroup ends a log within a group: the group is left out, and what comes
// behind it is not, however often the server starts.
func TestAfterACutGroup(t *testing.T) {
	files := &folder.Memory{}
	state, d := open(t, files, local.Never)
	id := do(t, d, newBloom("k", 100)).Entry.ID
	items := func() uint64 { return contents.PartOf(state.Names.ByID(id)).Bloom().Items() }
	do(t, d, add(id, 1), store.Record{Body: &store.Begin{}}, add(id, 2))
	for start := range uint64(3) {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if state, d = open(t, files, local.Never); items() != 1+start {
			t.Errorf("start %d: %d items, want %d", start+1, items(), 1+start)
		}
		do(t, d, add(id, 10+start))
	}
	_ = d.Close()
}

// TestClosedDoor asks that a door that was closed takes nothing.
func TestClosedDoor(t *testing.T) {
	state, d := open(t, &folder.Memory{}, local.Never)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	ops := []*door.Op{{Record: newBloom("late", 100)}}
	d.Do(ops)
	if d.Wait(ops); ops[0].Err == nil || d.Refuses() == nil || d.Sync() == nil || state.Names.Len() != 0 {
		t.Errorf("a door that was closed: %v, refuses %v, %d names", ops[0].Err, d.Refuses(), state.Names.Len())
	}
}

// TestLogBytes asks that the log counts from the last snapshot on.
func TestLogBytes(t *testing.T) {
	_, d := open(t, &folder.Memory{}, local.Never)
	id := do(t, d, newBloom("k", 100)).Entry.ID
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	at := d.Position()
	if st := d.Status(); st.LogBytes != 0 || st.LogEnd != at || at == 0 {
		t.Errorf("after a snapshot at position %d: %+v", at, st)
	}
	do(t, d, add(id, 1))
	if st := d.Status(); st.LogBytes != int64(d.Position()-at) || st.LogBytes == 0 {
		t.Errorf("%d bytes of log, want %d", st.LogBytes, d.Position()-at)
	}
	_ = d.Close()
}

// TestReadyCatchesUp asks that a writer who finds the log behind by too much time has it
// synced, and one who finds too much in memory has it written only.
func TestReadyCatchesUp(t *testing.T) {
	now := time.Duration(0)
	d, err := local.Open(local.Config{
		State: store.New(), Files: &folder.Memory{}, Fsync: local.EverySecond, SnapshotAfter: -1, Tick: func() time.Duration { return now },
		Manual: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	do(t, d, newBloom("k", 100))
	before := d.Status().Syncs
	if d.Ready(false); d.Busy() || d.Status().Syncs != before || d.Status().Buffered == 0 {
		t.Errorf("nothing is due: busy %v, %+v", d.Busy(), d.Status())
	}
	if now += time.Minute; !d.Busy() {
		t.Error("a log that is a minute behind is not busy")
	}
	if d.Ready(false); d.Busy() || d.Status().Syncs != before+1 {
		t.Errorf("busy %v, %d syncs, want %d", d.Busy(), d.Status().Syncs, before+1)
	}
	for range 9 {
		do(t, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("k"), Value: make([]byte, 1<<20)}}})
	}
	if !d.Busy() {
		t.Errorf("%d bytes wait, and it is not busy", d.Status().Buffered)
	}
	if d.Ready(false); d.Busy() || d.Status().Syncs != before+1 {
		t.Errorf("busy %v with %d bytes, %d syncs, want %d", d.Busy(), d.Status().Buffered, d.Status().Syncs, before+1)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		t.Error(err)
	}
}
