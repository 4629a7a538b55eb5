package store_test

import (
	"bytes"
	"encoding"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestBoundHolds checks that no encoding is longer than its bound, and that the number
// of a whole union, which logs have, stays.
func TestBoundHolds(t *testing.T) {
	long := bytes.Repeat([]byte("n"), 1000)
	for _, r := range []store.Record{
		{Op: store.OpAdd, ID: 1, Room: store.Unlimited, Digests: digests(100)},
		{Op: store.OpInsert, ID: 1, Room: store.Unlimited, Hashes: hashes(100)},
		{Op: store.OpRename, Name: []byte("a"), Other: long},
		{Op: store.OpSet, Name: long, Value: long},
		{Op: store.OpEvict, IDs: ids(1, 100)},
		{Op: store.OpRemove, Names: [][]byte{long, long}},
	} {
		if n := len(store.AppendRecord(nil, &r)); n > r.Bound() {
			t.Errorf("operation %d has %d bytes, the bound is %d", r.Op, n, r.Bound())
		}
	}
	if store.WholeUnion != -1 {
		t.Errorf("the position of a whole union is %d, want -1", store.WholeUnion)
	}
}

// shadowOf opens a shadow of a filter with so many parts, and returns the state, the
// filter's id and the shadow.
func shadowOf(t *testing.T, parts uint8, of bloomery.Hashed, shadow uint8) (*store.State, uint64, *store.Shadow) {
	t.Helper()
	outline := func(f bloomery.Hashed) []byte {
		o, err := codec.AppendOutline(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	s := store.New()
	id := apply(t, s, store.Record{Op: store.OpFilter, Name: []byte("k"), Value: store.AppendCreation(nil, &store.Plan{Parts: parts}, outline(cuckoo.New(1000, 0.01)))}).Entry.ID
	if res := apply(t, s, store.Record{Op: store.OpShadow, ID: id, Value: store.AppendShadow(nil, &store.Plan{Parts: shadow}, outline(of))}); res.Err != nil {
		t.Fatal(res.Err)
	}
	return s, id, s.ShadowOf(id)
}

// change applies a record to a part of a filter and its shadow, and returns the log.
func change(t *testing.T, s *store.State, r store.Record) (logged []store.Record) {
	t.Helper()
	p := store.PartAt(s.Names.ByID(r.ID), r.Index)
	p.Lock()
	defer p.Unlock()
	var res store.Result
	var f store.Effect
	store.Apply(s, &r, p, &res)
	f.Add(&r, &res)
	res.Release()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for b, _ := f.Take(); len(b) > 0; {
		e, n, err := store.DecodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		logged, b = append(logged, e), b[n:]
	}
	return logged
}

// TestShadowsInTheLog checks that the log has what a shadow got, and that deletes count
// in a shadow of fewer parts than its filter has.
func TestShadowsInTheLog(t *testing.T) {
	s, id, sh := shadowOf(t, 2, cuckoo.New(1000, 0.01), 1)
	r := store.Record{Op: store.OpFilterAdd, ID: id, Index: 3, Shadow: sh.Entry.ID, Room: store.Unlimited, SecondRoom: store.Unlimited, Hashes: []uint64{1, 2, 3}, Second: []uint64{1, 2, 3}}
	var got []uint64
	for _, e := range change(t, s, r) {
		if e.Op == store.OpShadowAdd {
			got = append(got, e.Hashes...)
		}
	}
	if slices.Sort(got); !slices.Equal(got, r.Second) {
		t.Errorf("the log has %v for the shadow, want %v", got, r.Second)
	}
	change(t, s, store.Record{Op: store.OpFilterDelete, ID: id, Index: 3, Shadow: sh.Entry.ID, Hashes: []uint64{1, 2}})
	if v, ok := sh.Progress(); !ok || v.Added != 3 || v.Missed != 2 {
		t.Errorf("Progress = %+v, %t, want 3 added and 2 deleted", v, ok)
	}
}

// TestShadowWithoutRoom has a shadow that grows and may not: it breaks, and no byte is
// counted.
func TestShadowWithoutRoom(t *testing.T) {
	s, id, sh := shadowOf(t, 0, quotient.NewGrowing(100, 0.01), 0)
	before := s.Bytes()
	change(t, s, store.Record{Op: store.OpFilterAdd, ID: id, Shadow: sh.Entry.ID, Room: store.Unlimited, Hashes: []uint64{1}, Second: []uint64{1}})
	if !sh.Broken() || s.Bytes() != before {
		t.Errorf("broken %t, %d bytes, want %d", sh.Broken(), s.Bytes(), before)
	}
}

// TestMergedIsTheMerge checks that the records that a merge would make, on a state as
// it is, give what the merge gives.
func TestMergedIsTheMerge(t *testing.T) {
	build := func() *store.State {
		s := store.New()
		for i, name := range []string{"a", "b"} {
			id := apply(t, s, store.Record{Op: store.OpCountMin, Name: []byte(name), Value: countMinHeader(50, 3)}).Entry.ID
			if res := apply(t, s, store.Record{Op: store.OpCountMinIncr, ID: id, Value: increments(10 + i)}); res.Err != nil {
				t.Fatal(res.Err)
			}
		}
		return s
	}
	merge := store.Record{Op: store.OpCountMinMerge, Name: []byte("a"), Names: [][]byte{[]byte("a"), []byte("b")}, Value: store.AppendWeight(store.AppendWeight(nil, 2), 3)}
	s, want := build(), build()
	before := snapshot(s)
	m, err := s.Merged(&merge)
	if err != nil || len(m.Records) == 0 || m.Entry == nil || !bytes.Equal(snapshot(s), before) {
		t.Fatalf("Merged = %+v, %v, or it has changed something", m, err)
	}
	for _, r := range m.Records {
		if res := apply(t, s, r); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	m.Release()
	var res store.Result
	want.Names.Lock()
	store.Apply(want, &merge, nil, &res)
	res.Release()
	want.Names.Unlock()
	if res.Err != nil || !bytes.Equal(snapshot(s), snapshot(want)) {
		t.Errorf("the records give another state than the merge: %v", res.Err)
	}
}

// TestLookHasTheSize checks that a look at a filter shows its memory, however small.
func TestLookHasTheSize(t *testing.T) {
	for _, capacity := range []int{10, 1000, 100_000} {
		s := store.New()
		p := store.PartOf(apply(t, s, creation(t, capacity, 0)).Entry)
		l, ok := p.Look(true)
		size, sized := p.Size(true)
		data, err := p.Filter().(encoding.BinaryMarshaler).MarshalBinary()
		if !ok || !sized || err != nil || l.Bytes != size || l.Bytes < uint64(len(data))/2 {
			t.Errorf("capacity %d: a look shows %d bytes, the size is %d, the encoding %d: %v", capacity, l.Bytes, size, len(data), err)
		}
	}
}
