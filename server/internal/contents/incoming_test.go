package contents

import (
	"bytes"
	"testing"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// TestWorkOfASourceIsSpread asks that with every piece of a source that part of the arrays is made which the last
// piece has others take: that one has no more to do.
func TestWorkOfASourceIsSpread(t *testing.T) {
	const sourceItems = 500_000
	var s Supply
	s.Init()
	outline, err := codec.AppendOutline(nil, bloomfilter.New(sourceItems, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	o, err := codec.ParseOutline(outline)
	if err != nil {
		t.Fatal(err)
	}
	kind, check := o.Hash()
	plan, err := s.share(Plan{}, o.Kind(), kind, check)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.newContents(plan, func(config codec.Config) (bloomery.Hashed, error) { return config.Make(&o) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
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
}
