package store_test

import (
	"bytes"
	"encoding"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestFreezeOfGrowing freezes a filter that grows: what is done with its lock held does not grow with
// it, and the copy is read while a writer has the lock and changes everything.
func TestFreezeOfGrowing(t *testing.T) {
	outline, err := codec.AppendOutline(nil, quotient.NewGrowing(1000, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	s := store.New()
	e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("g"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
	hs := hashes(200_000)
	add := func(hs []uint64) {
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
	}
	add(hs[:100_000])
	p := contents.PartOf(e)
	want, err := p.Filter().(*quotient.Growing).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}

	p.Lock()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	z, err := p.Freeze()
	runtime.ReadMemStats(&after)
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(want))/8 {
		t.Errorf("with the lock held %d bytes of %d are copied", n, len(want))
	}
	if _, ok := z.(contents.Apart); !ok {
		t.Error("the copy needs the lock to be read")
	}
	var got []byte
	next := func() bool {
		piece, off := z.Next(make([]byte, 64<<10))
		if off != int64(len(got)) {
			t.Fatalf("a piece at %d behind %d bytes", off, len(got))
		}
		got = append(got, piece...)
		return len(piece) > 0
	}
	next()
	if s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a copy that shares them with its filter", s.Copied())
	}
	add(hs[100_000:100_002])
	if n := s.Copied(); n == 0 || n > int64(len(want))/2 {
		t.Errorf("%d bytes are counted when the filter has copied a few segments of %d", n, len(want))
	}
	add(hs[100_002:])
	all := s.Copied()
	if all < int64(len(want)) || all > int64(len(want))*5/4 {
		t.Errorf("%d bytes are counted of a copy that shares nothing, and is one of %d", all, len(want))
	}
	for next() {
	}
	if int64(len(got)) != z.Size() || !bytes.HasSuffix(got, want) {
		t.Errorf("a copy of %d bytes, %d were promised and %d are the filter: it is another", len(got), z.Size(), len(want))
	}
	p.Lock()
	err = z.Close()
	f, done := p.Fork()
	p.Unlock()
	if err != nil || s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
	}
	if f == nil || f.Stats().Items != uint64(len(hs)) {
		t.Errorf("Fork() = %v", f)
	}
	size := int64(p.Bytes())
	apply(t, s, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("g")}}})
	if n := s.Copied(); n < size*9/10 || n > size {
		t.Errorf("%d bytes are counted of a fork whose filter, of %d, is gone", n, size)
	}
	if done(); s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a fork that has ended", s.Copied())
	}
}

// TestFreezeOfDigest freezes a digest, and has the header of its dump made later: nothing of it is copied with its lock
// held, and the copy is read without that, while the digest is reset. Its array is counted as long as the copy has it.
func TestFreezeOfDigest(t *testing.T) {
	s := store.New()
	e := apply(t, s, store.Record{Body: store.FromDump(catalog.TDigest, []byte("d"), redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 20_000}))}).Entry
	var values []byte
	for i := range 100_000 {
		values = store.AppendValue(values, float64(i))
	}
	apply(t, s, store.Record{ID: e.ID, Body: &store.TDigestAdd{Values: values}})
	p := contents.PartOf(e)
	want := p.Contents().AppendHeader(nil)
	p.Lock()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	z, err := p.Freeze()
	header := p.Header()
	runtime.ReadMemStats(&after)
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(want))/50 {
		t.Errorf("with the lock held %d bytes of %d are copied", n, len(want))
	}
	if _, ok := z.(contents.Apart); !ok {
		t.Error("the copy needs the lock to be read")
	}
	bytesBefore := s.Bytes()
	apply(t, s, store.Record{ID: e.ID, Body: &store.TDigestBegin{}})
	apply(t, s, store.Record{ID: e.ID, Body: &store.TDigestAdd{Values: values[:800]}})
	if s.Bytes() != bytesBefore || s.Copied() != int64(16*(6*20_000+10)) {
		t.Errorf("the digest takes %d bytes, before %d; %d are counted for copies", s.Bytes(), bytesBefore, s.Copied())
	}
	var got []byte
	for more := true; more; {
		piece, _ := z.Next(make([]byte, 64<<10))
		got = append(got, piece...)
		more = len(piece) > 0
	}
	if !bytes.Equal(got, want[:len(want)-4]) || !bytes.Equal(header(), want) {
		t.Error("the copy, or the header, is not the digest of before")
	}
	p.Lock()
	err = z.Close()
	p.Unlock()
	if err != nil || s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
	}
}

