package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/store"
)

// records has one record of every operation.
var records = []store.Record{
	{Op: store.OpBloom, At: 5, Name: []byte("k"), Bloom: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2, NonScaling: true}},
	{Op: store.OpCuckoo, At: 5, Name: []byte("k"), Cuckoo: redisbloom.CuckooParams{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}},
	{Op: store.OpBloomDump, At: 5, Name: []byte("k"), Value: []byte("header")},
	{Op: store.OpCuckooDump, At: 5, Name: []byte("k"), Value: []byte("header")},
	{Op: store.OpRemove, At: -1, Names: [][]byte{[]byte("a"), []byte("b")}},
	{Op: store.OpRename, At: 5, Name: []byte("a"), Other: []byte("b"), Flags: store.IfAbsent},
	{Op: store.OpExpire, At: 5, Name: []byte("a"), Deadline: 1 << 40, Flags: store.IfLater},
	{Op: store.OpPersist, At: 5, Name: []byte("a")},
	{Op: store.OpEvict, At: 5, IDs: []uint64{1, 1 << 60}},
	{Op: store.OpFlush, At: 5},
	{Op: store.OpSet, At: 5, Name: []byte("a"), Value: []byte("v"), Deadline: 9, Flags: store.KeepTTL},
	{Op: store.OpAppend, At: 5, Name: []byte("a"), Value: []byte("v")},
	{Op: store.OpSetRange, At: 5, Name: []byte("a"), Value: []byte("v"), Position: 3},
	{Op: store.OpIncrement, At: 5, Name: []byte("a"), Position: -3},
	{Op: store.OpSetMany, At: 5, Names: [][]byte{[]byte("a"), []byte("1"), []byte("b"), {}}},
	{Op: store.OpTake, At: 5, Name: []byte("a")},
	{Op: store.OpTouch, At: 5, Name: []byte("a"), Deadline: 1 << 40},
	{Op: store.OpExpect, At: 5, ID: 7, Name: []byte("a"), Deadline: 1 << 40},
	{Op: store.OpExpectPart, ID: 7, Index: 3, Limit: 1 << 40},
	{Op: store.OpAdd, ID: 7, Index: 1, Room: store.Unlimited, Digests: []redisbloom.Digest{{A: 1, B: 1<<64 - 1}}},
	{Op: store.OpAdd, ID: 7, Room: 0, Digests: []redisbloom.Digest{{A: 1, B: 2}, {A: 3, B: 4}}},
	{Op: store.OpInsert, ID: 7, Room: 100, Limit: 32, Hashes: []uint64{1, 2}},
	{Op: store.OpInsertNew, ID: 7, Room: 100, Limit: 32, Hashes: []uint64{1, 2}},
	{Op: store.OpDelete, ID: 7, Hashes: []uint64{1}},
	{Op: store.OpDeleteLazily, ID: 7, Limit: 1 << 14, Hashes: []uint64{1}},
	{Op: store.OpInsertFirst, ID: 7, Room: 9, Limit: 32, Hashes: []uint64{1, 2}},
	{Op: store.OpInsertNewFirst, ID: 7, Room: store.Unlimited, Hashes: []uint64{3}},
	{Op: store.OpCompactPiece, ID: 7, Position: 1 << 40, Room: 4096, Limit: 3},
	{Op: store.OpCompact, ID: 7, Origin: store.Origin{Session: 3, Counter: 4}},
	{Op: store.OpBloomChunk, ID: 7, Position: 17, Value: []byte("data")},
	{Op: store.OpCuckooChunk, ID: 7, Position: 17, Value: []byte("data")},
	{Op: store.OpPiece, Value: []byte("piece")},
	{Op: store.OpSeed, Position: -1 << 63},
	{Op: store.OpCountMin, At: 5, Name: []byte("k"), Value: []byte("header")},
	{Op: store.OpTopK, At: 5, Name: []byte("k"), Value: []byte("header")},
	{Op: store.OpTDigest, At: 5, Name: []byte("k"), Value: []byte("header")},
	{Op: store.OpCountMinMerge, At: 5, Name: []byte("k"), Names: [][]byte{[]byte("a"), []byte("b")}, Value: []byte{2, 3}},
	{Op: store.OpTDigestMerge, At: 5, Name: []byte("k"), Names: [][]byte{[]byte("a")}, Position: 100, Flags: store.Override},
	{Op: store.OpCountMinIncr, ID: 7, Value: []byte("items")},
	{Op: store.OpCountMinChunk, ID: 7, Position: 9, Limit: 1 << 63, Value: []byte("cells")},
	{Op: store.OpTopKIncr, ID: 7, Value: []byte("items")},
	{Op: store.OpTopKChunk, ID: 7, Position: 9, Value: []byte("cells")},
	{Op: store.OpTDigestAdd, ID: 7, Value: []byte("values")},
	{Op: store.OpTDigestChunk, ID: 7, Flags: 1, Value: []byte("nodes")},
	{Op: store.OpCompress, ID: 7},
	{Op: store.OpTDigestBegin, ID: 7, Value: []byte("header")},
	{Op: store.OpFilterGrow, ID: 7, Index: 2, Position: 1 << 62},
	{Op: store.OpFilterFold, ID: 7, Index: 2},
	{Op: store.OpFilterScale, ID: 7, Index: 2, Position: 1 << 62},
	{Op: store.OpShadow, At: 5, ID: 7, Name: []byte("k"), Value: []byte("plan")},
	{Op: store.OpShadowSeal, At: 5, ID: 8},
	{Op: store.OpShadowSwap, At: 5, ID: 8, Name: []byte("k"), IDs: []uint64{7, 1 << 31}},
	{Op: store.OpShadowFeed, ID: 8, Index: 1, Room: store.Unlimited, Hashes: []uint64{1, 2}},
	{Op: store.OpShadowAdd, ID: 8, Index: 1, Room: 9, Hashes: []uint64{1, 2}},
	{Op: store.OpShadowBreak, ID: 8, Index: 1},
	{Op: store.OpShadowMissed, ID: 8, Index: 1, Position: 17},
	{Op: store.OpStage, At: 5, Flags: uint8(store.OpBloomDump), Value: []byte("header")},
	{Op: store.OpReveal, At: 5, ID: 8, Name: []byte("k"), Deadline: 1 << 40, Flags: store.IfAbsent},
	{Op: store.OpInsertEach, ID: 7, Index: 1, Room: 100, Limit: 32, Hashes: []uint64{1, 2}},
	{Op: store.OpInsertNewEach, ID: 7, Index: 1, Room: 100, Limit: 32, Hashes: []uint64{1, 2}},
	{Op: store.OpFilter, At: 5, Name: []byte("k"), Value: []byte("plan")},
	{Op: store.OpFilterLoad, At: 5, Name: []byte("k"), Value: []byte("plan")},
	{Op: store.OpFilterAdd, ID: 7, Index: 3, Room: 9, Hashes: []uint64{1, 2}},
	{Op: store.OpFilterDelete, ID: 7, Index: 3, Hashes: []uint64{1, 2}},
	{Op: store.OpFilterAdvance, ID: 7, Index: 3, Position: 1 << 50},
	{Op: store.OpFilterClear, ID: 7, Index: 3, Value: []byte("outline")},
	{Op: store.OpFilterPiece, ID: 7, Index: 3, Position: 1 << 20, Limit: 1 << 21, Value: []byte("piece")},
	{Op: store.OpFilterUnion, ID: 7, Index: 3, Position: 1 << 20, Value: []byte("bits")},
	{Op: store.OpBirth, At: 5, ID: 1<<64 - 1, Position: -5, Limit: 8},
	{Op: store.OpJoin, At: 5, Name: []byte("a"), Other: []byte("host:6379"), Position: -5, Limit: 1},
	{Op: store.OpLeave, At: 5, ID: 3},
	{Op: store.OpSession, At: 5, ID: 3, Position: -5, Limit: 17},
	{Op: store.OpLevel, At: 5, Limit: 2},
	{Op: store.OpBegin},
	{Op: store.OpCommit},
}

