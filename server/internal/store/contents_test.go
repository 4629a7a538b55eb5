package store_test

import (
	"bytes"
	"encoding"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// filled is one filter of every kind, and a record that fills it.
var filled = []struct {
	name         string
	kind         catalog.Kind
	create, fill store.Record
	foreign      store.Body // a record of another kind
}{
	{
		name: "MBbloom--", kind: catalog.Bloom,
		create:  store.Record{Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000, Expansion: 2}}},
		fill:    store.Record{Body: &store.BloomAdd{Room: store.Unlimited, Digests: digests(3000)}},
		foreign: &store.CuckooInsert{},
	},
	{
		name: "MBbloomCF", kind: catalog.Cuckoo,
		create:  store.Record{Body: &store.MakeCuckoo{Name: []byte("k"), Params: redisbloom.CuckooParams{Capacity: 1000, BucketSize: 2, MaxIterations: 20, Expansion: 1}}},
		fill:    store.Record{Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: hashes(3000)}},
		foreign: &store.BloomAdd{},
	},
}

func digests(n int) []redisbloom.Digest {
	ds := make([]redisbloom.Digest, n)
	for i := range ds {
		ds[i] = redisbloom.BloomDigest([]byte{byte(i), byte(i >> 8)})
	}
	return ds
}

func hashes(n int) []uint64 {
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = redisbloom.CuckooDigest([]byte{byte(i), byte(i >> 8)})
	}
	return hs
}

// apply applies a record and returns what came of it, with everything unlocked.
func apply(t *testing.T, s *store.State, r store.Record) store.Result {
	t.Helper()
	var res store.Result
	if r.Part() {
		p := contents.PartAt(s.Names.ByID(r.ID), r.Index)
		p.Lock()
		store.Apply(s, &r, p, &res)
		p.Unlock()
		res.Await()
		return res
	}
	s.Names.Lock()
	defer s.Names.Unlock()
	store.Apply(s, &r, nil, &res)
	res.Release()
	return res
}

// TestContents holds every kind to what Contents promises.
func TestContents(t *testing.T) {
	for _, k := range filled {
		t.Run(k.name, func(t *testing.T) {
			s := store.New()
			want, err := store.NewBytes(k.create.Body)
			if err != nil {
				t.Fatal(err)
			}
			res := apply(t, s, k.create)
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			c := contents.PartOf(res.Entry).Contents()
			if got := c.Bytes(); got != want {
				t.Errorf("%d bytes, NewBytes said %d", got, want)
			}
			if c.Kind() != k.kind || !contents.Known(k.kind) || contents.TypeName(k.kind) != k.name {
				t.Errorf("kind %d named %q, want %d and %q", c.Kind(), contents.TypeName(c.Kind()), k.kind, k.name)
			}
			bound, _ := c.Growth(3000)
			before := s.Bytes()
			k.fill.ID = res.Entry.ID
			if res := apply(t, s, k.fill); res.Err != nil || !res.Changed {
				t.Fatalf("fill: %v, changed %v", res.Err, res.Changed)
			}
			grown := c.Bytes() - want
			if grown == 0 || grown > bound || s.Bytes()-before != int64(grown) {
				t.Errorf("grown by %d bytes, the state counts %d, Growth allowed %d", grown, s.Bytes()-before, bound)
			}
			if items := c.Stats().Items; items < 2900 || items > 3000 {
				t.Errorf("%v items, want about 3000", items)
			}
			if res := apply(t, s, store.Record{ID: k.fill.ID, Body: k.foreign}); !errors.Is(res.Err, contents.ErrType) {
				t.Errorf("a record of another kind: %v, want %v", res.Err, contents.ErrType)
			}
			again := reload(t, s, c)
			if !bytes.Equal(dump(again), dump(c)) {
				t.Error("contents that were frozen and loaded differ")
			}
		})
	}
}

// TestLoaderOfAnotherKind asks that contents are not taken for another kind.
func TestLoaderOfAnotherKind(t *testing.T) {
	for i, k := range filled {
		s := store.New()
		c := contents.PartOf(apply(t, s, k.create).Entry).Contents()
		first, rest, size := freeze(t, c)
		other := filled[1-i].kind
		l, err := s.NewLoader(other, first, size)
		if err == nil {
			for _, p := range rest {
				if err == nil {
					err = l.Put(p.data, p.off)
				}
			}
			if err == nil {
				_, err = l.Done()
			}
		}
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s loaded as kind %d: %v, want %v", k.name, other, err, bloomery.ErrCorrupt)
		}
	}
	if _, err := store.New().NewLoader(99, nil, 0); !errors.Is(err, bloomery.ErrVersion) {
		t.Errorf("an unknown kind: %v, want %v", err, bloomery.ErrVersion)
	}
}

type piece struct {
	data []byte
	off  int64
}

func freeze(t *testing.T, c contents.Contents) (first []byte, rest []piece, size int64) {
	t.Helper()
	f, err := c.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for {
		data, off := f.Next(make([]byte, 4<<10))
		if len(data) == 0 {
			return first, rest, f.Size()
		}
		if off == 0 {
			first = data
			continue
		}
		rest = append(rest, piece{data, off})
	}
}

func reload(t *testing.T, s *store.State, c contents.Contents) contents.Contents {
	t.Helper()
	first, rest, size := freeze(t, c)
	l, err := s.NewLoader(c.Kind(), first, size)
	for _, p := range rest {
		if err == nil {
			err = l.Put(p.data, p.off)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err = l.Done()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dump(c contents.Contents) []byte {
	b := c.AppendHeader(nil)
	for iter := int64(1); iter != 0; {
		var chunk []byte
		iter, chunk = c.ScanDump(iter)
		b = append(b, chunk...)
	}
	return b
}

// TestBoundHolds checks that no encoding is longer than its bound, and that the number
// of a whole union, which logs have, stays.
func TestBoundHolds(t *testing.T) {
	long := bytes.Repeat([]byte("n"), 1000)
	for _, r := range []store.Record{
		{ID: 1, Body: &store.BloomAdd{Room: store.Unlimited, Digests: digests(100)}},
		{ID: 1, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: hashes(100)}},
		{Body: &store.Rename{From: []byte("a"), To: long}},
		{Body: &store.Set{String: store.String{Name: long, Value: long}}},
		{Body: &store.Evict{IDs: ids(1, 100)}},
		{Body: &store.Remove{Names: [][]byte{long, long}}},
	} {
		if n := len(store.AppendRecord(nil, &r)); n > r.Bound() {
			t.Errorf("operation %d has %d bytes, the bound is %d", r.Op(), n, r.Bound())
		}
	}
	if contents.WholeUnion != -1 {
		t.Errorf("the position of a whole union is %d, want -1", contents.WholeUnion)
	}
}

// TestLookHasTheSize checks that a look at a filter shows its memory, however small.
func TestLookHasTheSize(t *testing.T) {
	for _, capacity := range []int{10, 1000, 100_000} {
		s := store.New()
		p := contents.PartOf(apply(t, s, creation(t, capacity, 0)).Entry)
		l, ok := p.Look(true)
		size, sized := p.Size(true)
		data, err := p.Filter().(encoding.BinaryMarshaler).MarshalBinary()
		if !ok || !sized || err != nil || l.Bytes != size || l.Bytes < uint64(len(data))/2 {
			t.Errorf("capacity %d: a look shows %d bytes, the size is %d, the encoding %d: %v", capacity, l.Bytes, size, len(data), err)
		}
	}
}
