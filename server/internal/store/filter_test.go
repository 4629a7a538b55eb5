package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// creation is the record that makes a Bloom filter for so many keys.
func creation(t *testing.T, capacity int, parts uint8) store.Record {
	t.Helper()
	outline, err := codec.AppendOutline(nil, bloom.New(capacity, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	return store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("k"), Header: contents.AppendCreation(nil, &contents.Plan{Parts: parts}, outline)}}
}

// staged is creation of a filter without a name.
func staged(t *testing.T, capacity int, parts uint8) store.Record {
	t.Helper()
	return store.Record{Body: &store.Stage{As: store.OpFilter, Header: creation(t, capacity, parts).Body.(*store.Make).Header}}
}

// TestFilterAccounts asks that a filter takes the bytes that were announced, in one
// part and in several, small and large, and that all who count them agree.
func TestFilterAccounts(t *testing.T) {
	for _, capacity := range []int{10, 1000, 20_000} {
		for _, log := range []uint8{0, 2} {
			s := store.New()
			r := creation(t, capacity, log)
			want, err := store.NewBytes(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			e := apply(t, s, r).Entry
			sum, parts := uint64(0), 0
			for _, p := range contents.Parts(e) {
				look, ok := p.Look(true)
				size, ok2 := p.Size(true)
				if !ok || !ok2 || look.Bytes != p.Contents().Bytes() || size != look.Bytes {
					t.Errorf("capacity %d: Look counts %d bytes, Size %d, Bytes %d", capacity, look.Bytes, size, p.Contents().Bytes())
				}
				sum += size
				parts++
			}
			if sum != want || parts != 1<<log {
				t.Errorf("capacity %d: %d bytes in %d parts, NewBytes said %d", capacity, sum, parts, want)
			}
			s.Discard()
			if s.Bytes() != 0 {
				t.Errorf("%d bytes are counted after Discard", s.Bytes())
			}
		}
	}
}

// TestFilterContents fills, probes, dumps and reloads a filter, and unites it with
// bytes anywhere in its array.
func TestFilterContents(t *testing.T) {
	for _, capacity := range []int{100, 20_000} {
		s := store.New()
		e := apply(t, s, creation(t, capacity, 0)).Entry
		p := contents.PartOf(e)
		hs := hashes(64)
		dst := make([]bool, len(hs))
		if yes, ok := p.Probe(dst, hs, true); yes != 0 || !ok {
			t.Errorf("%d answers of an empty filter are positive", yes)
		}
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
		if yes, ok := p.Probe(dst, hs, true); yes != len(hs) || !ok {
			t.Errorf("%d of %d items are there", yes, len(hs))
		}
		c := p.Contents()
		next, chunk := c.ScanDump(1)
		if next != int64(len(chunk))+1 || len(chunk) < capacity {
			t.Fatalf("a chunk of %d bytes, and the next at %d", len(chunk), next)
		}
		f, err := codec.Open(chunk)
		if err != nil || !f.ContainsHash(hs[0]) {
			t.Fatalf("the chunk is not the filter: %v", err)
		}
		if _, tail := c.ScanDump(11); !bytes.Equal(tail, chunk[10:]) {
			t.Error("the chunk at 11 is not what follows ten bytes")
		}
		for _, iter := range []int64{math.MinInt64, -1, 0, next, next + 1, math.MaxInt64} {
			if n, b := c.ScanDump(iter); n != 0 || b != nil {
				t.Errorf("ScanDump(%d) of %d bytes = %d, %d bytes", iter, len(chunk), n, len(b))
			}
		}
		if again := reload(t, s, c); !bytes.Equal(dump(again), dump(c)) || again.Bytes() != c.Bytes() {
			t.Error("what was frozen and loaded differs")
		}
		if array := p.Array(); array != nil {
			for _, n := range []int{1, 7, 8, 13} { // whole words, and what is left of them
				at := len(array) - 20
				want := slices.Clone(array)
				value := bytes.Repeat([]byte{0x5a}, n)
				for i, b := range value {
					want[at+i] |= b
				}
				res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterUnion{Offset: int64(at), Data: value}})
				if res.Err != nil || res.Done != n || !bytes.Equal(array, want) {
					t.Errorf("union with %d bytes: %v, the array is another one", n, res.Err)
				}
			}
			for _, at := range []int64{-2, int64(len(array)), int64(len(array)) - 1} {
				if res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterUnion{Offset: at, Data: []byte("xy")}}); !errors.Is(res.Err, bloomery.ErrIncompatible) {
					t.Errorf("union at %d of %d: %v, want %v", at, len(array), res.Err, bloomery.ErrIncompatible)
				}
			}
		} else if capacity > 1000 {
			t.Error("a large filter has no array")
		}
	}
}

