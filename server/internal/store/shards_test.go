package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// spread returns a state of a cluster of four nodes, of which one has never served, with two
// copies of every shard to be.
func spread(t *testing.T) *store.State {
	t.Helper()
	s := born(t)
	for i, nonce := range []int64{300, 400} {
		apply(t, s, store.Record{Body: &store.Join{Nonce: nonce, Level: 3}})
		apply(t, s, store.Record{Body: &store.Session{Node: uint64(i + 1), Nonce: nonce}})
	}
	apply(t, s, store.Record{Body: &store.Session{Node: 3, Nonce: 500}})
	if res := apply(t, s, store.Record{Body: &store.ShardCopies{Copies: 2}}); res.Err != nil || res.N != 1 {
		t.Fatalf("the first number of copies: %d, %v", res.N, res.Err)
	}
	return s
}

// step applies a record and reports whether it has changed the table. One that has not must
// say why.
func step(t *testing.T, s *store.State, b store.Body) bool {
	t.Helper()
	before := s.Roster()
	res := apply(t, s, store.Record{Body: b})
	switch {
	case res.Changed && res.Err != nil, !res.Changed && res.Err == nil:
		t.Errorf("%T: changed %v, %v", b, res.Changed, res.Err)
	case !res.Changed && s.Roster() != before:
		t.Errorf("%T changes the roster, and says %v", b, res.Err)
	case res.Err != nil && !errors.Is(res.Err, store.ErrCondition) && !errors.Is(res.Err, store.ErrMissing):
		t.Errorf("%T: %v", b, res.Err)
	}
	return res.Changed
}

// TestShardsBegin asks that all nodes that have served hold everything when contents are
// spread, and that nothing is said of shards before.
func TestShardsBegin(t *testing.T) {
	if s := born(t).Roster().Shards; s != nil {
		t.Errorf("a new cluster has shards: %+v", s)
	}
	table := spread(t).Roster().Shards
	want := []roster.Copy{{Node: 1, Phase: roster.Holds, Since: 1}, {Node: 2, Phase: roster.Holds, Since: 1}, {Node: 3, Phase: roster.Holds, Since: 1}}
	if len(table.Places) != placement.Shards || table.Copies != 2 || !reflect.DeepEqual(table.Places[7].Copies, want) {
		t.Errorf("%d places, %d copies, %+v", len(table.Places), table.Copies, table.Places[7])
	}
}

// TestMoveOfAShard takes a shard from one node to another, with every record that comes again
// or does not fit.
func TestMoveOfAShard(t *testing.T) {
	s := spread(t)
	place := func() roster.Place { return s.Roster().Shards.Places[5] }
	first := place().Version
	for _, tt := range []struct {
		body store.Body
		want bool
	}{
		{&store.ShardLearn{Node: 4, Shard: 5, Version: first + 1}, false}, // decided on another version
		{&store.ShardLearn{Node: 3, Shard: 5, Version: first}, false},     // it holds it
		{&store.ShardLearn{Node: 5, Shard: 5, Version: first}, false},     // no such node
		{&store.ShardLearn{Node: 4, Shard: placement.Shards, Version: first}, false},
		{&store.ShardLearn{Node: 4, Shard: 5, Version: first}, true},
		{&store.ShardLearn{Node: 4, Shard: 5, Version: first}, false},
		{&store.ShardRetire{Node: 1, Shard: 5, Version: first}, false}, // the shard has changed
		{&store.ShardHold{Node: 4, Shard: 5, Since: 1}, false},
		{&store.ShardCancel{Node: 4, Shard: 5, Since: 1}, false},
		{&store.ShardCancel{Node: 4, Shard: 5, Since: 2}, true},
		{&store.ShardHold{Node: 4, Shard: 5, Since: 2}, false}, // it comes too late
		{&store.ShardLearn{Node: 4, Shard: 5, Version: 3}, true},
		{&store.ShardHold{Node: 4, Shard: 5, Since: 2}, false}, // of another copy
		{&store.ShardHold{Node: 4, Shard: 5, Since: 4}, true},
		{&store.ShardCancel{Node: 4, Shard: 5, Since: 4}, false},
		{&store.ShardRetire{Node: 1, Shard: 5, Version: 5}, true},
		{&store.ShardFree{Node: 1, Shard: 5, Since: 2}, false},
		{&store.ShardFree{Node: 2, Shard: 5, Since: 1}, false}, // it holds it
		{&store.ShardFree{Node: 1, Shard: 5, Since: 1}, true},
		{&store.ShardFree{Node: 1, Shard: 5, Since: 1}, false},
		{&store.ShardRetire{Node: 2, Shard: 5, Version: 7}, true},
		{&store.ShardRetire{Node: 3, Shard: 5, Version: 8}, false}, // one would be left
	} {
		if got := step(t, s, tt.body); got != tt.want {
			t.Errorf("%T%+v: changed %v, want %v, of %+v", tt.body, tt.body, got, tt.want, place())
		}
	}
	want := roster.Place{Version: 8, Copies: []roster.Copy{{Node: 2, Phase: roster.Retires, Since: 1}, {Node: 3, Phase: roster.Holds, Since: 1}, {Node: 4, Phase: roster.Holds, Since: 4}}}
	if got := place(); !reflect.DeepEqual(got, want) {
		t.Errorf("the shard is at %+v, want %+v", got, want)
	}
	if other := s.Roster().Shards.Places[6]; other.Version != first || len(other.Copies) != 3 {
		t.Errorf("another shard is at %+v", other)
	}
}