// TestFreezeOfTopK freezes a sketch of many slots, and has the header of its dump made later: neither copies them with its
// lock held.
func TestFreezeOfTopK(t *testing.T) {
	const k = 20_000
	s := store.New()
	e := apply(t, s, store.Record{Body: store.FromDump(catalog.TopK, []byte("k"), redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: k, Width: 8, Depth: 7, Decay: 0.9}))}).Entry
	p := contents.PartOf(e)
	want := p.Contents().AppendHeader(nil)
	p.Lock()
	defer p.Unlock()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	z, err := p.Freeze()
	header := p.Header()
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(want))/10 {
		t.Errorf("with the lock held %d bytes of %d are copied", n, len(want))
	}
	if !bytes.Equal(header(), want) {
		t.Error("the header is not that of the sketch")
	}
	if err := z.Close(); err != nil || s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
	}
}

// TestFreezeOfLarge freezes large filters of every kind that changes: little is copied with the lock held, and
// what is read meanwhile is the filter of before, whatever is done to it. What the copy makes the server keep is
// counted as long as it is open.
func TestFreezeOfLarge(t *testing.T) {
	hs, rng := make([]uint64, 80_000), rand.New(rand.NewPCG(1, 2))
	for i := range hs {
		hs[i] = rng.Uint64()
	}
	clearing := func(t *testing.T, f bloomery.Hashed) store.Body {
		t.Helper()
		outline, err := codec.AppendOutline(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		return &store.FilterClear{Outline: outline}
	}
	for name, f := range map[string]bloomery.Hashed{
		"scalable": bloom.NewScalable(600_000, 0.001), "bloom": bloom.New(1_000_000, 0.001), "standard": bloom.NewStandard(1_000_000, 0.001),
		"split": bloom.NewSplit(1_000_000, 0.001), "partitioned": bloom.NewPartitioned(1_000_000, 0.001),
		"cuckoo": cuckoo.New(420_000, 1e-6), "quotient": quotient.New(420_000, 1e-6), "counting": counting.New(420_000, 0.01),
		"spectral": counting.NewSpectral(50_000, 0.01), "stable": counting.NewStable(300_000, 0.01),
		"window": compose.NewWindow(1_000_000, 0.01, 4), "quorum": quorum(t, cuckoo.New(420_000, 0.01), bloom.New(420_000, 0.01)),
	} {
		for how, then := range map[string]func(t *testing.T, s *store.State, e *catalog.Entry){
			"added to": func(*testing.T, *store.State, *catalog.Entry) {},
			"changed": func(t *testing.T, s *store.State, e *catalog.Entry) {
				t.Helper()
				switch f.(type) {
				case *bloom.Filter:
					apply(t, s, store.Record{ID: e.ID, Body: &store.FilterUnion{Offset: 400_000, Data: bytes.Repeat([]byte{0xf0}, 300_000)}})
				case bloomery.Deleter:
					apply(t, s, store.Record{ID: e.ID, Body: &store.FilterDelete{Hashes: hs[:20_000]}})
				case *compose.Window:
					apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdvance{Generation: 1}})
				}
			},
			"cleared": func(t *testing.T, s *store.State, e *catalog.Entry) {
				t.Helper()
				apply(t, s, store.Record{ID: e.ID, Body: clearing(t, f)})
			},
			"removed": func(t *testing.T, s *store.State, e *catalog.Entry) {
				t.Helper()
				apply(t, s, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("f")}}})
			},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				outline, err := codec.AppendOutline(nil, f)
				if err != nil {
					t.Fatal(err)
				}
				s := store.New()
				e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("f"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
				add := func(hs []uint64) {
					apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
				}
				add(hs[:40_000])
				p := contents.PartOf(e)
				want, err := p.Filter().(encoding.BinaryMarshaler).MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				p.Lock()
				runtime.ReadMemStats(&before)
				z, err := p.Freeze()
				runtime.ReadMemStats(&after)
				p.Unlock()
				if err != nil {
					t.Fatal(err)
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(want))/8 {
					t.Errorf("with the lock held %d bytes of %d are copied", n, len(want))
				}
				var got []byte
				next := func() bool {
					piece, _ := z.Next(make([]byte, 64<<10))
					got = append(got, piece...)
					return len(piece) > 0
				}
				next()
				add(hs[40_000:])
				if n := z.Saved(); n == 0 || n > len(want)+64<<10 || s.Copied() != int64(n) {
					t.Errorf("%d bytes were put aside of %d, and %d are counted", n, len(want), s.Copied())
				}
				next()
				taken := s.Bytes()
				then(t, s, e)
				if left := taken - s.Bytes(); left > 1<<20 && s.Copied() < int64(len(want)) {
					t.Errorf("%d bytes of arrays are only for the copy, %d are counted", left, s.Copied())
				}
				for next() {
				}
				if int64(len(got)) != z.Size() || !bytes.HasSuffix(got, want) {
					t.Errorf("a copy of %d bytes, %d were promised and %d are the filter: it is another", len(got), z.Size(), len(want))
				}
				p.Lock()
				err = z.Close()
				p.Unlock()
				if err != nil || s.Copied() != 0 {
					t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
				}
			})
		}
	}
}

