package local_test

import (
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestLostPart damages the file of one part of a filter: doctor names the filter once,
// as one name, Drop removes it as a whole, since the other parts alone would deny
// keys, and nothing else.
func TestLostPart(t *testing.T) {
	files := &folder.Memory{}
	state, d := open(t, files, local.EverySecond)
	outline, err := codec.AppendOutline(nil, bloom.New(2_000_000, 0.01)) // over 1 MiB: a file for each part
	if err != nil {
		t.Fatal(err)
	}
	do := func(r store.Record) *store.Result {
		op := &door.Op{Record: r}
		d.Do([]*door.Op{op})
		if op.Result.Err != nil {
			t.Fatal(op.Result.Err)
		}
		return &op.Result
	}
	res := do(store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("f"), Header: contents.AppendCreation(nil, &contents.Plan{Parts: 2}, outline)}})
	id := res.Entry.ID
	for i := range uint32(4) {
		do(store.Record{ID: id, Index: i, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{1, 2, 3}}})
	}
	do(store.Record{Body: &store.Set{String: store.String{Name: []byte("s"), Value: []byte("kept")}}})
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	state, d = same(t, files, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	state.Discard()

	report, err := local.Inspect(files)
	if err != nil || report.Names != 2 || report.Damaged() {
		t.Fatalf("%d names, want 2; %v", report.Names, err)
	}
	if err := files.Remove("0000000000000002.part"); err != nil {
		t.Fatal(err)
	}
	if report, err = local.Inspect(files); err != nil || !report.Droppable() || len(report.Lost) != 1 || report.Lost[0].Name != "f" {
		t.Fatalf("after a part is lost: %+v, %v", report, err)
	}
	dropped, err := local.Drop(files, nil)
	if err != nil || len(dropped) != 1 || dropped[0] != "f" {
		t.Fatalf("Drop = %q, %v", dropped, err)
	}
	state, d = open(t, files, local.EverySecond)
	if state.Names.Len() != 1 || state.Names.Lookup([]byte("s"), 0) == nil {
		t.Errorf("%d names are left, want s alone", state.Names.Len())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
