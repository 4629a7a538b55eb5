package local

// What damage keeps from being checked, and what is derived from what is lost.

import (
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestUncheckedFiles asks that damage elsewhere marks the files that say nothing by
// themselves, and leaves alone those that were checked.
func TestUncheckedFiles(t *testing.T) {
	for _, c := range []struct {
		file FileReport
		want bool
	}{
		{FileReport{Kind: kindPart}, true},
		{FileReport{Kind: kindPart, Detail: "contents of 1 name"}, false},
		{FileReport{Kind: kindPart, Err: bloomery.ErrCorrupt}, false},
		{FileReport{Kind: kindLog, Detail: "from position 0"}, true},
		{FileReport{Kind: kindLog, Detail: "from position 0", Err: bloomery.ErrCorrupt}, false},
		{FileReport{Kind: kindUnknown}, false},
	} {
		r := Report{Files: []FileReport{c.file}}
		r.unchecked(kindPart, kindLog)
		if got := r.Files[0].Unchecked; got != c.want {
			t.Errorf("%+v: unchecked %v", c.file, got)
		}
	}
}

// TestDerivedOfLost asks which records make a string of one that is lost: those that
// change it while it is there, and no others.
func TestDerivedOfLost(t *testing.T) {
	names := catalog.New()
	names.Insert("lost", 1, catalog.String, 0, nil)
	names.Insert("timed", 2, catalog.String, 100, nil)
	names.Insert("filter", 3, catalog.Bloom, 0, nil)
	names.Insert("whole", 4, catalog.String, 0, nil)
	r := replayer{state: &store.State{Names: names}, lost: map[uint64]bool{1: true, 2: true, 3: true}}
	for _, c := range []struct {
		name string
		op   store.Op
		at   int64
		want bool
	}{
		{"lost", store.OpAppend, 100, true},
		{"lost", store.OpSetRange, 100, true},
		{"lost", store.OpIncrement, 100, true},
		{"lost", store.OpSet, 100, false},
		{"timed", store.OpAppend, 99, true},
		{"timed", store.OpAppend, 100, false},
		{"filter", store.OpAppend, 100, false},
		{"whole", store.OpAppend, 100, false},
		{"none", store.OpAppend, 100, false},
	} {
		rec := store.Record{Op: c.op, Name: []byte(c.name), At: c.at, Value: []byte("x")}
		got := r.derived(&rec)
		if got != c.want {
			t.Errorf("%s, record %v at %d: derived %v", c.name, c.op, c.at, got)
		}
		if got && (rec.Op != store.OpSet || rec.Value != nil || rec.Flags != store.KeepTTL) {
			t.Errorf("%s: the record becomes %+v", c.name, rec)
		}
	}
}
