package store_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestEffectsOfLongRecords applies records that are longer than one may be, and
// replays what is logged of them: no record is too long, and the state is the
// same.
func TestEffectsOfLongRecords(t *testing.T) {
	long := func(n int, seed byte) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i/1000)*7 + seed
		}
		return b
	}
	var names [][]byte
	for i := range 40_000 {
		names = append(names, fmt.Appendf(nil, "a name of some length, number %d", i))
	}
	name := long(store.MaxName, 1)
	records := []store.Record{
		{Op: store.OpSet, Name: name, Value: long(5<<20+17, 2), Deadline: 1 << 50},
		{Op: store.OpAppend, Name: name, Value: long(3<<20, 3)},
		{Op: store.OpSetRange, Name: name, Value: long(2<<20, 4), Position: 100},
		{Op: store.OpSet, Name: []byte("short"), Value: []byte("v")},
		{Op: store.OpCuckoo, Name: []byte("c"), Cuckoo: redisbloom.CuckooParams{Capacity: 1 << 19, BucketSize: 4, MaxIterations: 20, Expansion: 1}},
		{Op: store.OpInsert, ID: 5, Room: store.Unlimited, Hashes: hashes(50_000)},
		{Op: store.OpDelete, ID: 5, Hashes: append(hashes(20_000), 1, 2, 3)},
	}
	for _, n := range names {
		records = append(records, store.Record{Op: store.OpSet, Name: n, Deadline: 1})
	}
	records = append(records,
		store.Record{Op: store.OpRemove, Names: names[:30_000]},
		store.Record{Op: store.OpEvict, At: 2, IDs: ids(30_000, 400_000)})
	live, again := store.New(), store.New()
	for _, r := range records {
		var f store.Effect
		res := apply(t, live, r)
		if res.Err != nil || !res.Changed {
			t.Fatalf("operation %d: %v, changed %v", r.Op, res.Err, res.Changed)
		}
		f.Add(&r, &res)
		count := 0
		for b := f.Take(); len(b) > 0; count++ {
			logged, n, err := store.DecodeRecord(b)
			if err != nil {
				t.Fatal(err)
			}
			if n > store.MaxRecord {
				t.Errorf("operation %d: a record of %d bytes, want at most %d", r.Op, n, store.MaxRecord)
			}
			if res := apply(t, again, logged); res.Err != nil {
				t.Fatalf("operation %d again: %v", logged.Op, res.Err)
			}
			b = b[n:]
		}
		if len(store.AppendRecord(nil, &r)) > store.MaxRecord && count < 2 {
			t.Errorf("operation %d, too long for one record, makes %d", r.Op, count)
		}
	}
	if live.Names.Len() != 3 || !bytes.Equal(state(live), state(again)) || live.Bytes() != again.Bytes() {
		t.Errorf("%d and %d names: the log replays to another state", live.Names.Len(), again.Names.Len())
	}
}

func ids(from, to uint64) (all []uint64) {
	for id := from; id < to; id++ {
		all = append(all, id)
	}
	return all
}

func state(s *store.State) []byte {
	s.Names.Lock()
	defer s.Names.Unlock()
	return s.AppendSnapshot(nil)
}
