package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// countMinHeader is the header of a CMS.
func countMinHeader(width, depth uint64) []byte {
	h := binary.LittleEndian.AppendUint64(nil, width)
	h = binary.LittleEndian.AppendUint64(h, depth)
	return binary.LittleEndian.AppendUint64(h, 0)
}

func topKHeader(k uint32) []byte {
	return redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: k, Width: 50, Depth: 3, Decay: 0.9})
}

func increments(n int) (b []byte) {
	for i := range n {
		b = store.AppendIncrement(b, 1, fmt.Append(nil, "item", i), 3)
	}
	return b
}

func counted(n int) (b []byte) {
	for i := range n {
		b = store.AppendCounted(b, uint32(i%7), fmt.Append(nil, "item", i))
	}
	return b
}

func values(n int) (b []byte) {
	for i := range n {
		b = store.AppendValue(b, float64(i*i%1000))
	}
	return b
}

// payload returns what the record of a sketch holds.
func payload(r store.Record) []byte {
	switch o := r.Body.(type) {
	case *store.CountMinIncr:
		return o.Items
	case *store.TopKIncr:
		return o.Items
	case *store.TDigestAdd:
		return o.Values
	}
	return nil
}

// with returns a record of an operation of sketches that holds a value.
func with(id uint64, op store.Op, position int64, value []byte) store.Record {
	r := store.Record{ID: id}
	switch op {
	case store.OpCountMinIncr:
		r.Body = &store.CountMinIncr{Items: value}
	case store.OpCountMinChunk:
		r.Body = &store.CountMinChunk{Position: position, Cells: value}
	case store.OpTopKIncr:
		r.Body = &store.TopKIncr{Items: value}
	case store.OpTopKChunk:
		r.Body = &store.TopKChunk{Position: position, Data: value}
	case store.OpTDigestAdd:
		r.Body = &store.TDigestAdd{Values: value}
	case store.OpTDigestChunk:
		r.Body = &store.TDigestChunk{Nodes: value}
	case store.OpTDigestBegin:
		r.Body = &store.TDigestBegin{Header: value}
	}
	return r
}

// sketches is one sketch of every kind, and a record that fills it.
var sketches = []struct {
	name         string
	kind         catalog.Kind
	create, fill store.Record
	items        uint64
	details      string
}{
	{
		"CMSk-TYPE", catalog.CountMin,
		store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte("k"), Header: countMinHeader(50, 3)}},
		store.Record{Body: &store.CountMinIncr{Items: increments(300)}}, 300,
		"[{width 50 0 0} {depth 3 0 0} {count 300 0 0} {error_bound 0 0.04 1} {error_probability 0 0.125 1}]",
	},
	{
		"TopK-TYPE", catalog.TopK,
		store.Record{Body: &store.Make{As: store.OpTopK, Name: []byte("k"), Header: topKHeader(5)}},
		store.Record{Body: &store.TopKIncr{Items: counted(300)}}, 5,
		"[{k 5 0 0} {width 50 0 0} {depth 3 0 0} {decay 0 0.9 1} {least_count 6 0 0}]",
	},
	{
		"TDIS-TYPE", catalog.TDigest,
		store.Record{Body: &store.Make{As: store.OpTDigest, Name: []byte("k"), Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 20})}},
		store.Record{Body: &store.TDigestAdd{Values: values(300)}}, 300,
		"[{compression 20 0 0} {capacity_nodes 130 0 0} {merged_nodes 14 0 0} {unmerged_nodes 55 0 0} {compressions 2 0 0}]",
	},
}

// TestSketches holds every kind of sketch to what Contents promises.
func TestSketches(t *testing.T) {
	for _, k := range sketches {
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
			before := s.Bytes()
			k.fill.ID = res.Entry.ID
			if res := apply(t, s, k.fill); res.Err != nil || !res.Changed {
				t.Fatalf("fill: %v, changed %v", res.Err, res.Changed)
			}
			grown := int64(c.Bytes() - want)
			if grown > int64(len(payload(k.fill))) || s.Bytes()-before != grown {
				t.Errorf("grown by %d bytes, the state counts %d, the record has %d", grown, s.Bytes()-before, len(payload(k.fill)))
			}
			st := c.Stats()
			if st.Items != k.items || st.Bytes != c.Bytes() {
				t.Errorf("%+v, want %d items and %d bytes", st, k.items, c.Bytes())
			}
			if got := fmt.Sprint(c.(contents.Detailed).Details()); got != k.details {
				t.Errorf("details %s, want %s", got, k.details)
			}
			if res := apply(t, s, store.Record{ID: k.fill.ID, Body: &store.BloomAdd{}}); !errors.Is(res.Err, contents.ErrType) {
				t.Errorf("a record of another kind: %v, want %v", res.Err, contents.ErrType)
			}
			again := reload(t, s, c)
			if !bytes.Equal(dump(again), dump(c)) || again.Bytes() != c.Bytes() {
				t.Errorf("what was frozen and loaded differs: %d bytes, want %d", again.Bytes(), c.Bytes())
			}
		})
	}
}

