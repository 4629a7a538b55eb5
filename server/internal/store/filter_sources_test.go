package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// sourceFile is the file of a summary like the filter of creation.
func sourceFile(tb testing.TB, capacity int, hashes ...uint64) []byte {
	tb.Helper()
	f := bloom.New(capacity, 0.01)
	for _, h := range hashes {
		f.AddHash(h)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// copied returns the copy of a part, and the part that comes of it.
func copied(tb testing.TB, s *store.State, p *contents.Part) ([]byte, *contents.Part) {
	tb.Helper()
	frozen, err := p.Freeze()
	if err != nil {
		tb.Fatal(err)
	}
	var data []byte
	for buf := make([]byte, 64<<10); ; {
		piece, _ := frozen.Next(buf)
		if len(piece) == 0 {
			break
		}
		data = append(data, piece...)
	}
	if err := frozen.Close(); err != nil {
		tb.Fatal(err)
	}
	l, err := s.NewLoader(catalog.Filter, data, int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	q, err := contents.FinishLoad(l)
	if err != nil {
		tb.Fatal(err)
	}
	return data, q
}

// TestSourcePieces loads a source in pieces: until the last the version before is there, also after a
// copy; pieces of two loads never mix, and a copy with half of a version goes on.
func TestSourcePieces(t *testing.T) {
	const capacity = 5000
	s := store.New()
	e := apply(t, s, creation(t, capacity, 0)).Entry
	p := contents.PartOf(e)
	put := func(version uint64, from, to int, data []byte) error {
		res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: version, At: 5, Offset: int64(from), Of: uint64(len(data)), Data: data[from:to]}}})
		return res.Err
	}
	has := func(p *contents.Part, want ...bool) {
		t.Helper()
		for i, want := range want {
			if p.Filter().ContainsHash(uint64(i+1)<<40) != want {
				t.Errorf("hash %d: want %v", i+1, want)
			}
		}
	}
	one, two, three := sourceFile(t, capacity, 1<<40), sourceFile(t, capacity, 2<<40), sourceFile(t, capacity, 3<<40)
	half := len(one) / 2
	if err := errors.Join(put(1, 0, half, one), put(1, half, len(one), one)); err != nil {
		t.Fatal(err)
	}
	has(p, true, false, false)
	if err := errors.Join(put(2, 0, half, two), put(3, 0, half, three)); err != nil { // another load begins
		t.Fatal(err)
	}
	if err := put(2, half, len(two), two); !errors.Is(err, contents.ErrOtherLoad) {
		t.Errorf("the rest of a load that another has ended: %v", err)
	}
	if err := put(2, 0, half, two); err != nil { // an earlier one, which comes late
		t.Error(err)
	}
	has(p, true, false, false)
	data, q := copied(t, s, p)
	if again, _ := copied(t, s, q); !bytes.Equal(again, data) || q.Bytes() != p.Bytes() {
		t.Errorf("a copy of %d bytes with %d in memory, want %d and %d", len(again), q.Bytes(), len(data), p.Bytes())
	}
	has(q, true, false, false)
	if err := put(3, half, len(three), three); err != nil {
		t.Fatal(err)
	}
	has(p, false, false, true)
	if list := p.Sources(); len(list) != 1 || list[0] != (contents.Source{Name: "s", Version: 3, At: 5}) {
		t.Errorf("sources %v", list)
	}
}