// TestFilterLoaderRefuses gives pieces and copies in which something is wrong.
func TestFilterLoaderRefuses(t *testing.T) {
	s := store.New()
	load := func(data []byte) error {
		l, err := s.NewLoader(catalog.Filter, data, int64(len(data)))
		if err == nil {
			_, err = l.Done()
		}
		return err
	}
	plan := contents.AppendPlan(nil, &contents.Plan{})
	loading := func(size uint64, data string) []byte {
		b := append(slices.Clone(plan), 0, 1) // made long ago, on its way
		return append(binary.AppendUvarint(b, size), data...)
	}
	for name, data := range map[string][]byte{
		"more than the size":   loading(3, "four"),
		"a size out of bounds": loading(1<<40+1, "x"),
		"no form":              append(slices.Clone(plan), 0),
		"no plan":              {5, 1},
		"a plan cut short":     plan[:len(plan)-1],
		"a plan of no version": {0},
		"nothing":              {},
	} {
		if err := load(data); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", name, err, bloomery.ErrCorrupt)
		}
	}
	body := contents.AppendPlan(nil, &contents.Plan{Parts: 1, SLA: 300, KeyID: "id"})[1:]
	for n := range body { // of the right length, and without its end
		if _, err := contents.ParsePlan(append([]byte{byte(n)}, body[:n]...)); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("a plan of %d bytes instead of %d: %v, want %v", n, len(body), err, bloomery.ErrCorrupt)
		}
	}
	if err := load(loading(10, "four")); err != nil {
		t.Errorf("a filter of which a part has come: %v", err)
	}
	l, err := s.NewLoader(catalog.Filter, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{math.MinInt64, -1, 8, 11, math.MaxInt64} {
		if err := l.Put([]byte("abc"), off); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("a piece of 3 bytes at %d of 10: %v, want %v", off, err, bloomery.ErrCorrupt)
		}
	}
	if err := l.Put([]byte("abc"), 7); err != nil {
		t.Error(err)
	}
}

// TestFilterPieces sends the encoding of a part in pieces: it is there when the last
// has come, and a wrong encoding is refused then.
func TestFilterPieces(t *testing.T) {
	data, err := bloom.New(1000, 0.01).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []bool{false, true} {
		s := store.New()
		stage := store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{})}}
		e := apply(t, s, stage).Entry
		piece := func(at, n int) store.Result {
			return apply(t, s, store.Record{ID: e.ID, Body: &store.FilterPiece{Offset: int64(at), Of: uint64(len(data)), Data: data[at : at+n]}})
		}
		if bad {
			data = bytes.Clone(data)
			data[len(data)/2] ^= 1
		}
		if res := piece(0, 100); res.Err != nil || !res.Changed || res.Done != 100 {
			t.Fatalf("the first piece: %v", res.Err)
		}
		if res := piece(0, 100); !errors.Is(res.Err, bloomery.ErrCorrupt) || res.Changed {
			t.Errorf("the first piece again: %v", res.Err)
		}
		if res := piece(100, 0); !errors.Is(res.Err, bloomery.ErrCorrupt) {
			t.Errorf("a piece of nothing: %v", res.Err)
		}
		res := piece(100, len(data)-100)
		if bad != errors.Is(res.Err, bloomery.ErrCorrupt) || res.Changed == bad {
			t.Errorf("the last piece: %v, changed %v, bad %v", res.Err, res.Changed, bad)
		}
		if !bad && uint64(s.Bytes()) < contents.PartOf(e).Contents().Bytes() {
			t.Errorf("the state counts %d bytes", s.Bytes())
		}
		before := s.Mapped()
		s.Discard()
		if s.Bytes() != 0 || s.Mapped() > before {
			t.Errorf("%d bytes are counted after Discard of a staged filter", s.Bytes())
		}
	}
}

