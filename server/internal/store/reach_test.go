package store

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/following"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// reach says of each operation on a filter what it means to the shadow of the filter, and to its followers.
var reach = map[Op]struct {
	rebuilt error // what it meets while the filter is rebuilt
	whole   bool  // followers fetch the filter again
}{
	OpFilterAdd: {contents.ErrRetry, false}, OpFilterAddKnown: {contents.ErrRetry, false}, // it has to have hashes for the shadow, too
	OpFilterDelete:  {nil, false},                                                                                    // the shadow counts what it misses
	OpFilterAdvance: {nil, false},                                                                                    // the shadow has a time of its own
	OpFilterGone:    {nil, false},                                                                                    // items that the shadow was never fed
	OpFilterMark:    {nil, false},                                                                                    // it is what tells of the shadow
	OpFilterGrow:    {nil, true}, OpFilterScale: {nil, true}, OpFilterFold: {nil, true}, OpFilterFoldOf: {nil, true}, // the same items
	OpFilterClear: {ErrRebuilding, true}, OpFilterUnion: {ErrRebuilding, true}, OpFilterUnionKnown: {ErrRebuilding, true},
	OpFilterSource: {ErrRebuilding, true}, OpFilterSet: {ErrRebuilding, true},
	OpExpectPart:  {nil, true},                                                                                     // it changes nothing
	OpRebuildFeed: {nil, true}, OpRebuildAdd: {nil, true}, OpShadowMissed: {nil, true}, OpRebuildSeal: {nil, true}, // of the shadow that it was

	OpAdd: {nil, false}, OpBloomChunk: {nil, true}, // only filters of package codec are rebuilt
	OpInsert: {nil, false}, OpInsertNew: {nil, false}, OpInsertEach: {nil, false}, OpInsertNewEach: {nil, false},
	OpInsertFirst: {nil, false}, OpInsertNewFirst: {nil, false},
	OpDelete: {nil, false}, OpDeleteLazily: {nil, false},
	OpCompact: {nil, true}, OpCompactPiece: {nil, true}, OpCuckooChunk: {nil, true},
}

// TestReach asks of each operation on a filter that somebody has decided what it does while the filter is rebuilt, alone and in
// a cluster, and while it is followed.
func TestReach(t *testing.T) {
	s := New()
	s.publish(&shadow.Shadow{ID: 2, Main: 1}, true)
	entries := followable(t, s)
	for i := range operations {
		op, o := Op(i), &operations[i]
		if o.of == nil {
			continue
		}
		for _, e := range entries {
			p := contents.PartOf(e)
			if !o.of(p.Contents()) {
				continue
			}
			want, ok := reach[op]
			if !ok {
				t.Errorf("%s: reach has no row. What does it to the shadow of a filter (leaves in shadow.go), and to its followers (note in news.go)?", op)
				break
			}
			body := o.body()
			if got := s.Meets(&Record{ID: 1, Body: body}); !errors.Is(got, want.rebuilt) {
				t.Errorf("%s meets %v in a rebuild, want %v", op, got, want.rebuilt)
			}
			if got := s.Leaves(&Record{ID: 1, Body: body}); errors.Is(got, ErrRebuilding) != errors.Is(want.rebuilt, ErrRebuilding) {
				t.Errorf("%s meets %v in a rebuild of a cluster, want %v", op, got, want.rebuilt)
			}
			n := s.Follow(e, 1, func() uint64 { return 0 })
			number, err := n.Whole(0, func(following.Encoding) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			r := s.Ring(p)
			prepare(r, body)
			p.Raise()
			note(r, body, &Result{})
			s.Changed(r)
			if whole := !n.Knows(0, number); whole != want.whole {
				t.Errorf("%s: followers fetch the filter again: %v, want %v", op, whole, want.whole)
			}
		}
	}
}

// followable returns entries of all contents that can be followed.
func followable(t *testing.T, s *State) (entries []*catalog.Entry) {
	t.Helper()
	bodies := []Body{
		&MakeBloom{Name: []byte("bf"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000, Expansion: 2}},
		&MakeCuckoo{Name: []byte("cf"), Params: redisbloom.CuckooParams{Capacity: 1000, BucketSize: 2, MaxIterations: 20, Expansion: 1}},
	}
	for name, f := range map[string]bloomery.Hashed{"bloom": bloomfilter.New(1000, 0.01), "window": compose.NewWindow(1000, 0.01, 3)} {
		outline, err := codec.AppendOutline(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, &Make{As: OpFilter, Name: []byte(name), Header: contents.AppendCreation(nil, &contents.Plan{Generation: 1000}, outline)})
	}
	for _, b := range bodies {
		var res Result
		if Apply(s, &Record{Body: b}, nil, &res); res.Err != nil {
			t.Fatal(res.Err)
		}
		res.Release()
		entries = append(entries, res.Entry)
	}
	return entries
}