// TestSourceRefused loads sources that are refused with their last piece, and some that nobody ends: of
// the former nothing is left, of the latter the last.
func TestSourceRefused(t *testing.T) {
	const capacity = 5000
	s := store.New()
	e := apply(t, s, creation(t, capacity, 0)).Entry
	p := contents.PartOf(e)
	file, other := sourceFile(t, capacity, 1<<40), sourceFile(t, capacity, 2<<40)
	half := len(file) / 2
	put := func(source string, version uint64, from int, data []byte) (effects []byte, err error) {
		r := store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte(source), Version: version, Offset: int64(from), Of: uint64(len(file)), Data: data}}}
		res := apply(t, s, r)
		var f store.Effect
		f.Add(&r, &res)
		effects, _ = f.Take()
		return effects, res.Err
	}
	for i, base := range []string{"", "kept"} { // without a source, and with one
		arrays := int64(3 - i) // the version, what the filter will be, and what it has without sources
		if base != "" {
			if _, err := put(base, 7, 0, file); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := copied(t, s, p)
		bytesBefore := s.Bytes()
		for i := range contents.MaxSources + 1 {
			source := fmt.Sprint("source", i)
			if _, err := put(source, 1, 0, file[:half]); err != nil {
				t.Fatal(err)
			}
			if grown, want := s.Bytes()-bytesBefore, arrays*int64(len(file)); grown < want || grown > want+1<<10 {
				t.Fatalf("half of a load takes %d bytes, want %d", grown, want)
			}
		}
		if _, err := put("source0", 1, half, file[half:]); !errors.Is(err, contents.ErrOtherLoad) {
			t.Errorf("the rest of a load that one of another source has ended: %v", err)
		}
		effects, err := put(fmt.Sprint("source", contents.MaxSources), 1, half, other[half:])
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("halves of two files: %v", err)
		}
		if after, _ := copied(t, s, p); !bytes.Equal(after, before) || s.Bytes() != bytesBefore {
			t.Errorf("loads that were refused have left %d bytes", s.Bytes()-bytesBefore)
		}
		if base == "" {
			if _, err := put("s", 1, 0, file[:half]); err != nil {
				t.Fatal(err)
			}
			var r store.Record // what the log has of the refused one must end it there too
			if n, err := r.Decode(effects); err != nil || n != len(effects) {
				t.Fatalf("%d bytes of %d, %v", n, len(effects), err)
			}
			if res := apply(t, s, r); res.Err != nil || !res.Changed {
				t.Errorf("the effect: %v, changed %v", res.Err, res.Changed)
			}
			if after, _ := copied(t, s, p); !bytes.Equal(after, before) {
				t.Error("the effect of a refused load leaves something")
			}
		}
	}
	short := store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: 1, Of: 10, Data: file[:10]}}}
	if res := apply(t, s, short); !errors.Is(res.Err, bloomery.ErrCorrupt) {
		t.Errorf("a file that is shorter than a header: %v", res.Err)
	}
	if list := p.Sources(); len(list) != 1 {
		t.Errorf("sources %v", list)
	}
}

// TestSourcesAndOtherForms loads pieces of sources, refused ones too, between whatever gives a filter
// another form: its copy can be read after each of them, and is the same.
func TestSourcesAndOtherForms(t *testing.T) {
	const capacity = 3000
	rng := rand.New(rand.NewPCG(66, 1))
	good, bad := sourceFile(t, capacity, 1<<40), sourceFile(t, capacity, 2<<40)
	bad[len(bad)/2] ^= 1
	loads, refused, pending := 0, 0, 0
	for round := range 60 {
		s := store.New()
		e := apply(t, s, creation(t, capacity, 0)).Entry
		p := contents.PartOf(e)
		var added []uint64
		for step := range 12 {
			var body store.Body
			switch rng.IntN(8) {
			case 0:
				body = &store.FilterGrow{Rate: 0.02}
			case 1:
				body = &store.FilterFold{}
			case 2:
				body = &store.FilterGone{Hashes: added}
			case 3:
				body = &store.FilterUnion{Offset: contents.WholeUnion, Data: good}
			case 4:
				added = append(added, rng.Uint64())
				body = &store.FilterAdd{Hashes: added[len(added)-1:], Room: store.Unlimited}
			default:
				file := good
				if rng.IntN(2) == 0 {
					file = bad
				}
				o := &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte{'a' + byte(rng.IntN(3))}, Version: uint64(step + 1), Of: uint64(len(file)), Data: file}}
				if rng.IntN(4) > 0 {
					half := len(file) / 2
					o.Data = file[:half]
					apply(t, s, store.Record{ID: e.ID, Body: o})
					rest := *o
					rest.Offset, rest.Data = int64(half), file[half:]
					o = &rest
				}
				if rng.IntN(3) == 0 {
					pending++
					break
				}
				body = o
			}
			if body != nil {
				res := apply(t, s, store.Record{ID: e.ID, Body: body})
				if _, ok := body.(*store.FilterSource); ok && res.Err == nil {
					loads++
				} else if ok {
					refused++
				}
			}
			data, q := copied(t, s, p)
			if again, _ := copied(t, s, q); !bytes.Equal(again, data) || q.Bytes() != p.Bytes() {
				t.Fatalf("round %d, step %d, %T: a copy of %d bytes with %d in memory, want %d and %d", round, step, body, len(again), q.Bytes(), len(data), p.Bytes())
			}
			for _, h := range added {
				if !p.Filter().ContainsHash(h) || !q.Filter().ContainsHash(h) {
					t.Fatalf("round %d, step %d, %T: a hash is lost", round, step, body)
				}
			}
		}
	}
	if loads < 20 || refused < 20 || pending < 20 {
		t.Errorf("%d loads, %d refused, %d not ended: the test tests nothing", loads, refused, pending)
	}
}

