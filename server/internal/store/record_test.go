package store_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// records has one record of every operation.
var records = []store.Record{
	{At: 5, Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2, NonScaling: true}}},
	{At: 5, Body: &store.MakeCuckoo{Name: []byte("k"), Params: redisbloom.CuckooParams{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}}},
	{At: 5, Body: &store.Make{As: store.OpBloomDump, Name: []byte("k"), Header: []byte("header")}},
	{At: 5, Body: &store.Make{As: store.OpCuckooDump, Name: []byte("k"), Header: []byte("header")}},
	{At: -1, Body: &store.Remove{Names: [][]byte{[]byte("a"), []byte("b")}}},
	{At: 5, Body: &store.Rename{From: []byte("a"), To: []byte("b"), If: store.IfAbsent}},
	{At: 5, Body: &store.Expire{Name: []byte("a"), Deadline: 1 << 40, If: store.IfLater}},
	{At: 5, Body: &store.Persist{Name: []byte("a")}},
	{At: 5, Body: &store.Evict{IDs: []uint64{1, 1 << 60}}},
	{At: 5, Body: &store.Flush{}},
	{At: 5, Body: &store.Set{String: store.String{Name: []byte("a"), Value: []byte("v")}, Deadline: 9, If: store.KeepTTL}},
	{At: 5, Body: &store.Append{String: store.String{Name: []byte("a"), Value: []byte("v")}}},
	{At: 5, Body: &store.SetRange{String: store.String{Name: []byte("a"), Value: []byte("v")}, Offset: 3}},
	{At: 5, Body: &store.Increment{Name: []byte("a"), By: -3}},
	{At: 5, Body: &store.SetMany{Pairs: [][]byte{[]byte("a"), []byte("1"), []byte("b"), {}}}},
	{At: 5, Body: &store.Take{Name: []byte("a")}},
	{At: 5, Body: &store.Touch{Name: []byte("a"), Deadline: 1 << 40}},
	{At: 5, Body: &store.Expect{ID: 7, Name: []byte("a"), Deadline: 1 << 40}},
	{ID: 7, Index: 3, Body: &store.ExpectPart{Version: 1 << 40}},
	{ID: 7, Index: 1, Body: &store.BloomAdd{Room: store.Unlimited, Digests: []redisbloom.Digest{{A: 1, B: 1<<64 - 1}}}},
	{ID: 7, Body: &store.BloomAdd{Room: 0, Digests: []redisbloom.Digest{{A: 1, B: 2}, {A: 3, B: 4}}}},
	{ID: 7, Body: &store.CuckooInsert{Room: 100, MaxFilters: 32, Hashes: []uint64{1, 2}}},
	{ID: 7, Body: &store.CuckooInsert{New: true, Room: 100, MaxFilters: 32, Hashes: []uint64{1, 2}}},
	{ID: 7, Body: &store.CuckooDelete{Hashes: []uint64{1}}},
	{ID: 7, Body: &store.CuckooDelete{Lazily: true, Steps: 1 << 14, Hashes: []uint64{1}}},
	{ID: 7, Body: &store.CuckooInsert{Way: store.First, Room: 9, MaxFilters: 32, Hashes: []uint64{1, 2}}},
	{ID: 7, Body: &store.CuckooInsert{New: true, Way: store.First, Room: store.Unlimited, Hashes: []uint64{3}}},
	{ID: 7, Body: &store.CuckooCompactPiece{Slot: 1 << 40, Slots: 4096, Filter: 3}},
	{ID: 7, Origin: store.Origin{Session: 3, Counter: 4}, Body: &store.CuckooCompact{}},
	{ID: 7, Body: &store.BloomChunk{Position: 17, Data: []byte("data")}},
	{ID: 7, Body: &store.CuckooChunk{Position: 17, Data: []byte("data")}},
	{Body: &store.Piece{Value: []byte("piece")}},
	{Body: &store.Seed{Seed: 1 << 63}},
	{At: 5, Body: &store.Make{As: store.OpCountMin, Name: []byte("k"), Header: []byte("header")}},
	{At: 5, Body: &store.Make{As: store.OpTopK, Name: []byte("k"), Header: []byte("header")}},
	{At: 5, Body: &store.Make{As: store.OpTDigest, Name: []byte("k"), Header: []byte("header")}},
	{At: 5, Body: &store.CountMinMerge{Name: []byte("k"), Sources: [][]byte{[]byte("a"), []byte("b")}, Weights: []int64{1, -2}}},
	{At: 5, Body: &store.TDigestMerge{Name: []byte("k"), Sources: [][]byte{[]byte("a")}, Compression: 100, Override: true}},
	{ID: 7, Body: &store.CountMinIncr{Items: []byte("items")}},
	{ID: 7, Body: &store.CountMinChunk{Position: 9, Total: 1 << 63, Cells: []byte("cells")}},
	{ID: 7, Body: &store.TopKIncr{Items: []byte("items")}},
	{ID: 7, Body: &store.TopKChunk{Position: 9, Data: []byte("cells")}},
	{ID: 7, Body: &store.TDigestAdd{Values: []byte("values")}},
	{ID: 7, Body: &store.TDigestChunk{Waiting: true, Nodes: []byte("nodes")}},
	{ID: 7, Body: &store.TDigestCompress{}},
	{ID: 7, Body: &store.TDigestBegin{Header: []byte("header")}},
	{ID: 7, Index: 2, Body: &store.FilterGrow{Equal: true, Rate: 1 << 62}},
	{ID: 7, Index: 2, Body: &store.FilterFold{}},
	{ID: 7, Index: 2, Body: &store.FilterFold{Bits: 1 << 30}},
	{ID: 7, Index: 2, Body: &store.FilterGrow{Rate: 1 << 62}},
	{At: 5, Body: &store.ShadowOpen{Of: 7, Name: []byte("k"), Header: []byte("plan")}},
	{At: 5, Body: &store.ShadowSeal{ID: 8}},
	{At: 5, Body: &store.ShadowSwap{ID: 8, Name: []byte("k"), Of: 7, Sums: []uint64{1 << 31}}},
	{ID: 8, Index: 1, Body: &store.ShadowAdd{Fed: true, Room: store.Unlimited, Hashes: []uint64{1, 2}}},
	{ID: 8, Index: 1, Body: &store.ShadowAdd{Room: 9, Hashes: []uint64{1, 2}}},
	{ID: 8, Index: 1, Body: &store.ShadowBreak{}},
	{ID: 8, Index: 1, Body: &store.ShadowMissed{Items: 17}},
	{At: 5, Body: &store.Stage{As: store.OpBloomDump, Header: []byte("header")}},
	{At: 5, Body: &store.Reveal{ID: 8, Name: []byte("k"), Deadline: 1 << 40, If: store.IfAbsent}},
	{ID: 7, Index: 1, Body: &store.CuckooInsert{Way: store.Each, Room: 100, MaxFilters: 32, Hashes: []uint64{1, 2}}},
	{ID: 7, Index: 1, Body: &store.CuckooInsert{New: true, Way: store.Each, Room: 100, MaxFilters: 32, Hashes: []uint64{1, 2}}},
	{At: 5, Body: &store.Make{As: store.OpFilter, Name: []byte("k"), Header: []byte("plan")}},
	{At: 5, Body: &store.Make{As: store.OpLayers, Name: []byte("k"), Header: []byte("layers")}},
	{At: 5, Body: &store.Make{As: store.OpFilterLoad, Name: []byte("k"), Header: []byte("plan")}},
	{ID: 7, Index: 3, Body: &store.FilterAdd{Room: 9, Hashes: []uint64{1, 2}}},
	{ID: 7, Index: 3, Body: &store.FilterDelete{Hashes: []uint64{1, 2}}},
	{ID: 7, Index: 3, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: 3, At: 1 << 41, Offset: 1 << 20, Of: 1 << 21, Data: []byte("piece")}, Known: 9}},
	{ID: 7, Index: 3, Body: &store.FilterGone{Hashes: []uint64{1, 2}}},
	{ID: 7, Index: 3, Body: &store.FilterSet{News: 1 << 20}},
	{ID: 7, Index: 3, Body: &store.FilterAdvance{Generation: 1 << 50}},
	{ID: 7, Index: 3, Body: &store.FilterClear{Outline: []byte("outline")}},
	{ID: 7, Index: 3, Body: &store.FilterPiece{Offset: 1 << 20, Of: 1 << 21, Data: []byte("piece")}},
	{ID: 7, Index: 3, Body: &store.FilterUnion{Offset: 1 << 20, Data: []byte("bits")}},
	{ID: 7, Index: 3, Body: &store.FilterAdd{Room: 9, Hashes: []uint64{1, 2}, Known: 8}},
	{ID: 7, Index: 3, Body: &store.FilterUnion{Offset: 1 << 20, Data: []byte("bits"), Known: 8}},
	{ID: 7, Index: 3, Body: &store.FilterMark{Number: 1 << 40}},
	{ID: 8, Index: 1, Body: &store.ShadowAdd{Fed: true, Room: store.Unlimited, Hashes: []uint64{1, 2}, Shared: true, Ended: 3}},
	{ID: 8, Index: 1, Body: &store.ShadowAdd{Room: 9, Hashes: []uint64{1, 2}, Shared: true, Ended: 3}},
	{ID: 8, Index: 1, Body: &store.RebuildSeal{Attempt: 4}},
	{At: 5, Body: &store.ShadowOpen{Of: 7, Name: []byte("k"), Header: []byte("plan"), Shared: true}},
	{At: 5, Body: &store.RebuildStep{ID: 8, What: store.StepEnd, Attempt: 4}},
	{At: 5, Body: &store.RebuildSwap{ID: 8, Attempt: 4}},
	{At: 5, Body: &store.Birth{ID: 1<<64 - 1, Seed: 5, Lanes: 8}},
	{At: 5, Body: &store.Join{Name: []byte("a"), Addr: []byte("host:6379"), Nonce: -5, Level: 1}},
	{At: 5, Body: &store.Leave{Node: 3}},
	{At: 5, Body: &store.Session{Node: 3, Nonce: -5, Last: 17}},
	{At: 5, Body: &store.Level{Level: 2}},
	{At: 5, Body: &store.Found{ID: 1<<64 - 1}},
	{At: 5, Body: &store.Stage{As: store.OpBloomDump, Header: []byte("header"), Placed: true, Base: 1023}},
	{At: 5, Body: &store.Reveal{ID: 8, Name: []byte("k"), Deadline: 1 << 40, If: store.IfAbsent, Whole: true}},
	{At: 5, Body: &store.Leave{Forced: true, Node: 3}},
	{At: 5, Body: &store.Session{Empty: true, Node: 3, Nonce: -5, Last: 17}},
	{At: 5, Body: &store.ShardCopies{Copies: 3, Settings: 1 << 40}},
	{At: 5, Body: &store.ShardPause{Paused: true, Settings: 7}},
	{At: 5, Body: &store.Weight{Node: 3, Weight: 48, Settings: 8}},
	{At: 5, Body: &store.ShardLearn{Node: 3, Shard: 1023, Version: 1 << 40}},
	{At: 5, Body: &store.ShardHold{Node: 3, Shard: 1023, Since: 1 << 40}},
	{At: 5, Body: &store.ShardCancel{Node: 3, Shard: 1023, Since: 1 << 40}},
	{At: 5, Body: &store.ShardRetire{Node: 3, Shard: 1023, Version: 1 << 40}},
	{At: 5, Body: &store.ShardFree{Node: 3, Shard: 1023, Since: 1 << 40}},
	{At: 5, Body: &store.Behind{Node: 3, Session: 9, Changes: 1 << 40}},
	{Body: &store.Begin{}},
	{Body: &store.Commit{}},
	{Body: &store.Rollback{}},
}

