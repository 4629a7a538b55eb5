package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
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
		{Body: &store.Set{String: store.String{Name: name, Value: long(5<<20+17, 2)}, Deadline: 1 << 50}},
		{Body: &store.Append{String: store.String{Name: name, Value: long(3<<20, 3)}}},
		{Body: &store.SetRange{String: store.String{Name: name, Value: long(2<<20, 4)}, Offset: 100}},
		{Body: &store.Set{String: store.String{Name: []byte("short"), Value: []byte("v")}}},
		{Body: &store.MakeCuckoo{Name: []byte("c"), Params: redisbloom.CuckooParams{Capacity: 1 << 19, BucketSize: 4, MaxIterations: 20, Expansion: 1}}},
		{ID: 5, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: hashes(50_000)}},
		{ID: 5, Body: &store.CuckooDelete{Hashes: append(hashes(20_000), 1, 2, 3)}},
	}
	for _, n := range names {
		records = append(records, store.Record{Body: &store.Set{String: store.String{Name: n}, Deadline: 1}})
	}
	records = append(records,
		store.Record{Body: &store.Remove{Names: names[:30_000]}},
		store.Record{At: 2, Body: &store.Evict{IDs: ids(30_000, 400_000)}})
	live, again := store.New(), store.New()
	for _, r := range records {
		var f store.Effect
		made := ""
		if o, ok := r.Body.(store.Texter); ok && len(o.Text().Value) >= store.Long { // as the engine does
			store.MakeString(o, live.Names.Get(o.Text().Name))
			if made = o.Text().Made; made == "" {
				t.Fatalf("operation %d is not made before it is applied", r.Op())
			}
		}
		res := apply(t, live, r)
		if res.Err != nil || !res.Changed {
			t.Fatalf("operation %d: %v, changed %v", r.Op(), res.Err, res.Changed)
		}
		f.Add(&r, &res)
		count := 0
		b, long := f.Take()
		if (made != "") != (len(long) > 0) {
			t.Errorf("operation %d, made before it is applied %v, leaves %d pieces to the log", r.Op(), made != "", len(long))
		}
		for b = slices.Concat(b, slices.Concat(long...)); len(b) > 0; count++ {
			var logged store.Record
			n, err := logged.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if n > store.MaxRecord {
				t.Errorf("operation %d: a record of %d bytes, want at most %d", r.Op(), n, store.MaxRecord)
			}
			if res := apply(t, again, logged); res.Err != nil {
				t.Fatalf("operation %d again: %v", logged.Op(), res.Err)
			}
			b = b[n:]
		}
		if len(store.AppendRecord(nil, &r)) > store.MaxRecord && count < 2 {
			t.Errorf("operation %d, too long for one record, makes %d", r.Op(), count)
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

// TestMadeStrings asks that a string that was made before any lock was taken is
// kept without a copy, only of what it was made of, and that the log has no copy
// either.
func TestMadeStrings(t *testing.T) {
	s := store.New()
	name, long := []byte("s"), bytes.Repeat([]byte("long "), store.Long)
	text := &store.Set{String: store.String{Name: name, Value: long}}
	set := store.Record{Body: text}
	store.MakeString(text, nil)
	var f store.Effect
	allocated := testing.AllocsPerRun(10, func() {
		var res store.Result
		s.Names.Lock()
		store.Apply(s, &set, nil, &res)
		s.Names.Unlock()
		f.Add(&set, &res)
		if records, pieces := f.Take(); len(records) != 0 || &pieces[1][0] != unsafe.StringData(text.Made) {
			t.Fatal("the log has a copy")
		}
	})
	first := s.Names.Get(name)
	if got := store.Text(first); unsafe.StringData(got) != unsafe.StringData(text.Made) {
		t.Errorf("the string is a copy, %v allocations", allocated)
	}
	tail := store.String{Name: name, Value: []byte("tail")}
	for o, length := range map[store.Texter]int64{&store.Append{String: tail}: 4, &store.SetRange{String: tail, Offset: 7}: 11} {
		op, base := (&store.Record{Body: o}).Op(), s.Names.Get(name)
		late := store.Record{Body: o}
		store.MakeString(o, base)
		if string(o.Text().Value) != "tail" {
			t.Errorf("operation %d: the value becomes %.20q", op, o.Text().Value)
		}
		if res := apply(t, s, late); res.Err != nil || store.Text(res.Entry) != o.Text().Made {
			t.Errorf("operation %d: %v", op, res.Err)
		}
		if res := apply(t, s, late); !errors.Is(res.Err, contents.ErrRetry) || res.Changed {
			t.Errorf("operation %d on another string: %v, changed %v, want ErrRetry", op, res.Err, res.Changed)
		}
		remove(t, s, "s")
		if res := apply(t, s, late); res.Err != nil || res.N != length {
			t.Errorf("operation %d on no string: %v, length %d", op, res.Err, res.N)
		}
		apply(t, s, set)
	}
	over := &store.SetRange{String: store.String{Name: name, Value: []byte("x")}, Offset: store.MaxString}
	if store.MakeString(over, nil); over.Made != "" {
		t.Error("a string longer than the limit is made")
	}
}

// TestLongStringIsNoNumber asks that a long string is not copied to say that it is
// no number.
func TestLongStringIsNoNumber(t *testing.T) {
	s := store.New()
	apply(t, s, store.Record{Body: &store.Set{String: store.String{Name: []byte("s"), Value: bytes.Repeat([]byte("1"), 1<<20)}}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := apply(t, s, store.Record{Body: &store.Increment{Name: []byte("s"), By: 1}})
	runtime.ReadMemStats(&after)
	if !errors.Is(res.Err, store.ErrNumber) || after.TotalAlloc-before.TotalAlloc > 1<<19 {
		t.Errorf("INCR of 1 MiB: %v, %d bytes allocated", res.Err, after.TotalAlloc-before.TotalAlloc)
	}
}

// TestRetainedStringsCount asks that long strings which somebody keeps count when
// they are replaced or removed, until they are let go.
func TestRetainedStringsCount(t *testing.T) {
	s := store.New()
	set := func(name string) {
		apply(t, s, store.Record{Body: &store.Set{String: store.String{Name: []byte(name), Value: make([]byte, store.Long)}}})
	}
	set("a")
	remove(t, s, "a")
	if got := s.Retained(); got != 0 {
		t.Errorf("%d bytes are retained, and nobody keeps anything", got)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		set(name)
	}
	s.Names.Lock()
	kept := s.Names.All()
	s.Retain()
	s.Names.Unlock()
	set("a")
	remove(t, s, "b")
	if got := s.Retained(); got != 2*store.Long {
		t.Errorf("%d bytes are retained, want two strings of %d", got, store.Long)
	}
	for _, e := range kept[:2] { // c is there still
		s.LetGo(e)
	}
	s.LetGo(kept[2])
	if got := s.Retained(); got != 0 {
		t.Errorf("%d bytes are retained that were let go", got)
	}
	res := apply(t, s, store.Record{Body: &store.Flush{}})
	<-res.Left
	if got := s.Retained(); got < 2*store.Long {
		t.Errorf("%d bytes are retained of what is flushed", got)
	}
	s.Unretain()
	if got := s.Retained(); got != 0 {
		t.Errorf("%d bytes are retained, and nobody keeps anything any more", got)
	}
}
