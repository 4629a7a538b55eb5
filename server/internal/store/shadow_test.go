package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestSwapChecksWhatItBuilds replays the swap of a static kind with the checksum of
// something else, and with the right one.
func TestSwapChecksWhatItBuilds(t *testing.T) {
	var fuse8 codec.Kind
	for _, k := range codec.Kinds() {
		if k.Name == "fuse8" {
			fuse8 = k
		}
	}
	s := store.New()
	apply := func(r store.Record) store.Result {
		var res store.Result
		if !r.Part() {
			s.Names.Lock()
			defer s.Names.Unlock()
		}
		store.Apply(s, &r, nil, &res)
		res.Release()
		return res
	}
	begin := apply(store.Record{Body: &store.ShadowOpen{Name: []byte("k"), Header: contents.AppendStatic(nil, &contents.Plan{}, &fuse8, hashing.Seeded(0), 100, 0.01)}})
	if begin.Err != nil {
		t.Fatal(begin.Err)
	}
	id := begin.Entry.ID
	apply(store.Record{ID: id, Body: &store.ShadowAdd{Fed: true, Room: store.Unlimited, Hashes: []uint64{1 << 40, 2 << 50, 3 << 60}}})
	built, err := s.Build(s.ShadowNamed([]byte("k")).Entry(), 0, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	sum := built.Sums()[0]
	body := &store.ShadowSwap{ID: id, Name: []byte("k"), Sums: []uint64{sum + 1}}
	swap := store.Record{Body: body}
	if res := apply(swap); !errors.Is(res.Err, bloomery.ErrCorrupt) || res.Changed {
		t.Errorf("a swap with another checksum: %v", res.Err)
	}
	body.Sums[0] = sum
	if res := apply(swap); res.Err != nil || !contents.PartOf(res.Entry).Filter().ContainsHash(2<<50) {
		t.Errorf("a swap with its checksum: %v", res.Err)
	}
	if res := apply(swap); !errors.Is(res.Err, contents.ErrRetry) {
		t.Errorf("a second swap: %v", res.Err)
	}
	if s.Shadowed(id) {
		t.Error("the shadow stays open")
	}
}

// static is a state with an open shadow of a static kind that will make the name k, and
// what applies records to it.
func static(t *testing.T) (*store.State, *shadow.Shadow, func(store.Record) store.Result) {
	t.Helper()
	row := slices.IndexFunc(codec.Kinds(), func(k codec.Kind) bool { return k.Name == "fuse8" })
	s := store.New()
	do := func(r store.Record) store.Result {
		if !r.Part() {
			s.Names.Lock()
			defer s.Names.Unlock()
		}
		var res store.Result
		store.Apply(s, &r, nil, &res)
		res.Release()
		return res
	}
	fuse8 := codec.Kinds()[row]
	do(store.Record{Body: &store.ShadowOpen{Name: []byte("k"), Header: contents.AppendStatic(nil, &contents.Plan{}, &fuse8, hashing.Seeded(0), 100, 0.01)}})
	return s, s.ShadowNamed([]byte("k")), do
}

// TestBrokenWhileSealed breaks a shadow while a commit builds it: it is not swapped in.
func TestBrokenWhileSealed(t *testing.T) {
	s, sh, do := static(t)
	id := sh.ID
	do(store.Record{ID: id, Body: &store.ShadowAdd{Fed: true, Room: store.Unlimited, Hashes: []uint64{1 << 40, 2 << 50}}})
	commit := uint64(do(store.Record{Body: &store.ShadowSeal{ID: id}}).N)
	built, err := s.Build(sh.Entry(), commit, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	do(store.Record{ID: id, Body: &store.ShadowBreak{}})
	swap := store.Record{Body: &store.ShadowSwap{ID: id, Name: []byte("k"), Sums: built.Sums(), Built: built}}
	if res := do(swap); !errors.Is(res.Err, store.ErrBroken) || res.Changed {
		t.Errorf("a swap of a shadow that lacks items: %v", res.Err)
	}
}

// TestSealOnce seals a shadow of a static kind twice, and has one commit meddle with the
// seal of another: it stays as it is, and only what was built under it is swapped in.
func TestSealOnce(t *testing.T) {
	s, sh, do := static(t)
	id := sh.ID
	feed := store.Record{ID: id, Body: &store.ShadowAdd{Fed: true, Room: store.Unlimited, Hashes: []uint64{1 << 40, 2 << 50, 3 << 60}}}
	do(feed)
	seal := store.Record{Body: &store.ShadowSeal{ID: id}}
	first := do(seal)
	if first.Err != nil || first.N == 0 || !sh.Closed() {
		t.Fatalf("the first seal: %v, number %d", first.Err, first.N)
	}
	if res := do(seal); !errors.Is(res.Err, store.ErrSealed) || res.Changed {
		t.Errorf("a second seal: %v", res.Err)
	}
	if err := s.Meets(&store.Record{ID: id, Body: &store.ShadowBreak{}}); err != nil {
		t.Errorf("a FEED that had no room cannot say so while a commit is under way: %v", err)
	}
	sh.Reopen(uint64(first.N) + 1)
	if !sh.Closed() || !errors.Is(s.Meets(&feed), store.ErrSealed) {
		t.Error("another commit has opened what the first has sealed")
	}
	older, err := s.Build(sh.Entry(), uint64(first.N), func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	sh.Reopen(uint64(first.N))
	if sh.Closed() || s.Meets(&feed) != nil {
		t.Error("the commit that has sealed it cannot open it")
	}
	feed.Body = &store.ShadowAdd{Fed: true, Room: store.Unlimited, Hashes: []uint64{4 << 55}}
	do(feed)
	second := do(seal)
	if second.Err != nil || second.N == first.N {
		t.Fatalf("a seal after it was opened: %v, number %d", second.Err, second.N)
	}
	swap := store.Record{Body: &store.ShadowSwap{ID: id, Name: []byte("k"), Sums: older.Sums(), Built: older}}
	if res := do(swap); !errors.Is(res.Err, contents.ErrRetry) || res.Changed {
		t.Errorf("a swap of what was built before the last items came: %v", res.Err)
	}
	built, err := s.Build(sh.Entry(), uint64(second.N), func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	swap.Body = &store.ShadowSwap{ID: id, Name: []byte("k"), Sums: built.Sums(), Built: built}
	if res := do(swap); res.Err != nil || !contents.PartOf(res.Entry).Filter().ContainsHash(4<<55) {
		t.Errorf("the swap of the commit that has sealed it: %v", res.Err)
	}
}

// TestMoves names the operations by which contents that others can change get a name.
func TestMoves(t *testing.T) {
	for body, want := range map[store.Body]bool{
		&store.Rename{}: true, &store.Reveal{}: true, &store.ShadowSwap{}: true, &store.Make{}: false, &store.Set{}: false, &store.ShadowSeal{}: false,
	} {
		if r := (store.Record{Body: body}); r.Moves() != want {
			t.Errorf("operation %d moves a name: %t, want %t", r.Op(), !want, want)
		}
	}
}

// shadowed is a state with a cuckoo filter and an open shadow of it, in parts.
func shadowed(t *testing.T, capacity int, parts uint8) (*shadow.Shadow, func(store.Record)) {
	t.Helper()
	s := store.New()
	outline := func(capacity int) []byte {
		o, err := codec.AppendOutline(nil, cuckoo.New(capacity, 0.01))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	main := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("k"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline(1000))}}).Entry
	if res := apply(t, s, store.Record{Body: &store.ShadowOpen{Of: main.ID, Header: contents.AppendShadow(nil, &contents.Plan{Parts: parts}, outline(capacity))}}); res.Err != nil {
		t.Fatal(res.Err)
	}
	sh := s.ShadowOf(main.ID)
	return sh, func(r store.Record) {
		t.Helper()
		r.ID = main.ID
		switch o := r.Body.(type) {
		case *store.FilterAdd:
			o.Shadow, o.Room, o.SecondRoom = sh.ID, store.Unlimited, store.Unlimited
		case *store.FilterDelete:
			o.Shadow = sh.ID
		}
		p := contents.PartOf(main)
		p.Lock()
		defer p.Unlock()
		var res store.Result
		store.Apply(s, &r, p, &res)
		res.Release()
		if res.Err != nil {
			t.Fatal(res.Err)
		}
	}
}

// TestShadowMirrors adds to a filter and deletes from it while a shadow of four parts is
// open: the shadow gets each item in the part where it is looked for, and counts what
// was deleted.
func TestShadowMirrors(t *testing.T) {
	sh, change := shadowed(t, 1000, 2)
	var of [4][]uint64
	for h := uint64(1); slices.ContainsFunc(of[:], func(hs []uint64) bool { return len(hs) < 2 }); h++ {
		if part := bloomery.Route(h<<32, 2); len(of[part]) < 2 {
			of[part] = append(of[part], h<<32)
		}
	}
	for i := range of { // two in a record, for different parts
		pair := []uint64{of[i][0], of[(i+1)%4][1]}
		change(store.Record{Body: &store.FilterAdd{Hashes: pair, Second: pair}})
	}
	for i, p := range contents.Parts(sh.Entry()) {
		if got := p.Contents().Stats().Items; got != 2 {
			t.Errorf("part %d has %d items, want 2", i, got)
		}
	}
	change(store.Record{Body: &store.FilterDelete{Hashes: []uint64{of[0][0], of[1][1], 12345}}})
	got, ok := sh.Progress()
	capacity := uint64(0)
	for _, p := range contents.Parts(sh.Entry()) {
		capacity += p.Contents().Stats().Capacity
	}
	if !ok || got.Added != 8 || got.Missed != 2 || got.Items != 8 || got.Capacity != capacity || capacity < 4000 {
		t.Errorf("Progress() = %+v, %v, want 8 added, 2 missed and a capacity of %d", got, ok, capacity)
	}
	if sh.Broken() {
		t.Error("the shadow is broken though it had room")
	}
}

// TestShadowBreaks adds more to a filter than its shadow takes: the filter has all of
// it, and the shadow is broken.
func TestShadowBreaks(t *testing.T) {
	sh, change := shadowed(t, 10, 0)
	hs := make([]uint64, 200)
	for i := range hs {
		hs[i] = uint64(i+1) * 0x9E3779B97F4A7C15
	}
	change(store.Record{Body: &store.FilterAdd{Hashes: hs, Second: hs}})
	if !sh.Broken() {
		t.Error("a shadow of 10 items took 200")
	}
}

// shadowOf opens a shadow of a filter with so many parts, and returns the state, the
// filter's id and the shadow.
func shadowOf(t *testing.T, parts uint8, of bloomery.Hashed, shadow uint8) (*store.State, uint64, *shadow.Shadow) {
	t.Helper()
	outline := func(f bloomery.Hashed) []byte {
		o, err := codec.AppendOutline(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	s := store.New()
	id := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("k"), Header: contents.AppendCreation(nil, &contents.Plan{Parts: parts}, outline(cuckoo.New(1000, 0.01)))}}).Entry.ID
	if res := apply(t, s, store.Record{Body: &store.ShadowOpen{Of: id, Header: contents.AppendShadow(nil, &contents.Plan{Parts: shadow}, outline(of))}}); res.Err != nil {
		t.Fatal(res.Err)
	}
	return s, id, s.ShadowOf(id)
}

// change applies a record to a part of a filter and its shadow, and returns the log.
func change(t *testing.T, s *store.State, r store.Record) (logged []store.Record) {
	t.Helper()
	p := contents.PartAt(s.Names.ByID(r.ID), r.Index)
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
		var e store.Record
		n, err := e.Decode(b)
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
	second := []uint64{1, 2, 3}
	r := store.Record{ID: id, Index: 3, Body: &store.FilterAdd{Shadow: sh.ID, Room: store.Unlimited, SecondRoom: store.Unlimited, Hashes: []uint64{1, 2, 3}, Second: second}}
	var got []uint64
	for _, e := range change(t, s, r) {
		if o, ok := e.Body.(*store.ShadowAdd); ok {
			got = append(got, o.Hashes...)
		}
	}
	if slices.Sort(got); !slices.Equal(got, second) {
		t.Errorf("the log has %v for the shadow, want %v", got, second)
	}
	change(t, s, store.Record{ID: id, Index: 3, Body: &store.FilterDelete{Shadow: sh.ID, Hashes: []uint64{1, 2}}})
	if v, ok := sh.Progress(); !ok || v.Added != 3 || v.Missed != 2 {
		t.Errorf("Progress = %+v, %t, want 3 added and 2 deleted", v, ok)
	}
}

// TestShadowWithoutRoom has a shadow that grows and may not: it breaks, and no byte is
// counted.
func TestShadowWithoutRoom(t *testing.T) {
	s, id, sh := shadowOf(t, 0, quotient.NewGrowing(100, 0.01), 0)
	before := s.Bytes()
	change(t, s, store.Record{ID: id, Body: &store.FilterAdd{Shadow: sh.ID, Room: store.Unlimited, Hashes: []uint64{1}, Second: []uint64{1}}})
	if !sh.Broken() || s.Bytes() != before {
		t.Errorf("broken %t, %d bytes, want %d", sh.Broken(), s.Bytes(), before)
	}
}
