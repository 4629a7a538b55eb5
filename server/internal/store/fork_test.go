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
	add(hs[100_000:])
	for next() {
	}
	if int64(len(got)) != z.Size() || !bytes.HasSuffix(got, want) {
		t.Errorf("a copy of %d bytes, %d were promised and %d are the filter: it is another", len(got), z.Size(), len(want))
	}
	if err := z.Close(); err != nil {
		t.Error(err)
	}
	f := p.Fork()
	if f == nil || f.Stats().Items != uint64(len(hs)) {
		t.Errorf("Fork() = %v", f)
	}
}

// TestFreezeOfBits freezes large filters whose keys set bits: little is copied with the lock held, and
// what is read meanwhile is the filter of before, whatever is done to it.
func TestFreezeOfBits(t *testing.T) {
	hs, rng := make([]uint64, 400_000), rand.New(rand.NewPCG(1, 2))
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
	} {
		for how, then := range map[string]func(t *testing.T, s *store.State, e *catalog.Entry){
			"added to": func(*testing.T, *store.State, *catalog.Entry) {},
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
				add(hs[:200_000])
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
				add(hs[200_000:])
				if z.Saved() == 0 {
					t.Error("nothing was put aside")
				}
				next()
				then(t, s, e)
				for next() {
				}
				if int64(len(got)) != z.Size() || !bytes.HasSuffix(got, want) {
					t.Errorf("a copy of %d bytes, %d were promised and %d are the filter: it is another", len(got), z.Size(), len(want))
				}
				p.Lock()
				err = z.Close()
				p.Unlock()
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
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