// TestSettingsOfShards asks that of two operators one wins, and that pauses let nothing begin.
func TestSettingsOfShards(t *testing.T) {
	s := spread(t)
	for _, tt := range []struct {
		body store.Body
		want bool
	}{
		{&store.ShardCopies{Copies: 1, Settings: 1}, false},
		{&store.ShardCopies{Copies: 6, Settings: 1}, false},
		{&store.ShardCopies{Copies: 1 << 60, Settings: 1}, false},
		{&store.ShardCopies{Copies: 3, Settings: 0}, false},
		{&store.ShardCopies{Copies: 3, Settings: 1}, true},
		{&store.Weight{Node: 2, Weight: 9, Settings: 1}, false},
		{&store.Weight{Node: 2, Weight: 9, Settings: 2}, true},
		{&store.Weight{Node: 2, Weight: 49, Settings: 3}, false},
		{&store.Weight{Node: 9, Weight: 9, Settings: 3}, false},
		{&store.ShardPause{Paused: true, Settings: 3}, true},
		{&store.ShardLearn{Node: 4, Shard: 5, Version: 1}, false},
		{&store.ShardRetire{Node: 1, Shard: 5, Version: 1}, false},
		{&store.ShardPause{Settings: 3}, false},
		{&store.ShardPause{Settings: 4}, true},
		{&store.ShardLearn{Node: 4, Shard: 5, Version: 1}, true},
	} {
		if got := step(t, s, tt.body); got != tt.want {
			t.Errorf("%T%+v: changed %v, want %v", tt.body, tt.body, got, tt.want)
		}
	}
	if r := s.Roster(); r.Shards.Copies != 3 || r.Shards.Paused || r.Member(2).Weight != 9 || len(r.Shards.Places[0].Copies) != 3 {
		t.Errorf("copies %d, paused %v, weight %d, %+v", r.Shards.Copies, r.Shards.Paused, r.Member(2).Weight, r.Shards.Places[0])
	}
}

// TestNodesThatGo asks that nobody takes the last copies of a shard along.
func TestNodesThatGo(t *testing.T) {
	session := func(s *store.State, n uint32) uint64 { return s.Roster().Member(n).Session }
	s := spread(t)
	for _, tt := range []struct {
		body store.Body
		want bool
	}{
		{&store.Behind{Node: 1, Session: session(s, 1) + 1, Changes: 1}, false}, // it has started again
		{&store.Behind{Node: 1, Session: session(s, 1), Changes: 0}, false},     // its shards have changed
		{&store.Behind{Node: 9, Changes: 1}, false},
		{&store.Behind{Node: 1, Session: session(s, 1), Changes: 1}, true},
		{&store.Behind{Node: 1, Session: session(s, 1), Changes: 1 << 40}, false},
		{&store.ShardLearn{Node: 1, Shard: 5, Version: s.Roster().Shards.Places[5].Version + 6}, false}, // it is behind
		{&store.Leave{Node: 2}, false},                                                                  // three nodes are left, and would have one copy
		{&store.Leave{Node: 2, Forced: true}, true},
		{&store.Behind{Node: 3, Session: session(s, 3), Changes: 1 << 40}, false}, // it has the last copy
		{&store.Leave{Node: 3, Forced: true}, false},
	} {
		if got := step(t, s, tt.body); got != tt.want {
			t.Errorf("%T%+v: changed %v, want %v", tt.body, tt.body, got, tt.want)
		}
	}
	for i, p := range s.Roster().Shards.Places {
		if len(p.Copies) != 1 || p.Copies[0].Node != 3 || p.Copies[0].Phase != roster.Holds {
			t.Fatalf("shard %d is at %+v", i, p)
		}
	}
	if !s.Roster().Member(1).Behind {
		t.Error("node 1 is not behind")
	}
	step(t, s, &store.Session{Node: 1, Nonce: 77, Last: session(s, 1)})
	if s.Roster().Member(1).Behind || !step(t, s, &store.ShardLearn{Node: 1, Shard: 5, Version: s.Roster().Shards.Places[5].Version}) {
		t.Error("node 1 is behind after a session, or cannot learn")
	}
	step(t, s, &store.Session{Node: 3, Nonce: 78, Last: session(s, 3), Empty: true})
	if p := s.Roster().Shards.Places[5]; len(p.Copies) != 1 || p.Copies[0].Node != 1 {
		t.Errorf("a node without contents still has them: %+v", p)
	}
}

