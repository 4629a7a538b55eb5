package contents

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

// TestWorkOfASourceIsSpread asks that with every piece of a source that part of the arrays is made which the last
// piece has others take: that one has no more to do.
func TestWorkOfASourceIsSpread(t *testing.T) {
	const sourceItems = 500_000
	var s Supply
	s.Init()
	arrays := countArrays(&s)
	outline, err := codec.AppendOutline(nil, bloomfilter.New(sourceItems, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	c := made(t, &s, outline)
	source := bloomfilter.New(sourceItems, 0.01)
	for i := range uint64(1000) {
		source.AddHash(i * 0x9e3779b97f4a7c15)
	}
	data, err := source.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	c.Add([]uint64{1 << 40}, 0, &Outcome{})
	const piece = 256 << 10
	for version := range uint64(3) {
		for at := 0; at < len(data); at += piece {
			to := min(at+piece, len(data))
			var res Outcome
			s.TakeSource(c, &SourcePiece{Source: []byte{'a' + byte(version)%2}, Version: version + 1, Offset: int64(at), Of: uint64(len(data)), Data: data[at:to]}, &res)
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			_, v := c.aside.at(string('a' + rune(version)%2))
			if v.next == nil {
				continue
			}
			c.Add([]uint64{uint64(at) * 0x9e3779b97f4a7c15}, 0, &Outcome{})
			front := func(f *Filter) []byte { return f.array()[:v.next.filled] }
			want := bytes.Clone(front(c))
			orBytes(want, front(v.next.filter))
			if n := to - 64; v.next.filled != min(n, len(v.next.filter.array())) || !bytes.Equal(front(v.next.union), want) || !bytes.Equal(front(v.next.filter), data[64:64+v.next.filled]) {
				t.Fatalf("version %d: %d of %d bytes have come, and %d are made, or not the right ones", version, to, len(data), v.next.filled)
			}
		}
	}
	if *arrays != 4 { // of the filter, of what was added, and of two sources
		t.Errorf("%d arrays are there: those of a version that was replaced are not given back", *arrays)
	}
	if c.Release(); *arrays != 0 {
		t.Errorf("%d arrays are not given back", *arrays)
	}
}

// countArrays has a supply count the arrays that are not given back.
func countArrays(s *Supply) *int {
	arrays := new(int)
	s.arena = &memory.Arena{Alloc: func(n int) ([]byte, error) { *arrays++; return make([]byte, n), nil }, Free: func([]byte) { *arrays-- }}
	return arrays
}

// TestCopiesOfASourceOnItsWay reads copies of a filter to which a version of a source is on its way, as no server makes
// them, too. The filter is always there, and what cannot become a source is dropped.
func TestCopiesOfASourceOnItsWay(t *testing.T) {
	var s Supply
	s.Init()
	arrays := countArrays(&s)
	for _, capacity := range []int{100, 5000} { // in no array of its own, and in one
		f := bloomfilter.New(capacity, 0.01)
		f.AddHash(1 << 40)
		file, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(file))
		for name, tt := range map[string]struct {
			next  incoming
			stays bool
		}{
			"nothing has come":      {incoming{of: size}, true},
			"half a header":         {incoming{of: size, head: file[:32]}, true},
			"a header":              {incoming{of: size, head: file[:64]}, true},
			"all but a byte":        {incoming{of: size, head: file[:64], table: file[64 : size-1]}, true},
			"all":                   {incoming{of: size, head: file[:64], table: file[64:]}, true},
			"shorter than a header": {incoming{of: 10, head: file[:10]}, false},
			"longer than it says":   {incoming{of: size + 1, head: file[:64]}, false},
			"shorter than it says":  {incoming{of: size - 1, head: file[:64]}, false},
			"of two sources":        {incoming{of: size, head: file[:64]}, false},
			"no header":             {incoming{of: size, head: file[1:65]}, false},
		} {
			tt.next.version = 1
			kept := &aside{sources: []*summary{{name: "s", next: &tt.next}}}
			if name == "of two sources" {
				kept.sources = append(kept.sources, &summary{name: "t", next: &tt.next})
			}
			data := kept.encode(bytes.Clone(file))
			c, err := s.openContents(Plan{}, data)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if room, need := RoomFor(data), uint64(len(data))+c.Bytes(); room+1<<10 < need {
				t.Errorf("%s: room for %d bytes, and %d are needed", name, room, need)
			}
			if stays := c.aside != nil; stays != tt.stays || !c.f.ContainsHash(1<<40) {
				t.Errorf("%s: it stays: %v, want %v; the filter has its item: %v", name, stays, tt.stays, c.f.ContainsHash(1<<40))
			}
			if c.Add([]uint64{5 << 40}, 0, &Outcome{}); !c.f.ContainsHash(5 << 40) {
				t.Errorf("%s: an item is lost", name)
			}
			if c.Release(); *arrays != 0 && capacity == 5000 { // the others are left to the collector
				t.Errorf("%s: %d arrays are not given back", name, *arrays)
				*arrays = 0
			}
		}
		*arrays = 0
	}
}

// TestSourceAtTheBound asks that a source can be replaced in a filter that takes no other: its sources take as much as
// they may.
func TestSourceAtTheBound(t *testing.T) {
	var s Supply
	s.Init()
	const items = maxSourceBytes / 5 // of some 10 bits: one source, and what is added, leave room for no more than another
	outline, err := codec.AppendOutline(nil, bloomfilter.New(items, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	c := made(t, &s, outline)
	defer c.Release()
	c.aside = &aside{}
	for _, f := range []**Filter{&c.aside.added, &c.aside.source([]byte("a")).filter, &c.aside.source([]byte("b")).filter} {
		if *f, err = s.blank(c, outline[:64]); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range c.aside.sources {
		v.version = 1
	}
	h, _ := envelope.ParseHeader(outline)
	for source, want := range map[string]error{"a": nil, "b": nil, "c": bloomery.ErrTooLarge} {
		var res Outcome
		s.TakeSource(c, &SourcePiece{Source: []byte(source), Version: 2, Of: h.EncodedSize(), Data: outline[:64]}, &res)
		if !errors.Is(res.Err, want) {
			t.Errorf("source %s: %v, want %v", source, res.Err, want)
		}
	}
}

// made returns the filter that an outline describes.
func made(t *testing.T, s *Supply, outline []byte) *Filter {
	t.Helper()
	o, err := codec.ParseOutline(outline)
	if err != nil {
		t.Fatal(err)
	}
	kind, check := o.Hash()
	plan, err := s.share(Plan{}, o.Kind(), kind, check)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.newContents(plan, s.arena, func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}