// TestFreezeOfUntouched changes pages of a filter that nobody has added to since it was frozen, in other ways than by
// hashes: they are put aside, and counted.
func TestFreezeOfUntouched(t *testing.T) {
	const piece = 32 << 10
	for name, c := range map[string]struct {
		f    bloomery.Hashed
		then store.Body
	}{
		"union of less than a word":  {bloom.New(1_000_000, 0.001), &store.FilterUnion{Offset: 9 * piece, Data: []byte{0xff, 0xff, 0xff, 0xff}}},
		"union that ends in a piece": {bloom.New(1_000_000, 0.001), &store.FilterUnion{Offset: 9 * piece, Data: bytes.Repeat([]byte{0xff}, piece+4)}},
	} {
		t.Run(name, func(t *testing.T) {
			outline, err := codec.AppendOutline(nil, c.f)
			if err != nil {
				t.Fatal(err)
			}
			s := store.New()
			e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("f"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
			apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hashes(10_000)}})
			p := contents.PartOf(e)
			want, _ := copied(t, s, p)
			p.Lock()
			z, err := p.Freeze()
			p.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for i := 0; ; i++ {
				data, _ := z.Next(make([]byte, piece))
				if len(data) == 0 {
					break
				}
				got = append(got, data...)
				if i > 0 {
					continue
				}
				if res := apply(t, s, store.Record{ID: e.ID, Body: c.then}); res.Err != nil || !res.Changed {
					t.Fatalf("changed %v, %v", res.Changed, res.Err)
				}
				if n := z.Saved(); n == 0 || s.Copied() != int64(n) {
					t.Errorf("%d bytes were put aside, and %d are counted", n, s.Copied())
				}
			}
			if !bytes.Equal(got, want) {
				t.Error("the copy is not the filter of before")
			}
			p.Lock()
			err = z.Close()
			p.Unlock()
			if err != nil || s.Copied() != 0 {
				t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
			}
		})
	}
}

// TestAdvanceOfLarge lets all generations of a large window pass while it is copied. The record itself changes and copies
// nothing of the array, and nobody finds what was in it; later pieces clear it, and put aside what they clear.
func TestAdvanceOfLarge(t *testing.T) {
	outline, err := codec.AppendOutline(nil, compose.NewWindow(2_000_000, 0.01, 4))
	if err != nil {
		t.Fatal(err)
	}
	s := store.New()
	e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("w"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
	hs := hashes(10_000)
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
	p := contents.PartOf(e)
	want, _ := copied(t, s, p)
	p.Lock()
	z, err := p.Freeze()
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	next := func() bool {
		piece, _ := z.Next(make([]byte, 64<<10))
		got = append(got, piece...)
		return len(piece) > 0
	}
	next()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdvance{Generation: 4}})
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs[:1]}})
	aside := z.Saved()
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdvance{Generation: 9}}) // before the first was cleared
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(want))/50 || z.Saved() != aside || aside > 8<<10 {
		t.Errorf("with the lock held %d bytes of %d are made, %d and %d put aside", n, len(want), aside, z.Saved())
	}
	if n := p.Filter().(*compose.Window).Sweeping(); n == 0 || s.Copied() != int64(n+aside) {
		t.Errorf("%d bytes say what is to be cleared, and %d are put aside: %d are counted", n, aside, s.Copied())
	}
	if items := p.Contents().Stats().Items; p.Filter().ContainsHash(hs[0]) || items != 0 {
		t.Errorf("%d items are there of generations that were dropped", items)
	}
	p.Sweep()
	if n := z.Saved(); n < len(want)/2 || s.Copied() != int64(n) {
		t.Errorf("%d bytes of %d are put aside when all was cleared, and %d are counted", n, len(want), s.Copied())
	}
	for next() {
	}
	if !bytes.Equal(got, want) {
		t.Error("the copy is not the window of before")
	}
	p.Lock()
	err = z.Close()
	p.Unlock()
	if err != nil || s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
	}
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdvance{Generation: 18}})
	_, empty := copied(t, s, p) // what is not cleared yet is in no copy
	if empty.Contents().Stats().Items != 0 {
		t.Error("a copy has what was dropped")
	}
	if p.Filter().(*compose.Window).Sweeping() == 0 {
		t.Error("the copy has all cleared first, with the lock held")
	}
	p.Lock()
	p.Discard()
	p.Unlock()
	if s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a window that is gone", s.Copied())
	}
}