// TestRevealRefuses asks that only a staged filter that is whole gets a name.
func TestRevealRefuses(t *testing.T) {
	s := store.New()
	named := apply(t, s, creation(t, 100, 0)).Entry.ID
	open := apply(t, s, store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{})}}).Entry.ID
	for name, id := range map[string]uint64{"none": 99, "one that has a name": named, "one that is on its way": open} {
		if res := apply(t, s, store.Record{Body: &store.Reveal{ID: id, Name: []byte("new")}}); !errors.Is(res.Err, store.ErrMissing) || res.Changed {
			t.Errorf("%s: %v, want %v", name, res.Err, store.ErrMissing)
		}
	}
	whole := apply(t, s, staged(t, 100, 0)).Entry.ID
	if res := apply(t, s, store.Record{Body: &store.Reveal{ID: whole, Name: []byte("k"), If: store.IfAbsent}}); !errors.Is(res.Err, store.ErrExists) {
		t.Errorf("a name that is taken: %v, want %v", res.Err, store.ErrExists)
	}
	if res := apply(t, s, store.Record{Body: &store.Reveal{ID: whole, Name: []byte("new"), If: store.IfAbsent}}); res.Err != nil || s.Names.Len() != 2 {
		t.Errorf("%v, %d names", res.Err, s.Names.Len())
	}
}

