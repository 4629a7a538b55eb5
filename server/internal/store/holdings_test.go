package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// holder returns the state of node 1 of a cluster of three whose nodes all hold everything,
// two copies to be, with a filter of eight parts.
func holder(t *testing.T) (*store.State, uint64) {
	t.Helper()
	s := born(t)
	for i, nonce := range []int64{300, 400} {
		apply(t, s, store.Record{Body: &store.Join{Nonce: nonce, Level: 3}})
		apply(t, s, store.Record{Body: &store.Session{Node: uint64(i + 1), Nonce: nonce}})
	}
	apply(t, s, store.Record{Body: &store.Session{Node: 3, Nonce: 500}})
	s.SetNode(1)
	apply(t, s, store.Record{Body: &store.Level{Level: store.LevelShards}})
	id := apply(t, s, creation(t, 1000, 3)).Entry.ID
	apply(t, s, store.Record{Body: &store.ShardCopies{Copies: 2}})
	return s, id
}

// partOf returns a part of the filter with an id.
func partOf(s *store.State, id uint64, index uint32) *contents.Part {
	return contents.PartAt(s.Names.ByID(id), index)
}

// copyAt returns what node 1 has of a shard, as the table says.
func copyAt(s *store.State, shard int) (roster.Place, roster.Copy) {
	place := s.Roster().Shards.Places[shard]
	return place, place.Copy(1)
}

// TestHoldingsFollow takes a shard from a node and gives it back: what it answers for, what
// it has, and what it makes follow the table, and parts of other shards stay what they are.
func TestHoldingsFollow(t *testing.T) {
	s, id := holder(t)
	base := placement.Base("k")
	first, bytes := s.Names.ByID(id), s.Bytes()
	for i, p := range contents.Parts(first) {
		if p.Shard() != placement.Shard(base, uint32(i)) || p.Elsewhere() || !s.Answers(p) {
			t.Fatalf("part %d is in shard %d, elsewhere %v", i, p.Shard(), p.Elsewhere())
		}
	}
	shard, old := base+5, partOf(s, id, 5)
	place, held := copyAt(s, shard)
	step(t, s, &store.ShardRetire{Node: 1, Shard: uint64(shard), Version: place.Version})
	if p := partOf(s, id, 5); p != old || p.Elsewhere() || s.Answers(p) {
		t.Error("a node that retires has lost the contents, or answers")
	}
	s.Yield(base + 4) // it holds that
	s.Sweep()
	if partOf(s, id, 4).Elsewhere() || partOf(s, id, 5).Elsewhere() {
		t.Error("contents are given up before the node has yielded")
	}
	s.Yield(shard)
	if s.Sweep(); !partOf(s, id, 5).Elsewhere() || partOf(s, id, 4).Elsewhere() {
		t.Error("contents are here that were given up, or were given up that are not to be")
	}
	step(t, s, &store.ShardFree{Node: 1, Shard: uint64(shard), Since: held.Since})
	now := s.Names.ByID(id)
	far := contents.PartAt(now, 5)
	old.RLock()
	gone := old.Gone() && old.Moved()
	old.RUnlock()
	if now == first || !gone || contents.PartAt(now, 4) != contents.PartAt(first, 4) || s.Names.Lookup([]byte("k"), 0) != now {
		t.Error("an entry of before is not replaced, or parts are that are still here")
	}
	h, ok := far.Hasher()
	was, _ := old.Hasher()
	if !ok || h.Check() != was.Check() || *far.Plan() != *old.Plan() || far.Row() != old.Row() || far.Contents().Kind() != catalog.Filter {
		t.Errorf("of a part that others hold the catalogue says %+v", far.Plan())
	}
	size, _ := old.Size(true)
	if _, err := far.Freeze(); !errors.Is(err, contents.ErrElsewhere) || s.Bytes() >= bytes || size > 0 {
		t.Errorf("%v; %d bytes of %d", err, s.Bytes(), bytes)
	}
	if res := apply(t, s, store.Record{ID: id, Index: 5, Body: &store.FilterAdd{Hashes: hashes(3), Room: store.Unlimited}}); !errors.Is(res.Err, contents.ErrElsewhere) || res.Changed {
		t.Errorf("adding to a part that others hold: %v", res.Err)
	}
	if e := apply(t, s, store.Record{Body: &store.Rename{From: []byte("k"), To: []byte("{other}")}}); e.Err != nil || partOf(s, id, 5) != far {
		t.Error("another name changes where parts lie")
	}

	place, _ = copyAt(s, shard)
	since := uint64(apply(t, s, store.Record{Body: &store.ShardLearn{Node: 1, Shard: uint64(shard), Version: place.Version}}).N)
	if s.Answers(partOf(s, id, 5)) || s.Holdings().Learns(shard) != since || s.Holdings().Keeps(shard) != true {
		t.Error("a node that is to learn a shard answers for it, or makes nothing in it")
	}
	copied := learnedPart(t, s, 20)
	for _, v := range []roster.Held{{Shard: shard, Since: since + 1}, {Shard: shard}, {Shard: shard + 1, Since: since}} {
		if s.Install(id, 5, copied, v) || s.Learned(v) {
			t.Errorf("a part of %+v is taken, and %d is to be learned", v, since)
		}
	}
	v := roster.Held{Shard: shard, Since: since}
	if s.Learned(v) || s.Install(id, 4, copied, v) || s.Install(id, 8, copied, v) || s.Install(id+100, 0, copied, v) {
		t.Error("a shard is whole that is not, or a part is taken that is none")
	}
	before := s.Bytes()
	if !s.Install(id, 5, copied, v) || s.Bytes() >= before || partOf(s, id, 5) != copied || copied.Shard() != shard {
		t.Errorf("a part that was learned is not in its place: %d bytes, %d before", s.Bytes(), before)
	}
	if s.Install(id, 5, learnedPart(t, s, 1), v) || s.Answers(copied) || !s.Learned(v) || s.Learned(v) || s.Answers(copied) {
		t.Error("a part is taken twice, or a node answers before the table says so")
	}
	step(t, s, &store.ShardHold{Node: 1, Shard: uint64(shard), Since: since})
	if !s.Answers(partOf(s, id, 5)) || !slices.Contains(s.Holdings().Held(), v) {
		t.Error("a node that holds a shard does not answer")
	}
	found := make([]bool, 20)
	if yes, ok := partOf(s, id, 5).Probe(found, hashes(20), true); yes != 20 || !ok {
		t.Errorf("%d of 20 items are in what was learned", yes)
	}
}