// TestGrowOfLarge makes a large filter a scalable one while it is copied. With the lock held nothing of it is copied; it
// is what the library makes of it, also when more keys come, and the copy is the filter of before.
func TestGrowOfLarge(t *testing.T) {
	const capacity = 1_000_000
	s := store.New()
	e := apply(t, s, creation(t, capacity, 0)).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hashes(10_000)}})
	p := contents.PartOf(e)
	library, err := p.Filter().(*bloom.Filter).Scalable(0.02)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := copied(t, s, p)
	p.Lock()
	z, err := p.Freeze()
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	bytesBefore := s.Bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterGrow{Rate: 0.02}})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; res.Err != nil || n > uint64(len(old))/50 || p.Row().Name != "scalable" || s.Bytes() != bytesBefore {
		t.Errorf("%v: with the lock held %d bytes of %d are made, and the state takes %d instead of %d", res.Err, n, len(old), s.Bytes(), bytesBefore)
	}
	same := func(what string) {
		t.Helper()
		want, err := library.MarshalBinary()
		got, _ := p.Filter().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the filter is not what the library makes of it, %v", what, err)
		}
	}
	same("grown")
	more, rng := make([]uint64, capacity*6/5), rand.New(rand.NewPCG(1, 9)) // beyond the first layer
	for i := range more {
		more[i] = rng.Uint64()
	}
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: more}})
	library.AddHashes(nil, more)
	if same("added to"); library.Layers() < 2 {
		t.Errorf("%d layers", library.Layers())
	}
	var got []byte
	for more := true; more; {
		piece, _ := z.Next(make([]byte, 64<<10))
		got = append(got, piece...)
		more = len(piece) > 0
	}
	p.Lock()
	err = z.Close()
	p.Unlock()
	if !bytes.Equal(got, old) || err != nil || s.Copied() != 0 {
		t.Errorf("the copy is not the filter of before, or %d bytes are counted for it: %v", s.Copied(), err)
	}
}

// TestFoldOfLarge folds a large filter of each kind that can be: that makes no copy besides the half, and what it would be
// is what it becomes, and what the library makes of it.
func TestFoldOfLarge(t *testing.T) {
	config := bloom.Config{Capacity: 4_000_000, ErrorRate: 0.01, Foldable: true}
	for _, build := range []func() (bloomery.Hashed, error){
		func() (bloomery.Hashed, error) { return envelope.Hashed(config.New()) },
		func() (bloomery.Hashed, error) { return envelope.Hashed(config.NewStandard()) },
		func() (bloomery.Hashed, error) { return envelope.Hashed(config.NewSplit()) },
	} {
		library, err := build()
		if err != nil {
			t.Fatal(err)
		}
		outline, err := codec.AppendOutline(nil, library)
		if err != nil {
			t.Fatal(err)
		}
		s := store.New()
		e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("k"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
		p := contents.PartOf(e)
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hashes(10_000)}})
		library.(bloomery.Adder).AddHashes(nil, hashes(10_000))
		half, err := bloom.FoldIn(library, 2, nil)
		tried, failed := p.Folded()
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		size := p.Bytes()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterFold{}})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; res.Err != nil || n > size/50 || s.Bytes() != store.Cost("k", e) {
			t.Errorf("%T: %v: with the lock held %d bytes of %d are made beside the half, and the state takes %d instead of %d", half, res.Err, n, size, s.Bytes(), store.Cost("k", e))
		}
		want, _ := encodingOf(half)
		for _, f := range []bloomery.Hashed{tried, p.Filter()} {
			if got, err := encodingOf(f); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%T: the half is not that of the library: %v", half, err)
			}
		}
		runtime.KeepAlive(s) // the arrays of its filters go with it
	}
}

func encodingOf(f bloomery.Hashed) ([]byte, error) {
	return f.(encoding.BinaryMarshaler).MarshalBinary()
}