// TestRecordsAreOfAllOperations asks that no row of the table lacks a record above.
func TestRecordsAreOfAllOperations(t *testing.T) {
	seen := map[store.Op]bool{}
	for _, r := range records {
		seen[r.Op()] = true
	}
	for _, op := range store.Operations() {
		if !seen[op] {
			t.Errorf("no record of %v", op)
		}
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	var all []byte
	for _, r := range records {
		all = store.AppendRecord(all, &r)
	}
	for _, want := range records {
		var got store.Record
		n, err := got.Decode(all)
		if err != nil {
			t.Fatalf("operation %d: %v", want.Op(), err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("operation %d:\n got %+v\nwant %+v", want.Op(), got, want)
		}
		all = all[n:]
	}
	if len(all) != 0 {
		t.Errorf("%d bytes left", len(all))
	}
}

func TestRecordsCutShort(t *testing.T) {
	for _, r := range records {
		b := store.AppendRecord(nil, &r)
		if len(b) > r.Bound() {
			t.Errorf("operation %d has %d bytes, more than its bound, %d", r.Op(), len(b), r.Bound())
		}
		for n := range b {
			if _, err := new(store.Record).Decode(b[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("operation %d cut to %d of %d bytes: %v, want %v", r.Op(), n, len(b), err, bloomery.ErrCorrupt)
			}
		}
	}
	odd := store.AppendRecord(nil, &store.Record{Body: &store.SetMany{Pairs: [][]byte{[]byte("a"), []byte("1"), []byte("b")}}})
	if _, err := new(store.Record).Decode(odd); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a name without a value: %v, want %v", err, bloomery.ErrCorrupt)
	}
	for _, b := range [][]byte{{9, 1}, {1, 200, 0, 0}, {1, 0}} {
		if _, err := new(store.Record).Decode(b); !errors.Is(err, bloomery.ErrVersion) || errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("another version or operation: %v, want %v", err, bloomery.ErrVersion)
		}
	}
}

// TestGone asks that a record for a filter that is gone says so.
func TestGone(t *testing.T) {
	s := store.New()
	var res store.Result
	s.Names.Lock()
	defer s.Names.Unlock()
	store.Apply(s, &store.Record{Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}}}, nil, &res)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	res.Release()
	part, id := contents.PartOf(res.Entry), res.Entry.ID
	store.Apply(s, &store.Record{Body: &store.Remove{Names: [][]byte{[]byte("k")}}}, nil, &res)
	if res.N != 1 || s.Bytes() != 0 {
		t.Errorf("removed %d, %d bytes left, want 1 and 0", res.N, s.Bytes())
	}
	add := store.Record{ID: id, Body: &store.BloomAdd{Room: store.Unlimited, Digests: []redisbloom.Digest{{A: 1, B: 2}}}}
	for _, p := range []*contents.Part{part, nil} {
		if store.Apply(s, &add, p, &res); !errors.Is(res.Err, contents.ErrRetry) {
			t.Errorf("a record for a filter that is gone: %v, want %v", res.Err, contents.ErrRetry)
		}
	}
}

