package store_test

import (
	"bytes"
	"encoding"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestOpening asks that a filter is there for every record that follows the last bytes of it, and in copies, though it is opened
// beside.
func TestOpening(t *testing.T) {
	file := sourceFile(t, 1_000_000, hashes(1000)...)
	load := func(s *store.State, file []byte) (*catalog.Entry, func(func(p *contents.Part))) {
		e := apply(t, s, store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{})}}).Entry
		return e, func(then func(p *contents.Part)) {
			p := contents.PartOf(e)
			p.Lock()
			defer p.Unlock()
			var res store.Result
			store.Apply(s, &store.Record{ID: e.ID, Body: &store.FilterPiece{Of: uint64(len(file)), Data: file}}, p, &res)
			if res.Err != nil || !res.Changed || res.Opening == nil || !contents.IsLoading(p.Contents()) {
				t.Errorf("under the lock: %v, changed %t, %T", res.Err, res.Changed, p.Contents())
			}
			then(p)
		}
	}
	reveal := func(s *store.State, e *catalog.Entry) store.Result {
		return apply(t, s, store.Record{Body: &store.Reveal{ID: e.ID, Name: []byte("f")}})
	}
	t.Run("record", func(t *testing.T) {
		s := store.New()
		e, put := load(s, file)
		put(func(p *contents.Part) {
			var res store.Result
			store.Apply(s, &store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{1}}}, p, &res)
			if res.Err != nil || res.New != 1 {
				t.Errorf("%v, %d are new", res.Err, res.New)
			}
		})
		if res := reveal(s, e); res.Err != nil || !contents.PartOf(e).Filter().ContainsHash(1) || s.Bytes() != store.Cost("f", e) {
			t.Errorf("%v, %d bytes are counted of %d", res.Err, s.Bytes(), store.Cost("f", e))
		}
	})
	t.Run("name", func(t *testing.T) {
		s := store.New()
		e, put := load(s, file)
		put(func(*contents.Part) {})
		if res := reveal(s, e); res.Err != nil || contents.PartOf(e).Filter() == nil || s.Bytes() != store.Cost("f", e) {
			t.Errorf("%v, %d bytes are counted of %d", res.Err, s.Bytes(), store.Cost("f", e))
		}
	})
	t.Run("damaged", func(t *testing.T) {
		s := store.New()
		bad := bytes.Clone(file)
		bad[len(bad)/2]++
		e, put := load(s, bad)
		put(func(*contents.Part) {})
		if res := reveal(s, e); !errors.Is(res.Err, bloomery.ErrCorrupt) || s.Names.Len() != 0 {
			t.Errorf("%v, %d names", res.Err, s.Names.Len())
		}
	})
	t.Run("copy", func(t *testing.T) {
		s := store.New()
		_, put := load(s, file)
		var q *contents.Part
		put(func(p *contents.Part) { _, q = copied(t, s, p) })
		got, err := q.Filter().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil || !bytes.Equal(got, file) {
			t.Errorf("another filter is loaded: %v", err)
		}
	})
}

// TestSureOfWhatOthersHold gives a name to a filter that those who answer for it have opened. This node retires from the shard,
// and has not.
func TestSureOfWhatOthersHold(t *testing.T) {
	s, _ := holder(t)
	defer s.Discard()
	shard, name, file := placement.Base("f"), []byte("f"), sourceFile(t, 1000, hashes(10)...)
	place, _ := copyAt(s, shard)
	step(t, s, &store.ShardRetire{Node: 1, Shard: uint64(shard), Version: place.Version})
	stage, err := s.StageLoad(&contents.Plan{}, name, file)
	if err != nil {
		t.Fatal(err)
	}
	e := apply(t, s, store.Record{Body: stage}).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterPiece{Of: uint64(len(file)), Data: file[:len(file)/2]}})
	p := contents.PartOf(e)
	if s.Answers(p) || !contents.IsLoading(p.Contents()) {
		t.Fatalf("answers: %t, with %T", s.Answers(p), p.Contents())
	}
	if err := s.Vouch(&store.Reveal{ID: e.ID, Name: name}); !errors.Is(err, contents.ErrElsewhere) {
		t.Error(err)
	}
	sure := &store.Reveal{ID: e.ID, Name: name, Sure: true}
	if err := s.Vouch(sure); err != nil || !sure.Whole {
		t.Errorf("%v, whole: %t", err, sure.Whole)
	}
}
