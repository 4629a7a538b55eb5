package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestDoNeverWaits holds the disk while records come: Do takes them all the
// same, and Ready returns only when the disk goes on.
func TestDoNeverWaits(t *testing.T) {
	disk := powercut.New(1)
	var held atomic.Bool
	goOn := make(chan struct{})
	disk.Fail = func(op, _ string) error {
		if op == "write" && held.Load() {
			<-goOn
		}
		return nil
	}
	_, d := open(t, disk, local.EverySecond)
	held.Store(true)
	ops := make(chan int, 1)
	go func() {
		n := 0
		for ; n < 20; n++ { // 20 MiB: more than twice what Ready lets wait
			d.Do([]*door.Op{{Record: store.Record{Body: &store.Set{String: store.String{Name: fmt.Appendf(nil, "k%d", n), Value: make([]byte, 1<<20)}}}}})
		}
		ops <- n
	}()
	select {
	case <-ops:
	case <-time.After(time.Minute):
		t.Fatal("Do waits for the disk")
	}
	ready := make(chan struct{})
	go func() {
		d.Ready(false)
		close(ready)
	}()
	select {
	case <-ready:
		t.Error("Ready does not wait for the disk")
	case <-time.After(100 * time.Millisecond):
	}
	held.Store(false)
	close(goOn)
	select {
	case <-ready:
	case <-time.After(time.Minute):
		t.Fatal("Ready waits for ever")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPiecesLeaveRoom holds the disk while there is more to be written than pieces of long things
// may leave there: whoever writes those waits, and others find room.
func TestPiecesLeaveRoom(t *testing.T) {
	disk := powercut.New(1)
	d, err := local.Open(local.Config{State: store.New(), Files: disk, SnapshotAfter: -1, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(n int) {
		do(t, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("k"), Value: make([]byte, n)}}})
	}
	fill(100)
	if d.Ready(true); d.Status().Buffered == 0 {
		t.Error("a piece waits for an empty log")
	}
	for range 10 { // an eighth of what others may leave there
		fill(100 << 10)
	}
	before := d.Status().Buffered
	if d.Ready(false); d.Busy() || d.Status().Buffered != before {
		t.Errorf("with %d bytes others wait", before)
	}
	writing, goOn, ready := make(chan struct{}), make(chan struct{}), make(chan struct{})
	disk.Fail = func(op, _ string) error {
		if op == "write" {
			close(writing)
			<-goOn
		}
		return nil
	}
	go func() {
		d.Ready(true)
		close(ready)
	}()
	<-writing // so it waits for the disk
	d.Ready(false)
	fill(100)
	select {
	case <-ready:
		t.Error("it has not waited")
	default:
	}
	close(goOn)
	<-ready
	disk.Fail = nil
	if got := d.Status().Buffered; got == 0 || got > 1000 {
		t.Errorf("%d bytes are left, want what came last", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFramesHaveALimit lets much more wait than a frame may hold: it is written as
// several frames, and all of it comes back.
func TestFramesHaveALimit(t *testing.T) {
	const limit = 2000
	files := &folder.Memory{}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, Fsync: local.Always, SnapshotAfter: -1, Manual: true, LogFile: limit, Small: 200})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		size := 100
		if i == 50 {
			size = 10 * limit // longer than a frame of several
		}
		do(t, d, store.Record{Body: &store.Set{String: store.String{Name: fmt.Appendf(nil, "k%d", i), Value: make([]byte, size)}}})
	}
	if got := d.Status().Buffered; got < 100*100+10*limit {
		t.Errorf("%d bytes are said to wait", got)
	}
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	if st := d.Status(); st.Buffered != 0 || st.Behind != 0 {
		t.Errorf("after Sync: %d bytes wait, the oldest for %v", st.Buffered, st.Behind)
	}
	frames := 0
	names, _ := files.List()
	for _, name := range names {
		for data := files.Bytes(name); len(data) > 0; frames++ {
			n := 32 + int(data[8]) + int(data[9])<<8 + int(data[10])<<16
			if n > limit+32 && n < 10*limit {
				t.Errorf("a frame of %d bytes", n)
			}
			data = data[n:]
		}
	}
	if frames < 100*100/limit {
		t.Errorf("%d frames", frames)
	}
	_, d = same(t, files, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEverySecondIgnoresTheTimeOfDay sets the clock back while records come:
// they are synced within the second all the same.
func TestEverySecondIgnoresTheTimeOfDay(t *testing.T) {
	start := time.Now()
	var back atomic.Int64
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: &folder.Memory{}, Fsync: local.EverySecond, SnapshotAfter: -1,
		Clock: func() time.Time { return start.Add(-time.Duration(back.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	id := do(t, d, newBloom("k", 1000)).Entry.ID
	for i := range uint64(3) {
		back.Add(int64(time.Hour))
		syncs := d.Status().Syncs
		do(t, d, add(id, i))
		deadline := time.Now().Add(time.Minute)
		for d.Status().Syncs == syncs {
			if time.Now().After(deadline) {
				t.Fatal("no sync after the clock was set back")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if behind := d.Status().Behind; behind < 0 || behind > time.Hour/2 {
		t.Errorf("Behind = %v", behind)
	}
}

// TestCursorsOutliveTheProcess stops in the middle of a scan, starts again and
// goes on: every name is visited.
func TestCursorsOutliveTheProcess(t *testing.T) {
	for _, saved := range []bool{false, true} {
		files := &folder.Memory{}
		state, d := open(t, files, local.Never)
		for i := range 3000 {
			do(t, d, store.Record{Body: &store.Set{String: store.String{Name: fmt.Appendf(nil, "name%d", i)}}})
		}
		seen := map[string]bool{}
		visit := func(v catalog.View) { seen[v.Name] = true }
		cursor := uint64(0)
		for len(seen) < 1500 {
			cursor = state.Names.Scan(cursor, 10, 0, visit)
		}
		if saved {
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		state, d = same(t, files, state, d)
		for cursor != 0 {
			cursor = state.Names.Scan(cursor, 10, 0, visit)
		}
		if len(seen) != 3000 {
			t.Errorf("snapshot %v: %d names seen, want 3000", saved, len(seen))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLaterRelease asks that records of a later release are not taken for
// damage.
func TestLaterRelease(t *testing.T) {
	outline := append(envelope.Header{Kind: 250}.AppendTo(nil), 0)
	filter := store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("k"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}
	for _, record := range [][]byte{{1, 250, 0, 0}, {2, 1, 0, 0}, store.AppendRecord(nil, &filter)} {
		files := &folder.Memory{}
		files.Put("00000000000000000000.log", local.SealLog(record, 0, 0))
		_, err := local.Open(local.Config{State: store.New(), Files: files})
		if !errors.Is(err, bloomery.ErrVersion) || errors.Is(err, bloomery.ErrCorrupt) || !bytes.Contains([]byte(err.Error()), []byte("a later one is needed")) {
			t.Errorf("Open: %v, want %v", err, bloomery.ErrVersion)
		}
	}
}

// TestLongNames asks that no name gets in that a record could not hold.
func TestLongNames(t *testing.T) {
	state, d := open(t, &folder.Memory{}, local.EverySecond)
	defer func() { _ = d.Close() }()
	do(t, d, store.Record{Body: &store.Set{String: store.String{Name: make([]byte, store.MaxName)}}})
	long := make([]byte, store.MaxName+1)
	for _, r := range []store.Record{{Body: &store.Set{String: store.String{Name: long}}}, {Body: &store.Rename{From: make([]byte, store.MaxName), To: long}}, newBloom(string(long), 10)} {
		op := &door.Op{Record: r}
		if d.Do([]*door.Op{op}); !errors.Is(op.Result.Err, store.ErrLength) {
			t.Errorf("operation %d: %v, want %v", r.Op(), op.Result.Err, store.ErrLength)
		}
	}
	if state.Names.Len() != 1 {
		t.Errorf("%d names, want 1", state.Names.Len())
	}
}