// TestPiecesThatNoFilterTakes reads a copy of a filter of a kind without sources, with pieces of one.
func TestPiecesThatNoFilterTakes(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 100, 0)).Entry
	p := contents.PartOf(e)
	file := sourceFile(t, 100, 7)
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: 1, Of: uint64(len(file)), Data: file[:10]}}})
	pending, _ := copied(t, s, p)
	const mark = 16
	at := len(pending) - mark - 8
	pending = pending[at-int(binary.LittleEndian.Uint64(pending[at:])):]
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterGrow{Rate: 0.02}})
	grown, _ := copied(t, s, p)
	data := append(bytes.Clone(grown), pending...)
	l, err := s.NewLoader(catalog.Filter, data, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	q, err := contents.FinishLoad(l)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := copied(t, s, q); !bytes.Equal(again, grown) {
		t.Errorf("a copy of %d bytes, want %d", len(again), len(grown))
	}
}

// TestSourceOfANodeThatKnowsNoRebuild asks that a source is not taken that was sent by a node of a cluster
// before it knew that the filter is rebuilt: it would be in the old filter alone.
func TestSourceOfANodeThatKnowsNoRebuild(t *testing.T) {
	s := store.New()
	s.SetRoster(&roster.Roster{ID: 1, Lanes: 1, Level: store.LevelRebuilds, Holders: make([][]uint32, 3)})
	e := apply(t, s, creation(t, 100, 0)).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterMark{Number: 9}})
	file := sourceFile(t, 100, 7)
	for known, want := range map[uint64]error{0: store.ErrRebuilding, 9: nil} {
		body := &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: 1, Of: uint64(len(file)), Data: file}, Known: known}
		if res := apply(t, s, store.Record{ID: e.ID, Body: body}); !errors.Is(res.Err, want) {
			t.Errorf("the node knew rebuild %d: %v, want %v", known, res.Err, want)
		}
	}
}

// FuzzSources loads copies of a filter with sources.
func FuzzSources(f *testing.F) {
	s := store.New()
	var t testing.T
	e := apply(&t, s, creation(&t, 100, 0)).Entry
	file := sourceFile(f, 100, 7)
	for i, source := range []string{"a", "b"} {
		for to := len(file) - i; to <= len(file); to += 100 {
			apply(&t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte(source), Version: 4, Of: uint64(len(file)), Data: file[:to]}}})
		}
	}
	apply(&t, s, store.Record{ID: e.ID, Body: &store.FilterGone{Hashes: []uint64{7}}})
	data, _ := copied(f, s, contents.PartOf(e))
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		s := store.New()
		l, err := s.NewLoader(catalog.Filter, data, int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := contents.FinishLoad(l)
		if err != nil {
			l.Release()
			return
		}
		if p.Filter() == nil {
			return // one that is loaded, or a shadow
		}
		once, q := copied(t, s, p)
		if again, _ := copied(t, s, q); !bytes.Equal(once, again) {
			t.Errorf("a copy of %d bytes comes back as %d", len(once), len(again))
		}
	})
}

// TestDroppedPiecesAreNotCounted asks that the bytes of a source that is on its way count no more when the
// filter grows, which drops them.
func TestDroppedPiecesAreNotCounted(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 1000, 0)).Entry
	file := sourceFile(t, 1000, 7)
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: 1, Of: uint64(len(file)), Data: file[:500]}}})
	before := s.Bytes()
	if res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterGrow{Rate: 0.02}}); res.Err != nil {
		t.Fatal(res.Err)
	}
	if got, want := s.Bytes(), store.Cost("k", e); got != want {
		t.Errorf("%d bytes are counted, %d before: want %d", got, before, want)
	}
}