// learnedPart returns a part of a filter as holder has it, with so many items, and counts it.
func learnedPart(t *testing.T, s *store.State, items int) *contents.Part {
	t.Helper()
	from := store.New()
	p := contents.PartOf(apply(t, from, creation(t, 1000, 0)).Entry)
	apply(t, from, store.Record{ID: 1, Body: &store.FilterAdd{Hashes: hashes(items), Room: store.Unlimited}})
	copied := contents.NewPart(reload(t, s, p.Contents()))
	s.Count(copied)
	t.Cleanup(from.Discard)
	return copied
}

// TestGivenUpHoldsNothing asks that a node that was given up, or says that it has nothing,
// loses all contents, and none of what every node has.
func TestGivenUpHoldsNothing(t *testing.T) {
	for _, b := range []store.Body{
		&store.Session{Node: 1, Last: 1, Nonce: 77, Empty: true}, &store.Behind{Node: 1, Session: 1, Changes: 1},
	} {
		s, id := holder(t)
		wide := creation(t, 1000, 1).Body.(*store.Make)
		plan, err := contents.ParsePlan(contents.AppendPlan(nil, &contents.Plan{Parts: 1, Replicas: contents.AllReplicas}))
		if err != nil {
			t.Fatal(err)
		}
		outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
		if err != nil {
			t.Fatal(err)
		}
		wide.Name, wide.Header = []byte("wide"), contents.AppendCreation(nil, &plan, outline)
		everywhere := apply(t, s, store.Record{Body: wide}).Entry
		if !step(t, s, b) {
			t.Fatalf("%T does nothing", b)
		}
		if p := partOf(s, id, 0); p.Elsewhere() || s.Answers(p) {
			t.Errorf("%T: contents go where the table changes, or are answered from", b)
		}
		s.Sweep()
		for i, p := range contents.Parts(s.Names.ByID(id)) {
			if !p.Elsewhere() || s.Answers(p) {
				t.Errorf("%T: part %d is here", b, i)
			}
		}
		for i, p := range contents.Parts(s.Names.ByID(everywhere.ID)) {
			if p.Elsewhere() || !s.Answers(p) {
				t.Errorf("%T: part %d of what every node has is gone", b, i)
			}
		}
		fresh := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("fresh"), Header: creation(t, 1000, 2).Body.(*store.Make).Header}}).Entry
		for i, p := range contents.Parts(fresh) {
			if !p.Elsewhere() {
				t.Errorf("%T: part %d is made", b, i)
			}
		}
	}
}

