package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/store"
)

// born returns a state that belongs to a cluster of two nodes.
func born(t *testing.T) *store.State {
	t.Helper()
	s := store.New()
	for _, r := range []store.Record{
		{Op: store.OpBirth, ID: 77, Limit: 8, Position: 5},
		{Op: store.OpJoin, Name: []byte("a"), Other: []byte("a:1"), Position: 100, Limit: 1},
		{Op: store.OpJoin, Name: []byte("b"), Other: []byte("b:1"), Position: 200, Limit: 1},
	} {
		if res := apply(t, s, r); res.Err != nil {
			t.Fatalf("operation %d: %v", r.Op, res.Err)
		}
	}
	return s
}

func TestRosterNumbersNodesOnce(t *testing.T) {
	s := born(t)
	if res := apply(t, s, store.Record{Op: store.OpJoin, Name: []byte("b"), Position: 200}); res.N != 2 || res.Changed || res.Err != nil {
		t.Errorf("joining again with the same nonce = %d, %v, %v", res.N, res.Changed, res.Err)
	}
	if res := apply(t, s, store.Record{Op: store.OpLeave, ID: 2}); res.Err != nil || !res.Changed {
		t.Errorf("leave: %v", res.Err)
	}
	if res := apply(t, s, store.Record{Op: store.OpJoin, Name: []byte("b"), Position: 201}); res.N != 3 {
		t.Errorf("a node that was wiped is number %d, want 3", res.N)
	}
	if m := s.Roster().Member(2); m == nil || !m.Left {
		t.Errorf("number 2 = %+v", m)
	}
	if res := apply(t, s, store.Record{Op: store.OpBirth, ID: 78, Limit: 4}); !errors.Is(res.Err, store.ErrExists) || s.Roster().ID != 77 {
		t.Errorf("a second birth: %v, id %d", res.Err, s.Roster().ID)
	}
	for _, id := range []uint64{0, 4, 1 << 32, 1<<32 + 1, 1<<64 - 1} {
		if res := apply(t, s, store.Record{Op: store.OpLeave, ID: id}); !errors.Is(res.Err, store.ErrMissing) {
			t.Errorf("leave of %d: %v", id, res.Err)
		}
	}
}

// TestRosterSessions asks that a request for a session counts once, however often
// and late it comes.
func TestRosterSessions(t *testing.T) {
	s := born(t)
	first := store.Record{Op: store.OpSession, ID: 1, Position: 11, Limit: 0}
	if res := apply(t, s, first); res.N != 1 || res.Err != nil {
		t.Fatalf("first session = %d, %v", res.N, res.Err)
	}
	if res := apply(t, s, first); res.N != 1 || res.Changed {
		t.Errorf("the same again = %d, changed %v", res.N, res.Changed)
	}
	if res := apply(t, s, store.Record{Op: store.OpSession, ID: 2, Position: 12}); res.N != 2 {
		t.Errorf("session of another node = %d", res.N)
	}
	if res := apply(t, s, store.Record{Op: store.OpSession, ID: 1, Position: 13, Limit: 1}); res.N != 3 {
		t.Errorf("second session = %d, %v", res.N, res.Err)
	}
	if res := apply(t, s, first); !errors.Is(res.Err, store.ErrCondition) || s.Roster().Member(1).Session != 3 {
		t.Errorf("an old request comes late: %v, session %d", res.Err, s.Roster().Member(1).Session)
	}
	apply(t, s, store.Record{Op: store.OpLeave, ID: 1})
	if res := apply(t, s, store.Record{Op: store.OpSession, ID: 1, Position: 14, Limit: 3}); !errors.Is(res.Err, store.ErrMissing) {
		t.Errorf("a session of a node that left: %v", res.Err)
	}
}

func TestRosterRoundTrip(t *testing.T) {
	s := born(t)
	apply(t, s, store.Record{Op: store.OpSession, ID: 2, Position: -12})
	apply(t, s, store.Record{Op: store.OpLeave, ID: 1})
	apply(t, s, store.Record{Op: store.OpLevel, Limit: 3})
	want := *s.Roster()
	want.Holders[3] = []uint32{1, 2}
	b := store.AppendRoster(nil, &want)
	got, rest, err := store.ParseRoster(append(b, "behind"...))
	if err != nil || string(rest) != "behind" || !reflect.DeepEqual(*got, want) {
		t.Errorf("ParseRoster = %+v, %q, %v\nwant %+v", got, rest, err, want)
	}
	for n := range b {
		if _, _, err := store.ParseRoster(b[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	b[0] = 9
	if _, _, err := store.ParseRoster(b); !errors.Is(err, bloomery.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}
