package local_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// smallFolder returns the files of a small folder.
func smallFolder(tb testing.TB) *folder.Memory {
	tb.Helper()
	files := &folder.Memory{}
	_, d := open(tb, files, local.EverySecond)
	fillSmall(tb, d)
	if err := d.Snapshot(); err != nil {
		tb.Fatal(err)
	}
	do(tb, d, store.Record{Body: &store.Begin{}}, add(1, 20, 21), store.Record{Body: &store.Commit{}}, add(1, 22))
	if err := d.Close(); err != nil {
		tb.Fatal(err)
	}
	return files
}

func known(err error) bool {
	return errors.Is(err, bloomery.ErrCorrupt) || errors.Is(err, bloomery.ErrVersion)
}

// FuzzLog starts from a log of whatever records, in one frame that is intact.
func FuzzLog(f *testing.F) {
	files := smallFolder(f)
	names, _ := files.List()
	for _, name := range names {
		if data := files.Bytes(name); len(data) > 32 {
			f.Add(data[32:])
		}
	}
	f.Fuzz(func(t *testing.T, records []byte) {
		if huge(records) {
			return
		}
		files := &folder.Memory{}
		files.Put("00000000000000000000.log", local.SealLog(records, 0, 0))
		report, err := local.Inspect(files)
		if err != nil {
			t.Fatal(err)
		}
		d, err := local.Open(local.Config{State: store.New(), Files: files, SnapshotAfter: -1})
		if (err != nil) != report.Damaged() {
			t.Fatalf("Open: %v; Inspect: %+v", err, report)
		}
		if err != nil {
			if !known(err) {
				t.Fatalf("error %v wraps neither cause", err)
			}
			return
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// huge reports whether records ask for more memory than a test should take.
func huge(records []byte) bool {
	const most = 1 << 24
	for len(records) > 0 {
		var r store.Record
		n, err := r.Decode(records)
		if err != nil {
			return false
		}
		size, _ := store.NewBytes(r.Body)
		switch o := r.Body.(type) {
		case *store.SetRange:
			size = uint64(max(o.Offset, 0))
		case *store.FilterPiece:
			size = o.Of
		}
		if size > most {
			return true
		}
		records = records[n:]
	}
	return false
}