// TestElsewhereIsRead asks that what a snapshot keeps of a part that others hold comes back,
// and that anything else is refused.
func TestElsewhereIsRead(t *testing.T) {
	s, id := holder(t)
	p := partOf(s, id, 3)
	about := p.AppendAbout(nil)
	q, err := s.Away(catalog.FilterPart, about)
	if err != nil || !q.Elsewhere() || *q.Plan() != *p.Plan() || q.Row() != p.Row() || q.Made() != p.Made() {
		t.Fatalf("%+v: %v", q, err)
	}
	if b, err := s.Away(catalog.Bloom, []byte{7}); err != nil || b.Made() != 7 || b.Plan() != nil {
		t.Errorf("a BF: %v", err)
	}
	for i := range about {
		if _, err := s.Away(catalog.Filter, about[:i]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	unknown := contents.AppendLoad([]byte{0}, &contents.Plan{}, &codec.Kind{Number: 65535}, hashing.Seeded(1))
	if _, err := s.Away(catalog.Filter, unknown); !errors.Is(err, bloomery.ErrVersion) {
		t.Errorf("of an unknown kind: %v", err)
	}
	for kind, b := range map[catalog.Kind][]byte{catalog.Filter: append(about, 0), catalog.Bloom: about, catalog.String: {0}} {
		if _, err := s.Away(kind, b); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

// FuzzElsewhere reads anything as what a snapshot keeps of a part that others hold.
func FuzzElsewhere(f *testing.F) {
	row := codec.Kinds()[0]
	f.Add(uint8(catalog.Filter), contents.AppendLoad([]byte{5}, &contents.Plan{Parts: 3, KeyID: "k"}, &row, hashing.Seeded(9)))
	f.Add(uint8(catalog.Bloom), []byte{5})
	f.Fuzz(func(t *testing.T, kind uint8, about []byte) {
		s := store.New()
		p, err := s.Away(catalog.Kind(kind), about)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		once := p.AppendAbout(nil)
		if q, err := s.Away(catalog.Kind(kind), once); err != nil || string(q.AppendAbout(nil)) != string(once) {
			t.Fatalf("%x comes back as %x: %v", about, once, err)
		}
	})
}

// TestStagedBefore asks that what was staged before contents were spread is gone then: not
// every node could say how it hashes, or whether it is whole.
func TestStagedBefore(t *testing.T) {
	s := born(t)
	for i := range int64(2) {
		apply(t, s, store.Record{Body: &store.Join{Nonce: 600 + i, Level: 3}})
	}
	apply(t, s, store.Record{Body: &store.Level{Level: store.LevelShards}})
	old := apply(t, s, store.Record{Body: store.StageDump(catalog.Filter, contents.AppendPlan(nil, &contents.Plan{}))}).Entry
	if old == nil {
		t.Fatal("nothing is staged")
	}
	if body := s.Place(&store.Stage{}, []byte("{a}b")); !body.Placed || body.Base != uint64(placement.Base("a")) {
		t.Errorf("placed %v in %d", body.Placed, body.Base)
	}
	apply(t, s, store.Record{Body: &store.ShardCopies{Copies: 2}})
	if s.Names.ByID(old.ID) != nil || len(s.Names.Unnamed()) != 0 {
		t.Error("it is still there")
	}
	if res := apply(t, s, store.Record{Body: store.StageDump(catalog.Filter, contents.AppendPlan(nil, &contents.Plan{}))}); !errors.Is(res.Err, contents.ErrRetry) {
		t.Errorf("staged as before: %v", res.Err)
	}
	if res := apply(t, s, store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{}), Placed: true}}); !errors.Is(res.Err, bloomery.ErrCorrupt) {
		t.Errorf("staged without a hash: %v", res.Err)
	}
	if res := apply(t, s, store.Record{Body: &store.Stage{As: store.OpBloomDump, Placed: true, Base: placement.Shards}}); !errors.Is(res.Err, store.ErrCondition) {
		t.Errorf("staged for a shard that is none: %v", res.Err)
	}
	if apart := store.New().Place(&store.Stage{}, []byte("a")); apart.Placed {
		t.Error("a single server places what it stages")
	}
}

// TestLoadsWhatWasSaid asks that a filter is not loaded that is another one than its record
// has said: other nodes would hash in another way.
func TestLoadsWhatWasSaid(t *testing.T) {
	s := born(t)
	sheet, err := bloom.New(50, 0.01).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	head, err := codec.Peek(sheet)
	if err != nil {
		t.Fatal(err)
	}
	kinds := codec.Kinds()
	other := kinds[slices.IndexFunc(kinds, func(k codec.Kind) bool { return k.Name == "standard" })]
	for _, c := range []struct {
		kind *codec.Kind
		hash hashing.Hasher
		fits bool
	}{{&head.Kind, hashing.Seeded(head.Check), true}, {&head.Kind, hashing.Seeded(head.Check + 1), false}, {&head.Kind, hashing.Keyless(head.Check), false}, {&other, hashing.Seeded(head.Check), false}} {
		o := &store.Stage{As: store.OpFilterLoad, Header: contents.AppendLoad(nil, &contents.Plan{}, c.kind, c.hash), Placed: true}
		e := apply(t, s, store.Record{Body: o}).Entry
		piece := func(at, n int) store.Result {
			return apply(t, s, store.Record{ID: e.ID, Body: &store.FilterPiece{Of: uint64(len(sheet)), Offset: int64(at), Data: sheet[at:n]}})
		}
		piece(0, 30)
		p := contents.PartOf(e)
		p.Lock()
		frozen, err := p.Freeze()
		p.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		first, _ := frozen.Next(make([]byte, frozen.Size()+4096))
		l, err := s.NewLoader(catalog.Filter, first, frozen.Size())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := contents.FinishLoad(l); err != nil || string(again.AppendAbout(nil)) != string(p.AppendAbout(nil)) {
			t.Errorf("half a filter does not come back: %v", err)
		}
		if res := piece(30, len(sheet)); (res.Err == nil) != c.fits || !c.fits && !errors.Is(res.Err, bloomery.ErrIncompatible) {
			t.Errorf("kind %s, check %x: %v", c.kind.Name, c.hash.Check(), res.Err)
		}
	}
}

// TestHoldsWithoutContents asks that a node that is said to hold what it has not learned does
// not answer for it, and makes nothing in it.
func TestHoldsWithoutContents(t *testing.T) {
	s, id := holder(t)
	step(t, s, &store.Session{Node: 1, Last: 1, Nonce: 77, Empty: true})
	s.Sweep()
	p := partOf(s, id, 2)
	place, _ := copyAt(s, p.Shard())
	since := uint64(apply(t, s, store.Record{Body: &store.ShardLearn{Node: 1, Shard: uint64(p.Shard()), Version: place.Version}}).N)
	step(t, s, &store.ShardHold{Node: 1, Shard: uint64(p.Shard()), Since: since})
	if s.Answers(p) || s.Holdings().Keeps(p.Shard()) {
		t.Error("it answers for what it does not have")
	}
}

// TestWhatStandsElsewhere asks that a part keeps its age when its contents go, and that a
// window without a name is none that time passes for.
func TestWhatStandsElsewhere(t *testing.T) {
	s, _ := holder(t)
	header := creation(t, 100, 0).Body.(*store.Make).Header
	plan, outline := &contents.Plan{Generation: 1000}, header[len(contents.AppendPlan(nil, &contents.Plan{})):]
	named := apply(t, s, store.Record{At: 5000, Body: &store.Make{As: store.OpFilter, Name: []byte("w"), Header: contents.AppendCreation(nil, plan, outline)}}).Entry
	unnamed := apply(t, s, store.Record{At: 5000, Body: s.Place(store.StageFilter(plan, outline), []byte("v"))}).Entry
	step(t, s, &store.Session{Node: 1, Last: 1, Nonce: 77, Empty: true})
	s.Sweep()
	for _, id := range []uint64{named.ID, unnamed.ID} {
		if p := partOf(s, id, 0); !p.Elsewhere() || p.Made() != 5 {
			t.Errorf("id %d: elsewhere %v, made %d", id, p.Elsewhere(), p.Made())
		}
	}
	if w := s.Windows(); w[named.ID] != s.Names.ByID(named.ID) || w[unnamed.ID] != nil {
		t.Errorf("windows are %v", w)
	}
}

// TestRefusedElsewhere asks that a filter that cannot be made is refused by a node that would
// not hold it: what is wrong with it shows only when it is made.
func TestRefusedElsewhere(t *testing.T) {
	holds, _ := holder(t)
	lacks, _ := holder(t)
	step(t, lacks, &store.Session{Node: 1, Last: 1, Nonce: 77, Empty: true})
	window, err := compose.WindowConfig{Capacity: 100, ErrorRate: 0.01}.New()
	if err != nil {
		t.Fatal(err)
	}
	outline, err := codec.AppendOutline(nil, window)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range outline {
		for bit := range 8 {
			outline[i] ^= 1 << bit
			body := &store.Make{As: store.OpFilter, Name: fmt.Appendf(nil, "%d.%d", i, bit), Header: contents.AppendCreation(nil, &contents.Plan{Parts: 1}, outline)}
			if n, err := store.NewBytes(body); err == nil && n < 1<<20 {
				a, b := apply(t, holds, store.Record{Body: body}), apply(t, lacks, store.Record{Body: body})
				if fmt.Sprint(a.Err) != fmt.Sprint(b.Err) {
					t.Errorf("byte %d, bit %d: %v, and where it is not held %v", i, bit, a.Err, b.Err)
				}
				if a.Err != nil {
					refused++
				}
			}
			outline[i] ^= 1 << bit
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
}