// TestSketchDumps asks for chunks of dumps from everywhere, and loads pieces that do
// not say how many items were counted.
func TestSketchDumps(t *testing.T) {
	for _, k := range sketches[:2] { // a TDIGEST has no chunks
		s := store.New()
		k.fill.ID = apply(t, s, k.create).Entry.ID
		apply(t, s, k.fill)
		c := contents.PartOf(s.Names.ByID(k.fill.ID)).Contents()
		next, whole := c.ScanDump(1)
		if next != int64(len(whole))+1 || len(whole) < 50*3*4 {
			t.Fatalf("%s: a chunk of %d bytes, the next at %d", k.name, len(whole), next)
		}
		for _, iter := range []int64{2, 3, 100, int64(len(whole))} {
			if n, chunk := c.ScanDump(iter); n != next || !bytes.Equal(chunk, whole[iter-1:]) {
				t.Errorf("%s: ScanDump(%d) has %d bytes and the next at %d", k.name, iter, len(chunk), n)
			}
		}
		for _, iter := range []int64{-1, 0, next, next + 1} {
			if n, chunk := c.ScanDump(iter); n != 0 || chunk != nil {
				t.Errorf("%s: ScanDump(%d) has %d bytes and the next at %d", k.name, iter, len(chunk), n)
			}
		}
	}
	s := store.New()
	cms := sketches[0]
	cms.fill.ID = apply(t, s, cms.create).Entry.ID
	apply(t, s, cms.fill)
	p := contents.PartOf(s.Names.ByID(cms.fill.ID))
	for _, c := range []struct{ limit, count uint64 }{{0, 300}, {8, 7}, {1, 0}} {
		apply(t, s, store.Record{ID: cms.fill.ID, Body: &store.CountMinChunk{Position: 5, Total: c.limit, Cells: make([]byte, 4)}})
		if got := p.CountMin().Total(); got != c.count {
			t.Errorf("after a piece of limit %d the count is %d, want %d", c.limit, got, c.count)
		}
	}
	topk := sketches[1]
	topk.fill.ID = apply(t, s, store.Record{Body: &store.Make{As: store.OpTopK, Name: []byte("t"), Header: topKHeader(5)}}).Entry.ID
	for _, value := range [][]byte{{0}, append(counted(3), 0), append(counted(3), 1)} {
		if res := apply(t, s, with(topk.fill.ID, store.OpTopKIncr, 0, value)); !errors.Is(res.Err, bloomery.ErrCorrupt) || res.Changed {
			t.Errorf("TOPK items that end with half of one: %v", res.Err)
		}
	}
	res := apply(t, s, store.Record{Body: &store.Make{As: store.OpTDigest, Name: []byte("d"), Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 20})}})
	if st := contents.PartOf(res.Entry).Contents().Stats(); st.Bits != 128*130 {
		t.Errorf("a TDIGEST of 130 nodes has %d bits", st.Bits)
	}
	apply(t, s, store.Record{Body: &store.Make{As: store.OpTDigest, Name: []byte("large"), Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 20_000})}})
	if s.Mapped() < 1<<20 {
		t.Errorf("%d bytes of a large TDIGEST are mapped", s.Mapped())
	}
	s.Discard()
	unmapped(t, s)
}