// TestEncodingsOfOneFilter asks which encodings can be served together.
func TestEncodingsOfOneFilter(t *testing.T) {
	keyed := hashing.Keyed([16]byte{1})
	window := func(rotate bool) []byte {
		w, err := compose.WindowConfig{Capacity: 100, ErrorRate: 0.01, Hasher: keyed, Rotate: rotate}.New()
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	encode := func(c bloom.Config) []byte {
		f, err := c.New()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := f.AppendBinary(nil)
		return b
	}
	plain := encode(bloom.Config{Capacity: 100, ErrorRate: 0.01})
	secret := encode(bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: keyed})
	quorum := func(layers int) []byte {
		members := make([]bloomery.Hashed, 3)
		for i := range members {
			f, err := bloom.Config{Capacity: 1, ErrorRate: 0.1}.NewScalable()
			if err != nil {
				t.Fatal(err)
			}
			for key := uint64(0); f.Layers() < layers; key++ {
				f.AddHash(key * 0x9e3779b97f4a7c15)
			}
			members[i] = f
		}
		q, err := compose.NewQuorum(2, members...)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := q.MarshalBinary()
		return b
	}
	for _, c := range []struct {
		name  string
		parts [][]byte
		want  error
	}{
		{"a quorum of many parts", slices.Repeat([][]byte{quorum(1)}, contents.MaxParts), nil},
		{"a quorum of too many layers", slices.Repeat([][]byte{quorum(6)}, contents.MaxParts), bloomery.ErrTooLarge},
		{"one", [][]byte{plain}, nil},
		{"two alike", [][]byte{plain, plain}, nil},
		{"two hashes", [][]byte{plain, secret}, bloomery.ErrIncompatible},
		{"two kinds", [][]byte{secret, window(false)}, bloomery.ErrIncompatible},
		{"a window with a secret", [][]byte{window(false)}, nil},
		{"a window with changing secrets", [][]byte{window(true)}, bloomery.ErrIncompatible},
		{"a window cut short", [][]byte{window(false)[:40]}, bloomery.ErrCorrupt},
		{"none", [][]byte{[]byte("x")}, bloomery.ErrCorrupt},
	} {
		if err := contents.CheckEncodings(c.parts, len(c.parts)); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestCuckooAccounts inserts where there is no room for more sub-filters, one by one
// and together, and asks that the state counts what the filter takes.
func TestCuckooAccounts(t *testing.T) {
	for i := range 6 {
		insert := store.CuckooInsert{New: i%2 != 0, Way: store.Way(i / 2)}
		op, s := (&store.Record{Body: &insert}).Op(), store.New()
		e := apply(t, s, store.Record{Body: &store.MakeCuckoo{Name: []byte("c"), Params: redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}).Entry
		c := contents.PartOf(e).Contents()
		beside := s.Bytes() - int64(c.Bytes())
		insert.Hashes = hashes(200)
		full := apply(t, s, store.Record{ID: e.ID, Body: &insert})
		stops := insert.Way != store.Together
		if full.Err == nil || stops == (full.Done == 200) || full.Done < 30 {
			t.Errorf("operation %d without room: %v after %d items", op, full.Err, full.Done)
		}
		insert.Room, insert.Hashes = store.Unlimited, hashes(400)[200:]
		res := apply(t, s, store.Record{ID: e.ID, Body: &insert})
		if res.Err != nil || res.Done != 200 || len(res.Codes) != 200 {
			t.Errorf("operation %d: %v after %d items", op, res.Err, res.Done)
		}
		if got := s.Bytes() - beside; got != int64(c.Bytes()) || got < 200 {
			t.Errorf("operation %d: the state counts %d bytes, the filter has %d", op, got, c.Bytes())
		}
		before := s.Bytes()
		position, chunk := c.ScanDump(1)
		if res := apply(t, s, store.Record{ID: e.ID, Body: &store.CuckooChunk{Position: position, Data: chunk[:1]}}); res.Err != nil || !res.Changed || s.Bytes() != before {
			t.Errorf("a chunk of one byte: %v, changed %v", res.Err, res.Changed)
		}
	}
	for _, op := range []store.Op{store.OpCuckooDump, store.OpBloomDump} {
		for _, value := range []string{"", "x", "no header at all, but as long as one: some 53 bytes"} {
			s := store.New()
			if res := apply(t, s, store.Record{Body: &store.Make{As: op, Name: []byte("k"), Header: []byte(value)}}); res.Err == nil || s.Names.Len() != 0 {
				t.Errorf("operation %d makes a filter of %q", op, value)
			}
		}
	}
}

// TestEffectsOfTwoFilters asks that the log keeps apart what two filters got.
func TestEffectsOfTwoFilters(t *testing.T) {
	s := store.New()
	var f store.Effect
	var want []store.Record
	for i, name := range []string{"a", "b"} {
		id := apply(t, s, store.Record{Body: &store.MakeCuckoo{Name: []byte(name), Params: redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}).Entry.ID
		r := store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: hashes(10)[5*i : 5*i+5]}}
		res := apply(t, s, r)
		f.Add(&r, &res)
		want = append(want, r)
	}
	rest, _ := f.Take()
	for _, w := range want {
		var r store.Record
		n, err := r.Decode(rest)
		if err != nil || r.ID != w.ID || !slices.Equal(r.Body.(*store.CuckooInsert).Hashes, w.Body.(*store.CuckooInsert).Hashes) {
			t.Fatalf("the log has %+v, want %+v: %v", r, w, err)
		}
		rest = rest[n:]
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes more in the log", len(rest))
	}
}
