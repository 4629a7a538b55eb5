package following

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// followed is a filter of two parts with rings, and what they count.
type followed struct {
	Rings
	counted atomic.Int64
	entry   *catalog.Entry
}

// newFollowed makes a filter that keeps so many changes, of a kind that has steps, or of bits.
func newFollowed(t *testing.T, keep uint64, steps bool) *followed {
	t.Helper()
	outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
	if steps {
		outline, err = codec.AppendOutline(nil, cuckoo.New(1000, 0.01))
	}
	if err != nil {
		t.Fatal(err)
	}
	var s contents.Supply
	s.Init()
	made, err := s.Make(contents.Creation, contents.AppendCreation(nil, &contents.Plan{Parts: 1, News: keep}, outline), func(int, *contents.Plan) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	f := &followed{}
	f.Init(&f.counted)
	f.entry = catalog.New().Insert("k", 1, catalog.Filter, 0, contents.Value([]*contents.Part{contents.NewPart(made[0]), contents.NewPart(made[1])}))
	return f
}

func (f *followed) follow(epoch uint64) *News {
	return f.Follow(f.entry, epoch, func() uint64 { return 100 })
}

// add adds hashes to the first part as a record does.
func (f *followed) add(hashes ...uint64) {
	p := contents.PartOf(f.entry)
	p.Lock()
	defer p.Unlock()
	r := f.Ring(p)
	res := contents.Outcome{Marks: r.Room(len(hashes))}
	p.Contents().(*contents.Filter).Add(hashes, math.MaxUint64, &res)
	p.Raise()
	r.Added(hashes, &res)
	f.Changed(r)
}

// TestRingTurns asks that a ring has the last changes in their order, and never some of those that
// were asked for.
func TestRingTurns(t *testing.T) {
	f := newFollowed(t, 16, true) // eight for each part
	n := f.follow(1)
	first, err := n.Whole(0, func(Encoding) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	f.add(1, 2, 3)
	f.add(4, 5, 6, 7, 8)
	c, ok := n.Since(0, first, 3)
	if !ok || !slices.Equal(c.Values, []uint64{1, 2, 3}) || !c.More || c.Next != first+3 {
		t.Errorf("three of eight: %+v, %t", c, ok)
	}
	if c, ok = n.Since(0, c.Next, 100); !ok || !slices.Equal(c.Values, []uint64{4, 5, 6, 7, 8}) || c.More || c.Next != first+8 {
		t.Errorf("the others: %+v, %t", c, ok)
	}
	f.add(9)
	if n.Knows(0, first) || n.Knows(0, first+10) || !n.Knows(0, first+9) || !n.Knows(0, first+1) {
		t.Error("a ring of eight knows eight changes, and the number behind them")
	}
	if c, _ = n.Since(0, first+1, 100); !slices.Equal(c.Values, []uint64{2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("the last eight: %d", c.Values)
	}
	contents.PartOf(f.entry).Raise() // by what the ring does not know
	if !n.Stale() || n.Knows(0, first+9) {
		t.Error("something has got past the ring, and it knows all the same")
	}
	if next, err := n.Whole(0, func(Encoding) error { return nil }); err != nil || n.Stale() || n.Knows(0, first+9) || !n.Knows(0, next) {
		t.Errorf("it does not begin again: %d, %v", next, err)
	}
}

// TestOldBits asks that what was in a filter of bits before is no news.
func TestOldBits(t *testing.T) {
	f := newFollowed(t, 16, false)
	n := f.follow(1)
	first, _ := n.Whole(0, func(Encoding) error { return nil })
	f.add(1 << 40)
	c, ok := n.Since(0, first, 100)
	f.add(1 << 40)
	again, known := n.Since(0, c.Next, 100)
	if !ok || len(c.Values) == 0 || !known || len(again.Values) != 0 {
		t.Errorf("added: %+v, %t; added again: %+v, %t", c, ok, again, known)
	}
}
