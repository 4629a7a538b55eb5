package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// born returns a state that belongs to a cluster of two nodes.
func born(t *testing.T) *store.State {
	t.Helper()
	s := store.New()
	for _, r := range []store.Record{
		{Body: &store.Birth{ID: 77, Lanes: 8, Seed: 5}},
		{Body: &store.Join{Name: []byte("a"), Addr: []byte("a:1"), Nonce: 100, Level: 1}},
		{Body: &store.Join{Name: []byte("b"), Addr: []byte("b:1"), Nonce: 200, Level: 1}},
	} {
		if res := apply(t, s, r); res.Err != nil {
			t.Fatalf("operation %d: %v", r.Op(), res.Err)
		}
	}
	return s
}

func TestRosterNumbersNodesOnce(t *testing.T) {
	s := born(t)
	if res := apply(t, s, store.Record{Body: &store.Join{Name: []byte("b"), Nonce: 200}}); res.N != 2 || res.Changed || res.Err != nil {
		t.Errorf("joining again with the same nonce = %d, %v, %v", res.N, res.Changed, res.Err)
	}
	if res := apply(t, s, store.Record{Body: &store.Leave{Node: 2}}); res.Err != nil || !res.Changed {
		t.Errorf("leave: %v", res.Err)
	}
	if res := apply(t, s, store.Record{Body: &store.Join{Name: []byte("b"), Nonce: 201, Level: 1}}); res.N != 3 {
		t.Errorf("a node that was wiped is number %d, want 3", res.N)
	}
	if m := s.Roster().Member(2); m == nil || !m.Left {
		t.Errorf("number 2 = %+v", m)
	}
	if res := apply(t, s, store.Record{Body: &store.Birth{ID: 78, Lanes: 4}}); !errors.Is(res.Err, store.ErrExists) || s.Roster().ID != 77 {
		t.Errorf("a second birth: %v, id %d", res.Err, s.Roster().ID)
	}
	for _, id := range []uint64{0, 4, 1 << 32, 1<<32 + 1, 1<<64 - 1} {
		if res := apply(t, s, store.Record{Body: &store.Leave{Node: id}}); !errors.Is(res.Err, store.ErrMissing) {
			t.Errorf("leave of %d: %v", id, res.Err)
		}
	}
}

// TestRosterSessions asks that a request for a session counts once, however often
// and late it comes.
func TestRosterSessions(t *testing.T) {
	s := born(t)
	first := store.Record{Body: &store.Session{Node: 1, Nonce: 11, Last: 0}}
	if res := apply(t, s, first); res.N != 1 || res.Err != nil {
		t.Fatalf("first session = %d, %v", res.N, res.Err)
	}
	if res := apply(t, s, first); res.N != 1 || res.Changed {
		t.Errorf("the same again = %d, changed %v", res.N, res.Changed)
	}
	if res := apply(t, s, store.Record{Body: &store.Session{Node: 2, Nonce: 12}}); res.N != 2 {
		t.Errorf("session of another node = %d", res.N)
	}
	if res := apply(t, s, store.Record{Body: &store.Session{Node: 1, Nonce: 13, Last: 1}}); res.N != 3 {
		t.Errorf("second session = %d, %v", res.N, res.Err)
	}
	if res := apply(t, s, first); !errors.Is(res.Err, store.ErrCondition) || s.Roster().Member(1).Session != 3 {
		t.Errorf("an old request comes late: %v, session %d", res.Err, s.Roster().Member(1).Session)
	}
	apply(t, s, store.Record{Body: &store.Leave{Node: 1}})
	if res := apply(t, s, store.Record{Body: &store.Session{Node: 1, Nonce: 14, Last: 3}}); !errors.Is(res.Err, store.ErrMissing) {
		t.Errorf("a session of a node that left: %v", res.Err)
	}
}