// TestLeaveOfAFewNodes asks that a cluster of as many nodes as copies can become smaller.
func TestLeaveOfAFewNodes(t *testing.T) {
	s := spread(t)
	step(t, s, &store.ShardCopies{Copies: 3, Settings: 1})
	if !step(t, s, &store.Leave{Node: 4}) || !step(t, s, &store.Leave{Node: 1}) || !step(t, s, &store.Leave{Node: 2}) {
		t.Error("a node cannot leave, though all others hold everything")
	}
	if step(t, s, &store.Leave{Node: 3}) {
		t.Error("the last node leaves")
	}
}

// TestShardsRoundTrip asks that a roster with shards is read as it was written, and that one
// without is written as earlier releases do.
func TestShardsRoundTrip(t *testing.T) {
	s := spread(t)
	if b := roster.Append(nil, born(t).Roster()); b[0] != 2 {
		t.Errorf("a roster without shards has version %d", b[0])
	}
	step(t, s, &store.ShardLearn{Node: 4, Shard: 1023, Version: 1})
	step(t, s, &store.ShardRetire{Node: 1, Shard: 3, Version: 1})
	step(t, s, &store.Weight{Node: 2, Weight: 12, Settings: 1})
	step(t, s, &store.ShardPause{Paused: true, Settings: 2})
	step(t, s, &store.Behind{Node: 2, Session: s.Roster().Member(2).Session, Changes: 1 << 40})
	want := s.Roster()
	b := roster.Append(nil, want)
	got, rest, err := roster.Parse(append(b, "behind"...))
	if err != nil || string(rest) != "behind" || !reflect.DeepEqual(got, want) {
		t.Errorf("ParseRoster = %+v, %q, %v\nwant %+v", got, rest, err, want)
	}
	for n := range b {
		if _, _, err := roster.Parse(b[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
}

// TestHostileShards asks that a table that no records can have made is corrupt.
func TestHostileShards(t *testing.T) {
	for name, change := range map[string]func(r *roster.Roster){
		"one copy":    func(r *roster.Roster) { r.Shards.Copies = 1 },
		"six copies":  func(r *roster.Roster) { r.Shards.Copies = 6 },
		"weight":      func(r *roster.Roster) { r.Members[1].Weight = placement.MaxWeight + 1 },
		"stranger":    func(r *roster.Roster) { r.Shards.Places[9].Copies[2].Node = 5 },
		"node 0":      func(r *roster.Roster) { r.Shards.Places[9].Copies[0].Node = 0 },
		"twice":       func(r *roster.Roster) { r.Shards.Places[9].Copies[0].Node = 2 },
		"no phase":    func(r *roster.Roster) { r.Shards.Places[9].Copies[0].Phase = 0 },
		"other phase": func(r *roster.Roster) { r.Shards.Places[9].Copies[0].Phase = 4 },
		"two learners": func(r *roster.Roster) {
			c := r.Shards.Places[9].Copies
			c[0].Phase, c[1].Phase = roster.Learns, roster.Learns
		},
		"future copy":    func(r *roster.Roster) { r.Shards.Places[9].Copies[0].Since = 2 },
		"future version": func(r *roster.Roster) { r.Shards.Places[9].Version = 2 },
	} {
		r := spread(t).Roster()
		change(r)
		if _, _, err := roster.Parse(roster.Append(nil, r)); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
