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
		body store.Body
		at   int64
		want bool
	}{
		{appending("lost"), 100, true},
		{&store.SetRange{String: store.String{Name: []byte("lost"), Value: []byte("x")}}, 100, true},
		{&store.Increment{Name: []byte("lost")}, 100, true},
		{&store.Set{String: store.String{Name: []byte("lost"), Value: []byte("x")}}, 100, false},
		{appending("timed"), 99, true},
		{appending("timed"), 100, false},
		{appending("filter"), 100, false},
		{appending("whole"), 100, false},
		{appending("none"), 100, false},
	} {
		rec := store.Record{At: c.at, Body: c.body}
		name := string(rec.NewName())
		got := r.derived(&rec)
		if got != c.want {
			t.Errorf("%s, record %v at %d: derived %v", name, (&store.Record{Body: c.body}).Op(), c.at, got)
		}
		if o, ok := rec.Body.(*store.Set); got && (!ok || o.Value != nil || o.If != store.KeepTTL || string(o.Name) != name) {
			t.Errorf("%s: the record becomes %+v", name, rec.Body)
		}
	}
}

func appending(name string) *store.Append {
	return &store.Append{String: store.String{Name: []byte(name), Value: []byte("x")}}
}
