package filter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRebuildNewKey changes the secret key: hashes of clients are refused meanwhile,
// and a server without the new key breaks the rebuild, not the filter.
func TestRebuildNewKey(t *testing.T) {
	keys := commandtest.Keys()
	b := openBench(t, nil, newBench(t, 1).Now, keys)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	b.OK(t, "FILTER.REBUILD f BEGIN")
	if got := b.Line("FILTER.ADDHASH f 17 18"); got != "[true true]" {
		t.Errorf("ADDHASH while the hash stays: %s", got)
	}
	if got := b.status(t, "f", "added"); got != "2" {
		t.Errorf("%s added, want 2", got)
	}
	b.OK(t, "FILTER.REBUILD f ABORT")
	b.OK(t, "FILTER.REBUILD f BEGIN NEWKEY new")
	if got := b.Line("FILTER.ADDHASH f 19"); got != "-ERR FILTER.ADDHASH is refused while the filter gets a new key" {
		t.Errorf("ADDHASH while the key changes: %s", got)
	}
	if got := b.Line("FILTER.HASHASH f 17"); got != "[true]" {
		t.Errorf("HASHASH: %s", got)
	}
	b.add("f", "a", 0, 100)
	b = restarted(t, b, map[string]hashing.Hasher{"old": keys["old"]})
	if got := b.Line("FILTER.REBUILD f FEED x"); !strings.HasPrefix(got, "-ERR the secret key 'new'") {
		t.Errorf("FEED without the key: %s", got)
	}
	b.add("f", "a", 100, 200)
	b.hasAll(t, "f", "a", 0, 200)
	b = restarted(t, b, keys)
	if got := b.Line("FILTER.REBUILD f COMMIT FORCE"); !strings.HasPrefix(got, "-ERR the rebuild is broken") {
		t.Errorf("COMMIT of a rebuild that lacks items: %s", got)
	}
}

// TestRebuildCopies asks that copies are of the old filter, and that the folder of an
// open rebuild is sound.
func TestRebuildCopies(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	b.OK(t, "FILTER.CREATE g bloom CAPACITY 1000")
	b.add("f", "a", 0, 500)
	before := b.Line("DUMP f") + b.Line("FILTER.DUMP f 0")
	b.OK(t, "FILTER.REBUILD f BEGIN standard CAPACITY 5000")
	b.feed(t, "f", "b", 0, 900)
	if b.Line("DUMP f")+b.Line("FILTER.DUMP f 0") != before {
		t.Error("a dump is not of the old filter")
	}
	if got := b.Line("COPY f n"); got != ":1" {
		t.Errorf("COPY: %s", got)
	}
	b.hasAll(t, "n", "a", 0, 500)
	if got := b.field(t, "n", "kind"); got != "bloom" {
		t.Errorf("the copy is a %s", got)
	}
	if got := b.Line("COPY g f REPLACE"); got != "-ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first" {
		t.Errorf("COPY to a filter that is being rebuilt: %s", got)
	}
	if got := b.field(t, "f", "rebuilding"); got != "1" {
		t.Errorf("INFO shows rebuilding %s", got)
	}
	for range 2 {
		report, err := local.Inspect(b.Files.Copy())
		if err != nil || report.Damaged() {
			t.Fatalf("the folder: %v, %+v", err, report)
		}
		if err := b.Door.Snapshot(); err != nil {
			t.Fatal(err)
		}
		if err := b.Door.Verify(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRebuildExpires lets a filter expire while it is rebuilt: all memory is back.
func TestRebuildExpires(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	b.OK(t, "FILTER.REBUILD f BEGIN CAPACITY 100000")
	b.Line("PEXPIRE f 50")
	b.Now = b.Now.Add(time.Second)
	b.Engine.Sweep(100)
	b.Crash(t)
	if got := b.State.Bytes(); got != 0 {
		t.Errorf("%d bytes are left", got)
	}
}

// TestSealedRebuild stops a commit of a static kind between its seal and its swap: adds
// are refused, reads go on, and a restart opens it again.
func TestSealedRebuild(t *testing.T) {
	b := openBench(t, nil, newBench(t, 1).Now, nil)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000 PARTS 2")
	b.add("f", "a", 0, 500)
	b.OK(t, "FILTER.REBUILD f BEGIN fuse8")
	b.feed(t, "f", "a", 0, 500)
	sh := b.State.ShadowOf(b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli()).ID)
	b.Door.Do([]*door.Op{{Record: store.Record{Body: &store.ShadowSeal{ID: sh.ID}}}})
	if got := b.Line("FILTER.ADD f x"); got != "-ERR the filter becomes one of kind fuse8, which takes no more items: a COMMIT is under way" {
		t.Errorf("ADD: %s", got)
	}
	if got := b.Line("FILTER.REBUILD f FEED x"); got != "-ERR a COMMIT is under way: no more items are taken" {
		t.Errorf("FEED: %s", got)
	}
	if got := b.Line("FILTER.REBUILD f COMMIT"); got != "-ERR a COMMIT is under way" {
		t.Errorf("COMMIT: %s", got)
	}
	if got := b.status(t, "f", "state"); got != "committing" {
		t.Errorf("state %s", got)
	}
	b.hasAll(t, "f", "a", 0, 500)
	b = restarted(t, b, nil)
	b.add("f", "b", 0, 100)
	b.OK(t, "FILTER.REBUILD f COMMIT")
	b = restarted(t, b, nil)
	b.hasAll(t, "f", "a", 0, 500)
	b.hasAll(t, "f", "b", 0, 100)
}

// TestRecordsFromBeforeARebuild puts records in order that were prepared before a
// rebuild was opened, or for one that is gone: none reaches the filter alone.
func TestRecordsFromBeforeARebuild(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	id := b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli()).ID
	b.OK(t, "FILTER.REBUILD f BEGIN")
	before := string(commandtest.Snapshot(b.State))
	sh := b.State.ShadowOf(id).ID
	for _, v := range []struct {
		r    store.Record
		want error
	}{
		{store.Record{Body: &store.FilterAdd{Hashes: []uint64{1, 2}}}, contents.ErrRetry},
		{store.Record{Body: &store.FilterAdd{Hashes: []uint64{1, 2}, Shadow: sh}}, contents.ErrRetry},
		{store.Record{Body: &store.FilterAdd{Hashes: []uint64{1, 2}, Second: []uint64{1, 2}, Shadow: sh + 1}}, contents.ErrRetry},
		{store.Record{Body: &store.FilterUnion{Data: []byte{1}}}, store.ErrRebuilding},
		{store.Record{Body: &store.FilterClear{}}, store.ErrRebuilding},
	} {
		v.r.ID = id
		op := &door.Op{Record: v.r}
		b.Door.Do([]*door.Op{op})
		if !errors.Is(op.Result.Err, v.want) {
			t.Errorf("operation %d: %v, want %v", v.r.Op(), op.Result.Err, v.want)
		}
	}
	if string(commandtest.Snapshot(b.State)) != before {
		t.Error("something has changed")
	}
	op := &door.Op{Record: store.Record{ID: id, Body: &store.FilterAdd{Hashes: []uint64{1, 2}, Second: []uint64{1, 2}, Shadow: sh}}}
	if b.Door.Do([]*door.Op{op}); op.Result.Err != nil || b.status(t, "f", "added") != "2" {
		t.Errorf("a record for both: %v, %s added", op.Result.Err, b.status(t, "f", "added"))
	}
	b.Crash(t)
}