// TestExpectations asks that conditions of a group hold while nothing has changed, and
// that they change nothing themselves.
func TestExpectations(t *testing.T) {
	s := store.New()
	s.Names.Lock()
	defer s.Names.Unlock()
	apply := func(r store.Record) store.Result {
		var res store.Result
		store.Apply(s, &r, nil, &res)
		res.Release()
		return res
	}
	name := func(n string) []byte { return []byte(n) }
	apply(store.Record{At: 1, Body: &store.Set{String: store.String{Name: name("s"), Value: name("v")}, Deadline: 100}})
	f := apply(store.Record{At: 1, Body: &store.MakeBloom{Name: name("f"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}}}).Entry
	id := s.Names.Get(name("s")).ID
	before := string(s.AppendSnapshot(nil))
	expect := func(at int64, n string, id uint64, deadline int64) store.Record {
		return store.Record{At: at, Body: &store.Expect{Name: name(n), ID: id, Deadline: deadline}}
	}
	part := func(version uint64) store.Record {
		return store.Record{ID: f.ID, Body: &store.ExpectPart{Version: version}}
	}
	for _, tt := range []struct {
		r    store.Record
		want error
	}{
		{expect(50, "s", id, 100), nil},
		{expect(100, "s", id, 100), store.ErrCondition}, // it has expired by then
		{expect(100, "s", 0, 0), nil},
		{expect(50, "s", id, 101), store.ErrCondition},
		{expect(50, "s", id+9, 100), store.ErrCondition},
		{expect(50, "f", f.ID, 0), nil},
		{expect(50, "none", 0, 0), nil},
		{expect(50, "none", 7, 0), store.ErrCondition},
		{part(0), nil},
		{part(1), store.ErrCondition},
		{store.Record{ID: 99, Body: &store.ExpectPart{}}, contents.ErrRetry},
	} {
		if res := apply(tt.r); !errors.Is(res.Err, tt.want) || res.Changed {
			t.Errorf("%+v = %v, changed: %v, want %v", tt.r, res.Err, res.Changed, tt.want)
		}
	}
	if string(s.AppendSnapshot(nil)) != before {
		t.Error("a condition has changed the state")
	}
	apply(store.Record{ID: f.ID, Body: &store.BloomAdd{Room: store.Unlimited, Digests: []redisbloom.Digest{{A: 1, B: 2}}}})
	if res := apply(part(0)); !errors.Is(res.Err, store.ErrCondition) {
		t.Errorf("an old version = %v", res.Err)
	}
	if res := apply(part(1)); res.Err != nil {
		t.Errorf("the present version = %v", res.Err)
	}
}