func TestRosterRoundTrip(t *testing.T) {
	s := born(t)
	apply(t, s, store.Record{Body: &store.Session{Node: 2, Nonce: -12}})
	apply(t, s, store.Record{Body: &store.Leave{Node: 1}})
	apply(t, s, store.Record{Body: &store.Level{Level: 3}})
	want := *s.Roster()
	want.Holders[3] = []uint32{1, 2}
	want.Staged = []roster.StagedBy{{ID: 9, Session: 1 << 40}, {ID: 1 << 50, Session: 1}}
	b := roster.Append(nil, &want)
	got, rest, err := roster.Parse(append(b, "behind"...))
	if err != nil || string(rest) != "behind" || !reflect.DeepEqual(*got, want) {
		t.Errorf("ParseRoster = %+v, %q, %v\nwant %+v", got, rest, err, want)
	}
	for n := range b {
		if _, _, err := roster.Parse(b[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	old := append([]byte{1}, b[1:len(b)-1-1-6-8-1]...) // one of version 1 ends before the list
	want.Staged = nil
	if got, rest, err := roster.Parse(old); err != nil || len(rest) != 0 || !reflect.DeepEqual(*got, want) {
		t.Errorf("version 1: ParseRoster = %+v, %q, %v\nwant %+v", got, rest, err, want)
	}
	b[0] = 9
	if _, _, err := roster.Parse(b); !errors.Is(err, bloomery.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

// TestStagedBySession asks that filters without a name go with the session that makes
// them, and no others do.
func TestStagedBySession(t *testing.T) {
	s := born(t)
	apply(t, s, store.Record{Body: &store.Session{Node: 1, Nonce: 1}})
	apply(t, s, store.Record{Body: &store.Session{Node: 2, Nonce: 2}})
	stage := func(session uint64) uint64 {
		r := staged(t, 10, 1)
		r.Origin.Session = session
		return apply(t, s, r).Entry.ID
	}
	gone := func(id uint64) bool { return s.Names.ByID(id) == nil }
	mine, other, named, evicted := stage(1), stage(2), stage(1), stage(1)
	apply(t, s, store.Record{Body: &store.Reveal{ID: named, Name: []byte("k")}})
	apply(t, s, store.Record{Body: &store.Evict{IDs: []uint64{evicted}}})
	if got := s.Roster().Staged; len(got) != 2 || got[0].ID != mine || got[1].ID != other {
		t.Errorf("without a name are %v", got)
	}
	apply(t, s, store.Record{Body: &store.Session{Node: 1, Nonce: 3, Last: 1}})
	if !gone(mine) || gone(other) || gone(named) || len(s.Roster().Staged) != 1 {
		t.Errorf("after a session: gone are %v, %v, %v, and %v are listed", gone(mine), gone(other), gone(named), s.Roster().Staged)
	}
	apply(t, s, store.Record{Body: &store.Leave{Node: 2}})
	if !gone(other) || gone(named) || len(s.Roster().Staged) != 0 {
		t.Errorf("after a node has left: gone are %v, %v", gone(other), gone(named))
	}
}

// TestJoinLevel asks that a node that cannot read what others send does not join.
func TestJoinLevel(t *testing.T) {
	s := store.New()
	apply(t, s, store.Record{Body: &store.Birth{ID: 77, Lanes: 8}})
	if got := s.Roster().Level; got != 1 {
		t.Errorf("a cluster begins with level %d, want 1", got)
	}
	apply(t, s, store.Record{Body: &store.Level{Level: 3}})
	if res := apply(t, s, store.Record{Body: &store.Join{Nonce: 1, Level: 2}}); !errors.Is(res.Err, store.ErrCondition) {
		t.Errorf("a node of level 2 joins a cluster of level 3: %v", res.Err)
	}
	if res := apply(t, s, store.Record{Body: &store.Join{Nonce: 1, Level: 3}}); res.Err != nil {
		t.Error(res.Err)
	}
}