// TestSourcesKeepNoChanges asks that changes which are kept for followers count once, and not with each source.
func TestSourcesKeepNoChanges(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 1000, 0)).Entry
	file := sourceFile(t, 1000, 7)
	for i, to := range []int{len(file), len(file), len(file) / 2} {
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSet{News: uint64(i+1) * 10_000}})
		before := s.Bytes()
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte{'a' + byte(i)}, Version: 1, Of: uint64(len(file)), Data: file[:to]}}})
		if grown := s.Bytes() - before; grown > int64(2*len(file))+1<<10 {
			t.Errorf("source %d takes %d bytes", i, grown)
		}
		p := contents.PartOf(e)
		if _, q := copied(t, s, p); q.Bytes() != p.Bytes() || s.Bytes() != store.Cost("k", e) {
			t.Errorf("source %d: a copy takes %d bytes, the filter %d; %d are counted, want %d", i, q.Bytes(), p.Bytes(), s.Bytes(), store.Cost("k", e))
		}
	}
}

// TestUnionWithSources asks that no union changes a filter whose bits are those of its sources: the next version of
// one would drop what it has added.
func TestUnionWithSources(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 100_000, 0)).Entry
	data := sourceFile(t, 100_000, 1<<40)
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("a"), Version: 1, Of: uint64(len(data)), Data: data}}})
	for _, o := range []store.FilterUnion{{Offset: 64, Data: []byte{0xff}}, {Offset: contents.WholeUnion, Data: data}} {
		if res := apply(t, s, store.Record{ID: e.ID, Body: &o}); !errors.Is(res.Err, contents.ErrSourced) || res.Changed {
			t.Errorf("union at %d: changed %v, %v", o.Offset, res.Changed, res.Err)
		}
	}
}

// TestSourcesAreUnited loads versions of sources in pieces of any length, between which hashes are added, filters
// united, and copies made: after each step the bits are those of all sources and of all that was added, and a
// copy of half of a version goes on like the part that it was made of.
func TestSourcesAreUnited(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 2))
	whole := 0
	for round := range 24 {
		capacity := []int{100, 5000, 300_000}[round%3]
		m := newSourceModel(t, capacity)
		for step := range 60 {
			switch rng.IntN(6) {
			case 0:
				m.add(rng.Uint64(), rng.Uint64())
			case 1:
				m.unite(sourceFile(t, capacity, rng.Uint64()))
			case 2:
				m.other()
			case 3:
				m.begin(fmt.Sprint(rng.IntN(3)), uint64(step+1), sourceFile(t, capacity, rng.Uint64(), rng.Uint64()))
			default:
				m.more(1 + rng.IntN(1+len(m.file)*rng.IntN(4)/3))
			}
			m.check(round, step)
		}
		whole += m.whole
	}
	if whole < 48 {
		t.Errorf("%d versions were whole: the test tests nothing", whole)
	}
}

// sourceModel is a filter with sources, and what has to be in it.
type sourceModel struct {
	t     *testing.T
	s     *store.State
	e     *catalog.Entry
	q     *contents.Part // a copy of the part, which gets the rest of a version as well, or nil
	added *bloom.Filter
	of    map[string]*bloom.Filter
	whole int // versions

	source  string
	version uint64
	file    []byte
	at      int
}

func newSourceModel(t *testing.T, capacity int) *sourceModel {
	s := store.New()
	return &sourceModel{t: t, s: s, e: apply(t, s, creation(t, capacity, 0)).Entry, added: bloom.New(capacity, 0.01), of: map[string]*bloom.Filter{}}
}

func (m *sourceModel) apply(body store.Body) error {
	return apply(m.t, m.s, store.Record{ID: m.e.ID, Body: body}).Err
}

func (m *sourceModel) decoded(file []byte) *bloom.Filter {
	f := new(bloom.Filter)
	if err := f.UnmarshalBinary(file); err != nil {
		m.t.Fatal(err)
	}
	return f
}