// TestEffectsAreCut asks that what is logged has no record longer than allowed.
func TestEffectsAreCut(t *testing.T) {
	var f store.Effect
	chunk := store.Record{ID: 1, Body: &store.BloomChunk{Position: 5<<20 + 1, Data: make([]byte, 5<<20)}}
	f.Add(&chunk, &store.Result{Outcome: contents.Outcome{Changed: true}})
	const n = 200_000
	add := store.Record{ID: 1, Body: &store.BloomAdd{Digests: make([]redisbloom.Digest, n)}}
	res := store.Result{Outcome: contents.Outcome{Changed: true, Done: n, Bools: make([]bool, n)}}
	for i := range res.Bools {
		res.Bools[i] = i%2 == 0
	}
	f.Add(&add, &res)
	written, digests := 0, 0
	for b, _ := f.Take(); len(b) > 0; {
		var r store.Record
		n, err := r.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if n > store.MaxRecord {
			t.Errorf("a record of %d bytes, want at most %d", n, store.MaxRecord)
		}
		switch o := r.Body.(type) {
		case *store.BloomChunk:
			if written += len(o.Data); o.Position != int64(written)+1 {
				t.Errorf("a piece up to byte %d has position %d", written, o.Position)
			}
		case *store.BloomAdd:
			digests += len(o.Digests)
		}
		b = b[n:]
	}
	if written != 5<<20 || digests != 100_000 {
		t.Errorf("%d bytes and %d digests, want %d and 100000", written, digests, 5<<20)
	}
}

// FuzzDecodeRecord asks that what is understood is written as it was read.
func FuzzDecodeRecord(f *testing.F) {
	for _, r := range records {
		f.Add(store.AppendRecord(nil, &r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r store.Record
		n, err := r.Decode(data)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatalf("error %v wraps neither cause", err)
			}
			return
		}
		if n > len(data) {
			t.Fatalf("took %d of %d bytes", n, len(data))
		}
		var again store.Record
		b := store.AppendRecord(nil, &r)
		if _, err := again.Decode(b); err != nil || !bytes.Equal(store.AppendRecord(nil, &again), b) {
			t.Fatalf("again: %+v, %v, want %+v", again, err, r)
		}
	})
}
