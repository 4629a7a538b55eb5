package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestFullMembersInTheLog fills a quorum whose last member is the smallest: a hash
// that it has no room for is in the others, and must be there after a replay too.
func TestFullMembersInTheLog(t *testing.T) {
	large, small := cuckoo.New(1000, 0.01), cuckoo.New(8, 0.01)
	q, err := compose.NewQuorum(1, large, small)
	if err != nil {
		t.Fatal(err)
	}
	data, err := q.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	load := func() (*store.State, uint64) {
		s := store.New()
		id := apply(t, s, store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{})}}).Entry.ID
		piece := store.Record{ID: id, Body: &store.FilterPiece{Of: uint64(len(data)), Data: data}}
		if res := apply(t, s, piece); res.Err != nil {
			t.Fatal(res.Err)
		}
		if p := contents.PartOf(s.Names.ByID(id)); p.Steps() < 2 {
			t.Errorf("an item of a quorum of two members that was loaded takes %d steps", p.Steps())
		}
		return s, id
	}
	s, id := load()
	again, _ := load()
	for i := range 4 {
		var f store.Effect
		r := store.Record{ID: id, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hashes(200)[50*i : 50*i+50]}}
		res := apply(t, s, r)
		if !errors.Is(res.Err, bloomery.ErrFull) || !res.Changed {
			t.Fatalf("50 hashes for a member of 8: %v, changed %v", res.Err, res.Changed)
		}
		f.Add(&r, &res)
		for rest, _ := f.Take(); len(rest) > 0; {
			var logged store.Record
			n, err := logged.Decode(rest)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, again, logged)
			rest = rest[n:]
		}
	}
	want, got := contents.PartOf(s.Names.ByID(id)), contents.PartOf(again.Names.ByID(id))
	if !bytes.Equal(dump(got.Contents()), dump(want.Contents())) {
		t.Error("the log replays to another quorum")
	}
	found := make([]bool, 200)
	if yes, ok := got.Probe(found, hashes(200), true); !ok || yes != 200 {
		t.Errorf("%d of 200 hashes are in the large member after a replay", yes)
	}
}