func (m *sourceModel) add(hashes ...uint64) {
	m.q = nil
	if err := m.apply(&store.FilterAdd{Hashes: hashes, Room: store.Unlimited}); err != nil {
		m.t.Fatal(err)
	}
	for _, h := range hashes {
		m.added.AddHash(h)
	}
}

// unite unites the filter with that of a file, as a whole or by a piece of its array.
func (m *sourceModel) unite(file []byte) {
	m.q = nil
	f, o := m.decoded(file), &store.FilterUnion{Offset: contents.WholeUnion, Data: file}
	if contents.PartOf(m.e).Array() != nil {
		o.Offset, o.Data = 0, file[64:64+f.Stats().Bytes]
	}
	switch err := m.apply(o); {
	case len(m.of) > 0 && !errors.Is(err, contents.ErrSourced), len(m.of) == 0 && err != nil:
		m.t.Fatal(err)
	case len(m.of) == 0:
		if err := m.added.Union(f); err != nil {
			m.t.Fatal(err)
		}
	}
}

// other makes a copy.
func (m *sourceModel) other() { _, m.q = copied(m.t, m.s, contents.PartOf(m.e)) }

func (m *sourceModel) begin(source string, version uint64, file []byte) {
	m.source, m.version, m.file, m.at = source, version, file, 0
	m.more(len(file) / 3)
}

// more loads the next bytes.
func (m *sourceModel) more(n int) {
	n = min(n, len(m.file)-m.at)
	if n == 0 {
		return
	}
	piece := contents.SourcePiece{Source: []byte(m.source), Version: m.version, Offset: int64(m.at), Of: uint64(len(m.file)), Data: m.file[m.at : m.at+n]}
	if err := m.apply(&store.FilterSource{SourcePiece: piece}); err != nil {
		m.t.Fatal(err)
	}
	if m.q != nil {
		var res contents.Outcome
		if m.s.TakeSource(m.q.Contents().(*contents.Filter), &piece, &res); res.Err != nil {
			m.t.Fatal(res.Err)
		}
	}
	if m.at += n; m.at == len(m.file) {
		m.whole++
		m.of[m.source], m.file, m.at = m.decoded(m.file), nil, 0
	}
}

func (m *sourceModel) check(round, step int) {
	m.t.Helper()
	want := m.added.Clone()
	for _, f := range m.of {
		if err := want.Union(f); err != nil {
			m.t.Fatal(err)
		}
	}
	bits, err := want.MarshalBinary()
	for _, p := range []*contents.Part{contents.PartOf(m.e), m.q} {
		if p == nil {
			continue
		}
		got, failed := p.Filter().(*bloom.Filter).MarshalBinary()
		if failed != nil || err != nil || !bytes.Equal(got[64:], bits[64:]) {
			m.t.Fatalf("round %d, step %d: the filter is not the union of %d sources and of what was added", round, step, len(m.of))
		}
	}
}

// TestSourceOfAnotherCapacity loads a source with the array of the filter, and made for another number of items: the
// filter keeps its own, counts its items anew, and knows of the deleted one that was added.
func TestSourceOfAnotherCapacity(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 5000, 0)).Entry
	p := contents.PartOf(e)
	shape := p.Filter().(*bloom.Filter).Shape()
	other, err := bloom.Config{Capacity: 100, Bits: shape.Bits, Hashes: shape.K}.New()
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(300) {
		other.AddHash(i * 0x9e3779b97f4a7c15)
	}
	file, err := other.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Hashes: []uint64{7 << 40}, Room: store.Unlimited}})
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterGone{Hashes: []uint64{7 << 40}}})
	for version := range uint64(2) {
		res := apply(t, s, store.Record{ID: e.ID, Body: &store.FilterSource{SourcePiece: contents.SourcePiece{Source: []byte("s"), Version: version + 1, Of: uint64(len(file)), Data: file}}})
		gone, _ := p.GoneItems(true)
		if stats := p.Contents().Stats(); res.Err != nil || stats.Capacity != 5000 || stats.Items < 290 || stats.Items > 310 || gone != 1 {
			t.Errorf("version %d: %v, a filter for %d items with %d, %d of them gone", version+1, res.Err, stats.Capacity, stats.Items, gone)
		}
	}
}
