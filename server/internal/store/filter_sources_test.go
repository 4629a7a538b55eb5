package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// sourceFile is the file of a summary like the filter of creation.
func sourceFile(tb testing.TB, capacity int, hashes ...uint64) []byte {
	tb.Helper()
	f := bloom.New(capacity, 0.01)
	for _, h := range hashes {
		f.AddHash(h)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// copied returns the copy of a part, and the part that comes of it.
func copied(tb testing.TB, s *store.State, p *store.Part) ([]byte, *store.Part) {
	tb.Helper()
	frozen, err := p.Freeze()
	if err != nil {
		tb.Fatal(err)
	}
	var data []byte
	for buf := make([]byte, 64<<10); ; {
		piece, _ := frozen.Next(buf)
		if len(piece) == 0 {
			break
		}
		data = append(data, piece...)
	}
	l, err := s.NewLoader(catalog.Filter, data, int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	q, err := store.FinishLoad(l)
	if err != nil {
		tb.Fatal(err)
	}
	return data, q
}

// TestSourcePieces loads a source in pieces: until the last the version before is there, also after a
// copy; pieces of two loads never mix, and a copy with half of a version goes on.
func TestSourcePieces(t *testing.T) {
	const capacity = 5000
	s := store.New()
	e := apply(t, s, creation(t, capacity, 0)).Entry
	p := store.PartOf(e)
	put := func(version uint64, from, to int, data []byte) error {
		res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{
			Source: []byte("s"), Version: version, At: 5, Offset: int64(from), Of: uint64(len(data)), Data: data[from:to],
		}})
		return res.Err
	}
	has := func(p *store.Part, want ...bool) {
		t.Helper()
		for i, want := range want {
			if p.Filter().ContainsHash(uint64(i+1)<<40) != want {
				t.Errorf("hash %d: want %v", i+1, want)
			}
		}
	}
	one, two, three := sourceFile(t, capacity, 1<<40), sourceFile(t, capacity, 2<<40), sourceFile(t, capacity, 3<<40)
	half := len(one) / 2
	if err := errors.Join(put(1, 0, half, one), put(1, half, len(one), one)); err != nil {
		t.Fatal(err)
	}
	has(p, true, false, false)
	if err := errors.Join(put(2, 0, half, two), put(3, 0, half, three)); err != nil { // another load begins
		t.Fatal(err)
	}
	if err := put(2, half, len(two), two); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("the rest of a load that another has ended: %v", err)
	}
	has(p, true, false, false)
	data, q := copied(t, s, p)
	if again, _ := copied(t, s, q); !bytes.Equal(again, data) || q.Bytes() != p.Bytes() {
		t.Errorf("a copy of %d bytes with %d in memory, want %d and %d", len(again), q.Bytes(), len(data), p.Bytes())
	}
	has(q, true, false, false)
	before := s.AppendSnapshot(nil)
	if err := put(3, half, len(two), two); err == nil { // the checksum is that of another file
		t.Error("halves of two files were taken")
	}
	if !bytes.Equal(s.AppendSnapshot(nil), before) {
		t.Error("a piece that was refused has changed something")
	}
	if err := put(3, half, len(three), three); err != nil {
		t.Fatal(err)
	}
	has(p, false, false, true)
	if list := p.Sources(); len(list) != 1 || list[0] != (store.Source{Name: "s", Version: 3, At: 5}) {
		t.Errorf("sources %v", list)
	}
}

// TestSourceOfANodeThatKnowsNoRebuild asks that a source is not taken that was sent by a node of a cluster
// before it knew that the filter is rebuilt: it would be in the old filter alone.
func TestSourceOfANodeThatKnowsNoRebuild(t *testing.T) {
	s := store.New()
	s.SetRoster(&store.Roster{ID: 1, Lanes: 1, Level: store.LevelRebuilds, Holders: make([][]uint32, 3)})
	e := apply(t, s, creation(t, 100, 0)).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterMark{Number: 9}})
	file := sourceFile(t, 100, 7)
	for known, want := range map[uint64]error{0: store.ErrRebuilding, 9: nil} {
		body := &store.FilterSource{Source: []byte("s"), Version: 1, Of: uint64(len(file)), Data: file, Known: known}
		if res := apply(t, s, store.Record{ID: e.ID, Body: body}); !errors.Is(res.Err, want) {
			t.Errorf("the node knew rebuild %d: %v, want %v", known, res.Err, want)
		}
	}
}

// FuzzSources loads copies of a filter with sources.
func FuzzSources(f *testing.F) {
	s := store.New()
	var t testing.T
	e := apply(&t, s, creation(&t, 100, 0)).Entry
	file := sourceFile(f, 100, 7)
	for i, source := range []string{"a", "b"} {
		for to := len(file) - i; to <= len(file); to += 100 {
			apply(&t, s, store.Record{ID: e.ID, Body: &store.FilterSource{Source: []byte(source), Version: 4, Of: uint64(len(file)), Data: file[:to]}})
		}
	}
	apply(&t, s, store.Record{ID: e.ID, Body: &store.FilterGone{Hashes: []uint64{7}}})
	data, _ := copied(f, s, store.PartOf(e))
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		s := store.New()
		l, err := s.NewLoader(catalog.Filter, data, int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := store.FinishLoad(l)
		if err != nil {
			l.Release()
			return
		}
		if p.Filter() == nil {
			return // one that is loaded, or a shadow
		}
		once, q := copied(t, s, p)
		if again, _ := copied(t, s, q); !bytes.Equal(once, again) {
			t.Errorf("a copy of %d bytes comes back as %d", len(once), len(again))
		}
	})
}