func TestRecordsRoundTrip(t *testing.T) {
	var all []byte
	for _, r := range records {
		all = store.AppendRecord(all, &r)
	}
	for _, want := range records {
		got, n, err := store.DecodeRecord(all)
		if err != nil {
			t.Fatalf("operation %d: %v", want.Op, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("operation %d:\n got %+v\nwant %+v", want.Op, got, want)
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
			t.Errorf("operation %d has %d bytes, more than its bound, %d", r.Op, len(b), r.Bound())
		}
		for n := range b {
			if _, _, err := store.DecodeRecord(b[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("operation %d cut to %d of %d bytes: %v, want %v", r.Op, n, len(b), err, bloomery.ErrCorrupt)
			}
		}
	}
	odd := store.AppendRecord(nil, &store.Record{Op: store.OpSetMany, Names: [][]byte{[]byte("a"), []byte("1"), []byte("b")}})
	if _, _, err := store.DecodeRecord(odd); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a name without a value: %v, want %v", err, bloomery.ErrCorrupt)
	}
	for _, b := range [][]byte{{9, 1}, {1, 200, 0, 0}, {1, 0}} {
		if _, _, err := store.DecodeRecord(b); !errors.Is(err, bloomery.ErrVersion) || errors.Is(err, bloomery.ErrCorrupt) {
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
	store.Apply(s, &store.Record{Op: store.OpBloom, Name: []byte("k"), Bloom: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}}, nil, &res)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	res.Release()
	part, id := store.PartOf(res.Entry), res.Entry.ID
	store.Apply(s, &store.Record{Op: store.OpRemove, Names: [][]byte{[]byte("k")}}, nil, &res)
	if res.N != 1 || s.Bytes() != 0 {
		t.Errorf("removed %d, %d bytes left, want 1 and 0", res.N, s.Bytes())
	}
	add := store.Record{Op: store.OpAdd, ID: id, Room: store.Unlimited, Digests: []redisbloom.Digest{{A: 1, B: 2}}}
	for _, p := range []*store.Part{part, nil} {
		if store.Apply(s, &add, p, &res); !errors.Is(res.Err, store.ErrRetry) {
			t.Errorf("a record for a filter that is gone: %v, want %v", res.Err, store.ErrRetry)
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
	apply(store.Record{Op: store.OpSet, At: 1, Name: name("s"), Value: name("v"), Deadline: 100})
	f := apply(store.Record{Op: store.OpBloom, At: 1, Name: name("f"), Bloom: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}}).Entry
	id := s.Names.Get(name("s")).ID
	before := string(s.AppendSnapshot(nil))
	expect := func(at int64, n string, id uint64, deadline int64) store.Record {
		return store.Record{Op: store.OpExpect, At: at, Name: name(n), ID: id, Deadline: deadline}
	}
	part := func(version uint64) store.Record {
		return store.Record{Op: store.OpExpectPart, ID: f.ID, Limit: version}
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
		{store.Record{Op: store.OpExpectPart, ID: 99}, store.ErrRetry},
	} {
		if res := apply(tt.r); !errors.Is(res.Err, tt.want) || res.Changed {
			t.Errorf("%+v = %v, changed: %v, want %v", tt.r, res.Err, res.Changed, tt.want)
		}
	}
	if string(s.AppendSnapshot(nil)) != before {
		t.Error("a condition has changed the state")
	}
	apply(store.Record{Op: store.OpAdd, ID: f.ID, Room: store.Unlimited, Digests: []redisbloom.Digest{{A: 1, B: 2}}})
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
	chunk := store.Record{Op: store.OpBloomChunk, ID: 1, Position: 5<<20 + 1, Value: make([]byte, 5<<20)}
	f.Add(&chunk, &store.Result{Changed: true})
	add := store.Record{Op: store.OpAdd, ID: 1, Digests: make([]redisbloom.Digest, 200_000)}
	res := store.Result{Changed: true, Done: len(add.Digests), Bools: make([]bool, len(add.Digests))}
	for i := range res.Bools {
		res.Bools[i] = i%2 == 0
	}
	f.Add(&add, &res)
	bytes, digests := 0, 0
	for b, _ := f.Take(); len(b) > 0; {
		r, n, err := store.DecodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if n > store.MaxRecord {
			t.Errorf("a record of %d bytes, want at most %d", n, store.MaxRecord)
		}
		if r.Op == store.OpBloomChunk {
			if bytes += len(r.Value); r.Position != int64(bytes)+1 {
				t.Errorf("a piece up to byte %d has position %d", bytes, r.Position)
			}
		}
		digests += len(r.Digests)
		b = b[n:]
	}
	if bytes != 5<<20 || digests != 100_000 {
		t.Errorf("%d bytes and %d digests, want %d and 100000", bytes, digests, 5<<20)
	}
}

// FuzzDecodeRecord asks that what is understood is written as it was read.
func FuzzDecodeRecord(f *testing.F) {
	for _, r := range records {
		f.Add(store.AppendRecord(nil, &r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, n, err := store.DecodeRecord(data)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatalf("error %v wraps neither cause", err)
			}
			return
		}
		if n > len(data) {
			t.Fatalf("took %d of %d bytes", n, len(data))
		}
		again, _, err := store.DecodeRecord(store.AppendRecord(nil, &r))
		if err != nil || !reflect.DeepEqual(again, r) && r.Bloom.ErrorRate == r.Bloom.ErrorRate {
			t.Fatalf("again: %+v, %v, want %+v", again, err, r)
		}
	})
}