func quorum(t *testing.T, members ...bloomery.Hashed) *compose.Quorum {
	t.Helper()
	q, err := compose.NewQuorum(1, members...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestFreezeOfSources freezes a large filter with sources: little is copied with the lock held, and what is read
// while keys are added and sources replaced is the filter of before, with its sources.
func TestFreezeOfSources(t *testing.T) {
	const capacity = 1_000_000
	s := store.New()
	e := apply(t, s, creation(t, capacity, 0)).Entry
	p := contents.PartOf(e)
	put := func(source string, version uint64, data []byte, to int) {
		t.Helper()
		if res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte(source), Version: version, Of: uint64(len(data)), Data: data[:to]}}}); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	add := func(hs ...uint64) {
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
	}
	one, two := sourceFile(t, capacity, 1<<40), sourceFile(t, capacity, 2<<40, 15<<60) // that one is at the end of the array
	add(7 << 40)
	put("a", 1, one, len(one))
	put("b", 1, two, len(two))
	put("c", 1, two, len(two)/2)
	want, _ := copied(t, s, p)

	var before, after runtime.MemStats
	p.Lock()
	runtime.ReadMemStats(&before)
	z, err := p.Freeze()
	runtime.ReadMemStats(&after)
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(one))/8 {
		t.Errorf("with the lock held %d bytes of %d are copied", n, len(want))
	}
	var got []byte
	for i := 0; ; i++ {
		piece, _ := z.Next(make([]byte, 64<<10))
		if len(piece) == 0 {
			break
		}
		got = append(got, piece...)
		switch i {
		case 2:
			add(hashes(1000)...)
		case 4: // the union is being read: it loses bits
			put("b", 2, one, len(one))
		case 40:
			put("a", 2, two, len(two))
		}
	}
	if z.Size() != int64(len(got)) || !bytes.Equal(got, want) {
		t.Errorf("a copy of %d bytes, %d were promised, and it is not that of before, of %d", len(got), z.Size(), len(want))
	}
	p.Lock()
	err = z.Close()
	p.Unlock()
	if err != nil || s.Copied() != 0 {
		t.Errorf("%d bytes are counted of a copy that has ended: %v", s.Copied(), err)
	}
}

// TestFreezeOfDrafts freezes what a rebuild and a load have so far: both are read while more comes.
func TestFreezeOfDrafts(t *testing.T) {
	t.Run("load", func(t *testing.T) {
		s := store.New()
		file := sourceFile(t, 1_000_000, hashes(1000)...)
		e := apply(t, s, store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{})}}).Entry
		half := len(file) / 2
		put := func(from, to int) {
			t.Helper()
			if res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterPiece{Offset: int64(from), Of: uint64(len(file)), Data: file[from:to]}}); res.Err != nil {
				t.Fatal(res.Err)
			}
		}
		put(0, half)
		p := contents.PartOf(e)
		want, _ := copied(t, s, p)
		z, err := p.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		put(half, len(file))
		if s.Copied() < int64(len(file)) {
			t.Errorf("%d bytes are counted of a load that only the copy needs", s.Copied())
		}
		var got []byte
		for more := true; more; {
			piece, _ := z.Next(make([]byte, 64<<10))
			got = append(got, piece...)
			more = len(piece) > 0
		}
		if !bytes.Equal(got, want) || z.Close() != nil || s.Copied() != 0 {
			t.Errorf("a copy of %d bytes, want %d; %d bytes are counted when it has ended", len(got), len(want), s.Copied())
		}
	})
}

// TestWriteLargeAtOnce writes a large filter while others add to it, and one of them removes it: what is
// written is the filter of some moment, whole.
func TestWriteLargeAtOnce(t *testing.T) {
	outline, err := codec.AppendOutline(nil, bloom.NewScalable(600_000, 0.001))
	if err != nil {
		t.Fatal(err)
	}
	s := store.New()
	e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("f"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
	rng := rand.New(rand.NewPCG(3, 4))
	batch := func() []uint64 {
		hs := make([]uint64, 1000)
		for i := range hs {
			hs[i] = rng.Uint64()
		}
		return hs
	}
	first := batch()
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: first}})
	p := contents.PartOf(e)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 3 {
				var w bytes.Buffer
				if ok, err := p.WriteLarge(&w, false); !ok || err != nil {
					t.Error("nothing was written:", ok, err)
					return
				}
				f, err := codec.Config{}.Open(w.Bytes())
				if err != nil {
					t.Error(err)
					return
				}
				for _, h := range first {
					if !f.ContainsHash(h) {
						t.Error("a key is missing")
						return
					}
				}
			}
		})
	}
	for range 200 {
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: batch()}})
	}
	wg.Wait()
	apply(t, s, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("f")}}})
	if ok, _ := p.WriteLarge(io.Discard, false); ok {
		t.Error("a filter that is gone was written")
	}
}