// TestMergesCount asks what a merge has done to its target and to its sources.
func TestMergesCount(t *testing.T) {
	s := store.New()
	part := func(name string) *contents.Part { return contents.PartOf(s.Names.Get([]byte(name))) }
	for _, name := range []string{"a", "b"} {
		id := apply(t, s, store.Record{Body: &store.Make{As: store.OpTDigest, Name: []byte(name), Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 20})}}).Entry.ID
		apply(t, s, store.Record{ID: id, Body: &store.TDigestAdd{Values: values(50)}})
		id = apply(t, s, store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte("cms" + name), Header: countMinHeader(50, 3)}}).Entry.ID
		apply(t, s, store.Record{ID: id, Body: &store.CountMinIncr{Items: increments(5)}})
	}
	version := func(name string) uint64 {
		v, ok := part(name).Glance(true)
		if !ok {
			t.Fatalf("%s is gone", name)
		}
		return v
	}
	before := version("cmsa")
	apply(t, s, store.Record{Body: &store.CountMinMerge{Name: []byte("cmsa"), Sources: [][]byte{[]byte("cmsb")}, Weights: []int64{3}}})
	if got := part("cmsa").CountMin().Total(); got != 15 || version("cmsa") == before {
		t.Errorf("the merged CMS counts %d at version %d, want 15 and not %d", got, version("cmsa"), before)
	}
	for _, c := range []struct {
		override bool
		want     int64
	}{{false, 100}, {true, 50}} {
		before := version("a")
		apply(t, s, store.Record{Body: &store.TDigestMerge{Name: []byte("a"), Sources: [][]byte{[]byte("b")}, Override: c.override}})
		if got := part("a").TDigest().Observations(); got != c.want || version("a") == before {
			t.Errorf("the merged TDIGEST has %d values at version %d, want %d and not %d", got, version("a"), c.want, before)
		}
		if !part("b").TDigest().Compressed() {
			t.Error("the source of a merge is not compressed")
		}
	}
}

// TestSketchRecordsCutShort cuts and damages the values of records: they are refused
// and change nothing, or mean something else, and nothing panics.
func TestSketchRecordsCutShort(t *testing.T) {
	for _, k := range sketches {
		s := store.New()
		k.fill.ID = apply(t, s, k.create).Entry.ID
		p := contents.PartOf(s.Names.ByID(k.fill.ID))
		value := payload(k.fill)[:60]
		for i := range value {
			before := dump(p.Contents())
			if res := apply(t, s, with(k.fill.ID, k.fill.Op(), 0, value[:i])); res.Err != nil {
				if !errors.Is(res.Err, bloomery.ErrCorrupt) || res.Changed || !bytes.Equal(dump(p.Contents()), before) {
					t.Errorf("%s: cut to %d bytes: %v", k.name, i, res.Err)
				}
			}
			damaged := bytes.Clone(value)
			damaged[i] ^= 0xff
			apply(t, s, with(k.fill.ID, k.fill.Op(), 0, damaged))
		}
		for _, op := range []store.Op{store.OpCountMinChunk, store.OpTopKChunk, store.OpTDigestChunk, store.OpTDigestBegin} {
			for _, position := range []int64{math.MinInt64, -1, 0, 1, 5, 700, 5000, math.MaxInt64} {
				for _, value := range []string{"", "x", "0123456789abcdef", "0123456789abcdef0123"} {
					before := dump(p.Contents())
					res := apply(t, s, with(k.fill.ID, op, position, []byte(value)))
					if res.Err != nil && (res.Changed || !bytes.Equal(dump(p.Contents()), before)) {
						t.Errorf("%s: operation %d at %d with %q: %v, and something has changed", k.name, op, position, value, res.Err)
					}
				}
			}
		}
	}
}

// TestSketchesThatCannotBe asks that headers of sketches that no memory has room for,
// or that are none, are refused before anything is allocated.
func TestSketchesThatCannotBe(t *testing.T) {
	const huge = math.MaxUint64
	for _, r := range []*store.Make{
		{As: store.OpCountMin}, {As: store.OpTopK}, {As: store.OpTDigest},
		{As: store.OpCountMin, Header: countMinHeader(0, 1)}, {As: store.OpCountMin, Header: countMinHeader(huge, huge)},
		{As: store.OpCountMin, Header: countMinHeader(1<<60, 1)}, {As: store.OpCountMin, Header: countMinHeader(1, contents.MaxDepth+1)},
		{As: store.OpTopK, Header: topKHeader(0)},
		{As: store.OpTopK, Header: redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: 1, Width: math.MaxUint32, Depth: math.MaxUint32, Decay: 1})},
		{As: store.OpTopK, Header: redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: 1, Width: 1, Depth: 1, Decay: math.NaN()})},
		{As: store.OpTDigest, Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 0})}, {As: store.OpTDigest, Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: math.MaxInt64})},
	} {
		if n, err := store.NewBytes(r); err == nil {
			t.Errorf("operation %d with %x: %d bytes, want an error", r.As, r.Header, n)
		}
		r.Name = []byte("k")
		s := store.New()
		if res := apply(t, s, store.Record{Body: r}); res.Err == nil || s.Names.Len() != 0 || s.Bytes() != 0 {
			t.Errorf("operation %d with %x is applied", r.As, r.Header)
		}
	}
}

