package local_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestLogBehindIsNotCopied has a transaction write much before the disk takes any of it: the log
// takes about the memory of its records, and not that of ever larger copies, for which all
// others would wait. A start finds all of it.
func TestLogBehindIsNotCopied(t *testing.T) {
	files := &folder.Memory{}
	d, err := local.Open(local.Config{State: store.New(), Files: files, Fsync: local.Never, SnapshotAfter: -1, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	const times, size = 1000, 60_000
	value := bytes.Repeat([]byte("v"), size)
	set := func() {
		do(t, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("k"), Value: value}}})
	}
	set()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do(t, d, store.Record{Body: &store.Begin{}})
	for range times {
		set()
	}
	do(t, d, store.Record{Body: &store.Commit{}})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*times*size {
		t.Errorf("%d bytes for strings of %d in all, of which the log needs one copy", n, times*size)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := store.New()
	if d, err = local.Open(local.Config{State: again, Files: files, SnapshotAfter: -1, Manual: true}); err != nil {
		t.Fatal(err)
	}
	if e := again.Names.Lookup([]byte("k"), 0); e == nil || store.Text(e) != string(value) {
		t.Error("the string is not there after a start")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