// TestDeepestSketch makes a CMS of as many rows as there may be.
func TestDeepestSketch(t *testing.T) {
	r := store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte("k"), Header: countMinHeader(1, 65_536)}}
	if n, err := store.NewBytes(r.Body); err != nil || n < 4*65_536 {
		t.Errorf("65,536 rows: %d bytes, %v", n, err)
	}
	r.Body = &store.Make{As: store.OpCountMin, Name: []byte("k"), Header: countMinHeader(1, 65_537)}
	if n, err := store.NewBytes(r.Body); err == nil {
		t.Errorf("65,537 rows: %d bytes, want an error", n)
	}
}

// TestMergesInTheLog replays what merges leave in the log on the state before them:
// it gives the state behind them. The sources may have changed in between.
func TestMergesInTheLog(t *testing.T) {
	build := func() *store.State {
		s := store.New()
		for i, name := range []string{"a", "b", "c"} {
			for _, k := range sketches {
				create := *k.create.Body.(*store.Make)
				create.Name = []byte(name + k.name)
				id := apply(t, s, store.Record{Body: &create}).Entry.ID
				value := values(100 + i)
				switch k.kind {
				case catalog.CountMin:
					value = increments(100 + i)
				case catalog.TopK:
					value = counted(100 + i)
				}
				if res := apply(t, s, with(id, k.fill.Op(), 0, value)); res.Err != nil {
					t.Fatal(res.Err)
				}
			}
		}
		return s
	}
	names := func(kind string, list ...string) (n [][]byte) {
		for _, v := range list {
			n = append(n, []byte(v+kind))
		}
		return n
	}
	cms, digest := "CMSk-TYPE", "TDIS-TYPE"
	weights := []int64{2, 3}
	for _, r := range []store.Record{
		{Body: &store.CountMinMerge{Name: []byte("a" + cms), Sources: names(cms, "a", "b"), Weights: weights}},
		{Body: &store.TDigestMerge{Name: []byte("a" + digest), Sources: names(digest, "b", "c")}},
		{Body: &store.TDigestMerge{Name: []byte("a" + digest), Sources: names(digest, "a", "a"), Override: true, Compression: 3}},
		{Body: &store.TDigestMerge{Name: []byte("new"), Sources: names(digest, "b", "b")}},
	} {
		s, again := build(), build()
		var f store.Effect
		var res store.Result
		s.Names.Lock()
		store.Apply(s, &r, nil, &res)
		f.Add(&r, &res)
		res.Release()
		s.Names.Unlock()
		if res.Err != nil || !res.Changed {
			t.Fatalf("operation %d: %v", r.Op(), res.Err)
		}
		for b, _ := f.Take(); len(b) > 0; {
			var e store.Record
			n, err := e.Decode(b)
			if err != nil || e.Op() == store.OpCountMinMerge || e.Op() == store.OpTDigestMerge {
				t.Fatalf("operation %d in the log: %v", e.Op(), err)
			}
			if res := apply(t, again, e); res.Err != nil {
				t.Fatal(res.Err)
			}
			b = b[n:]
		}
		if !bytes.Equal(snapshot(again), snapshot(s)) || again.Bytes() != s.Bytes() {
			t.Errorf("operation %d: the log gives another state: %d bytes, want %d", r.Op(), again.Bytes(), s.Bytes())
		}
	}
}

// TestMergesThatCannotBe asks that a merge which fails changes nothing but what it
// says, and holds no lock.
func TestMergesThatCannotBe(t *testing.T) {
	s := store.New()
	small := store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte("small"), Header: countMinHeader(2, 1)}}
	large := store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte("large"), Header: countMinHeader(3, 1)}}
	apply(t, s, small)
	apply(t, s, large)
	apply(t, s, store.Record{Body: &store.Set{String: store.String{Name: []byte("text"), Value: []byte("v")}}})
	apply(t, s, store.Record{Body: &store.Make{As: store.OpTDigest, Name: []byte("old"), Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 5})}})
	apply(t, s, store.Record{Body: &store.Expire{Name: []byte("old"), Deadline: 10}})
	before := snapshot(s)
	one := []int64{1}
	for _, tt := range []struct {
		r    store.Record
		want error
	}{
		{store.Record{Body: &store.CountMinMerge{Name: []byte("small"), Sources: [][]byte{[]byte("large")}, Weights: one}}, bloomery.ErrIncompatible},
		{store.Record{Body: &store.CountMinMerge{Name: []byte("small"), Sources: [][]byte{[]byte("none")}, Weights: one}}, store.ErrMissing},
		{store.Record{Body: &store.CountMinMerge{Name: []byte("small"), Sources: [][]byte{[]byte("text")}, Weights: one}}, contents.ErrType},
		{store.Record{Body: &store.CountMinMerge{Name: []byte("small"), Sources: [][]byte{[]byte("small")}}}, bloomery.ErrCorrupt},
		{store.Record{At: 11, Body: &store.TDigestMerge{Name: []byte("new"), Sources: [][]byte{[]byte("old")}}}, store.ErrMissing},
		{store.Record{Body: &store.TDigestMerge{Name: []byte("text"), Sources: [][]byte{[]byte("old")}}}, contents.ErrType},
	} {
		if res := apply(t, s, tt.r); !errors.Is(res.Err, tt.want) || res.Changed {
			t.Errorf("%+v: %v, want %v", tt.r, res.Err, tt.want)
		}
	}
	if !bytes.Equal(snapshot(s), before) {
		t.Error("something has changed")
	}
}

func snapshot(s *store.State) []byte {
	s.Names.Lock()
	defer s.Names.Unlock()
	return s.AppendSnapshot(nil)
}

// FuzzSketchRecords applies records with any value to sketches: they are refused and
// change nothing, or leave a sketch that can be frozen and loaded again.
func FuzzSketchRecords(f *testing.F) {
	for i, k := range sketches {
		f.Add(byte(i), byte(k.fill.Op()), int64(0), payload(k.fill)[:40])
		f.Add(byte(i), byte(store.OpTopKChunk), int64(1300), append(make([]byte, 4), redisbloom.AppendTopKSlot(nil, 1, 2, []byte("x"))...))
	}
	f.Add(byte(2), byte(store.OpTDigestChunk), int64(0), make([]byte, 32))
	f.Add(byte(2), byte(store.OpTDigestBegin), int64(0), redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 3}))
	f.Fuzz(func(t *testing.T, kind, op byte, position int64, value []byte) {
		k := sketches[int(kind)%len(sketches)]
		r := with(0, store.Op(op), position, value)
		if r.Body == nil {
			return
		}
		if p, err := redisbloom.ParseTDigestHeader(value); err == nil && p.Compression > 1000 {
			return // a digest may be as large as it asks to be
		}
		s := store.New()
		r.ID = apply(t, s, k.create).Entry.ID
		c := contents.PartOf(s.Names.ByID(r.ID)).Contents()
		before := dump(c)
		if res := apply(t, s, r); res.Err != nil && !bytes.Equal(dump(c), before) {
			t.Fatalf("operation %d: %v, and something has changed", op, res.Err)
		}
		if again := reload(t, s, c); !bytes.Equal(dump(again), dump(c)) {
			t.Fatalf("operation %d: what was frozen and loaded differs", op)
		}
		s.Discard()
	})
}

// TestMergedIsTheMerge checks that the records that a merge would make, on a state as
// it is, give what the merge gives.
func TestMergedIsTheMerge(t *testing.T) {
	build := func() *store.State {
		s := store.New()
		for i, name := range []string{"a", "b"} {
			id := apply(t, s, store.Record{Body: &store.Make{As: store.OpCountMin, Name: []byte(name), Header: countMinHeader(50, 3)}}).Entry.ID
			if res := apply(t, s, store.Record{ID: id, Body: &store.CountMinIncr{Items: increments(10 + i)}}); res.Err != nil {
				t.Fatal(res.Err)
			}
		}
		return s
	}
	merge := store.Record{Body: &store.CountMinMerge{Name: []byte("a"), Sources: [][]byte{[]byte("a"), []byte("b")}, Weights: []int64{2, 3}}}
	s, want := build(), build()
	before := snapshot(s)
	m, err := s.Merged(&merge, contents.PartOf)
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
