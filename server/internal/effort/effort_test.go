package effort_test

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// fields returns the figures of a size that are compared.
func fields(s effort.Size) []uint64 {
	return []uint64{s.Bytes, s.Item, s.Change, s.Search, s.Look, s.Arrays, s.Grown, s.Rows}
}

// TestMoreItemsAreMoreWork asks that nothing is said to touch less with more items.
func TestMoreItemsAreMoreWork(t *testing.T) {
	params := redisbloom.CuckooParams{Capacity: 1000, BucketSize: 2, MaxIterations: 20, Expansion: 1}
	small := redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2}
	kinds := map[string]func(effort.Adding) effort.Size{
		"bf":      func(a effort.Adding) effort.Size { return effort.NewBloom(small.Layers(a.Items), a) },
		"cf":      func(a effort.Adding) effort.Size { return effort.Cuckoo(params.Shape(), a) },
		"cms":     func(effort.Adding) effort.Size { return effort.CountMin(1<<20, 5) },
		"topk":    func(effort.Adding) effort.Size { return effort.TopK(1<<20, 50, 7) },
		"tdigest": func(a effort.Adding) effort.Size { return effort.TDigest(1<<20, a) },
	}
	for _, name := range []string{"bloom", "standard", "scalable", "window", "quorum", "cuckoo", "quotient", "growing"} {
		made := effort.New{Kind: name, Bytes: 1 << 20, Parts: 4}
		kinds["new "+name] = made.Size
	}
	for name, f := range map[string]bloomery.Hashed{
		"bloom": bloom.New(1000, 0.01), "scalable": bloom.NewScalable(1000, 0.01), "counting": counting.New(1000, 0.01),
		"cuckoo": cuckoo.New(1000, 0.01), "quotient": quotient.New(1000, 0.01), "growing": quotient.NewGrowing(1000, 0.01),
	} {
		kinds[name] = func(a effort.Adding) effort.Size { return effort.Filter(f, 1<<20, 1, uint64(a.Items), a) }
	}
	for name, size := range kinds {
		before := size(effort.Adding{Filters: 64})
		if before.Bytes == 0 && name != "bf" || before.Item == 0 && name != "bf" {
			t.Errorf("%s without items: %+v", name, before)
		}
		for _, n := range []int{1, 100, 10_000, 1_000_000} {
			s := size(effort.Adding{Items: n, Hashes: n, Deletes: n, Filters: 64})
			for i, v := range fields(s) {
				if v < fields(before)[i] {
					t.Errorf("%s with %d items: %+v, with fewer %+v", name, n, s, before)
					break
				}
			}
			before = s
		}
	}
}

// TestParts adds the sizes of parts.
func TestParts(t *testing.T) {
	var s effort.Size
	s.With(effort.Size{Bytes: 10, Item: 7, Change: 1, Search: 3, Look: 5, Arrays: 2, Grown: 4, Rows: 6})
	s.With(effort.Size{Bytes: 20, Item: 6, Change: 2, Search: 2, Look: 4, Arrays: 1, Grown: 5, Rows: 6})
	if want := (effort.Size{Bytes: 30, Item: 7, Change: 2, Search: 3, Look: 5, Arrays: 3, Grown: 9, Rows: 6}); s != want {
		t.Errorf("both parts: %+v, want %+v", s, want)
	}
	if s.InParts(1, 16); s.Look != 5 || s.Parts != 1 {
		t.Errorf("as one part: %+v", s)
	}
	if s.InParts(100, 16); s.Look != 16*5+100<<12 || s.Parts != 100 {
		t.Errorf("as 100 parts: %+v", s)
	}
	largest := effort.Size{Bytes: math.MaxUint64, Grown: math.MaxUint64}
	s.With(largest)
	if s.With(largest); s.Bytes > math.MaxInt64 || s.Grown > math.MaxInt64 || s.Bytes < math.MaxInt64/4 {
		t.Errorf("sums pass the largest number: %+v", s)
	}
}

// TestEnough asks when a size is beyond what is of interest.
func TestEnough(t *testing.T) {
	s := effort.Size{Item: 10, Grown: 50}
	for a, want := range map[effort.Adding]bool{
		{}:                      false,
		{Most: 49}:              true,
		{Most: 50}:              false,
		{Most: 1000, Items: 99}: false,
		{Most: 999, Items: 100}: true,
	} {
		if got := a.Enough(&s); got != want {
			t.Errorf("%+v: %v, want %v", a, got, want)
		}
	}
}

// TestNearAndFar asks that an item costs more in an array that does not stay in the caches.
func TestNearAndFar(t *testing.T) {
	if near, far := effort.CountMin(1<<20, 5), effort.CountMin(1<<20+1, 5); near.Item >= far.Item || far.Rows != 5 {
		t.Errorf("an item takes %d nearby, and %d far away", near.Item, far.Item)
	}
}

// TestWhatTakesLong asks that what makes an item slow counts: many slots of a TOPK, hashes
// that were chosen, segments that are copied, buckets that are full.
func TestWhatTakesLong(t *testing.T) {
	const items = 10_000
	chosen := effort.Adding{Items: items, Hashes: items}
	filter := func(f bloomery.Hashed, a effort.Adding) effort.Size { return effort.Filter(f, 1<<20, 1, 0, a) }
	slow := quotient.New(items, 0.01)
	narrow := redisbloom.CuckooParams{Capacity: 1 << 20, BucketSize: 2, MaxIterations: 20, Expansion: 1}
	wide := narrow
	wide.MaxIterations = 1000
	fixed := narrow
	fixed.Capacity, fixed.Expansion = 1<<21, 0
	deletes := effort.Adding{Deletes: 9}
	tiny := redisbloom.CuckooShape{Filters: 4, Items: 100, Slots: 400, Newest: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}
	claims := tiny
	claims.Slots, claims.Newest = 4000, 1000   // all of which may be in use
	for name, v := range map[string][2]uint64{ // the second is larger, by far
		"slots of a TOPK":       {effort.TopK(1<<10, 10, 7).Item, effort.TopK(1<<10, 1e6, 7).Item},
		"chosen hashes":         {filter(slow, effort.Adding{Items: items}).Change, filter(slow, chosen).Change},
		"segments":              {filter(slow, effort.Adding{}).Change, filter(quotient.NewGrowing(items, 0.01), effort.Adding{}).Change},
		"searches for room":     {filter(cuckoo.New(1e6, 0.01), effort.Adding{Items: 1}).Search, filter(cuckoo.New(1e6, 0.01), chosen).Search},
		"moves of a CF":         {effort.Cuckoo(narrow.Shape(), chosen).Item, effort.Cuckoo(wide.Shape(), chosen).Item},
		"compactions of a CF":   {effort.Cuckoo(narrow.Shape(), chosen).Grown, effort.Cuckoo(narrow.Shape(), effort.Adding{Items: items, Deletes: items, Filters: 64}).Grown},
		"what is looked at":     {0, effort.NewBloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1 << 20, Expansion: 2}.Layers(1), chosen).Look},
		"moves that fail":       {effort.Cuckoo(narrow.Shape(), effort.Adding{Items: 100}).Item, effort.Cuckoo(fixed.Shape(), effort.Adding{Items: 100}).Item},
		"slots of a compaction": {effort.Cuckoo(tiny, deletes).Grown, effort.Cuckoo(claims, deletes).Grown},
		"moves when it is full": {effort.Cuckoo(narrow.Shape(), effort.Adding{Items: 100}).Item, effort.Cuckoo(narrow.Shape(), effort.Adding{Items: 1 << 20}).Item},
		"sizes of new layers":   {effort.New{Kind: "bloom", Bytes: 1, Parts: 1}.Size(chosen).Grown, effort.New{Kind: "scalable", Bytes: 1, Parts: 1}.Size(chosen).Grown},
		"values of a digest":    {1 << 20, effort.TDigest(1<<20, effort.Adding{Items: 1}).Grown},
		"layers of a new kind":  {effort.New{Kind: "bloom", Bytes: 1 << 20, Parts: 1}.Size(chosen).Item, effort.New{Kind: "window", Bytes: 1 << 20, Parts: 1}.Size(chosen).Item},
	} {
		if v[1] < 2*v[0] || v[1] == 0 {
			t.Errorf("%s: %d, and without %d", name, v[1], v[0])
		}
	}
}

// TestNewPages holds what items count for that are written to something new to figures that follow from the rule: twice the
// bytes of each page that they may lie on, and of the whole at most.
func TestNewPages(t *testing.T) {
	const mib = 1 << 20
	adds := func(n int) effort.Adding { return effort.Adding{Items: n} }
	seeks := effort.Adding{Seeks: 100}
	for _, tt := range []struct{ got, want uint64 }{
		{effort.Made(8*mib, seeks, 7), 0}, // four huge pages that the system only shows
		{effort.Made(effort.LargeMade, seeks, 7), 700 * 2048},
		{effort.Written(mib, seeks, 7), mib / 2},
		{effort.Made(8*mib, adds(1), 1), 4 * mib}, // a huge page
		{effort.Made(8*mib, adds(100), 7), 2 * (8*mib + 4096)},
		{effort.Made(effort.LargeMade, adds(1), 1), 8192},
		{effort.Made(effort.LargeMade, adds(100), 7), 700 * 8192},
		{effort.Written(8*mib, adds(100), 7), 700 * 8192},
		{effort.Written(mib, adds(100), 7), 2 * (mib + 4096)},
	} {
		if tt.got != tt.want {
			t.Errorf("%d bytes, want %d", tt.got, tt.want)
		}
	}
	const items, pages = 10, 8192
	a := effort.Adding{Items: items}
	without := effort.Adding{}
	for kind, places := range map[string]uint64{
		"bloom": 1, "cuckoo": 2, "standard": 16, "partitioned": 16, "quotient": 16, "stable": 16, "window": 16, "quorum": 256 * 16,
	} {
		made := effort.New{Kind: kind, Bytes: 400 * mib, Parts: 1}
		if got, want := made.Size(a).Grown-made.Size(without).Grown, items*places*pages; got < want || got > want+items*64 {
			t.Errorf("%s: %d items count for %d bytes of new pages, want %d", kind, items, got, want)
		}
	}
	grown := uint64(400 * mib)
	if got := effort.Filter(bloom.NewScalable(1000, 0.01), mib, 1, grown, a).Grown - effort.Filter(bloom.NewScalable(1000, 0.01), mib, 1, 0, a).Grown; got < items*16*pages-8192 {
		t.Errorf("growth of a scalable filter by %d bytes counts for %d", grown, got)
	}
	shape := redisbloom.CuckooParams{Capacity: 100_000_000, BucketSize: 2, MaxIterations: 20, Expansion: 1}.Shape()
	plain := effort.Cuckoo(shape, effort.Adding{Items: 100_000, Filters: 1}).Grown
	if got := effort.Cuckoo(shape, effort.Adding{Items: 100_000, Filters: 32}).Grown - plain; got < 100_000*pages {
		t.Errorf("100,000 items of a CF that may grow count for %d bytes of new pages", got)
	}
	sought := effort.Cuckoo(shape, effort.Adding{Items: 1000, Seeks: 1000, Filters: 32}).Grown - effort.Cuckoo(shape, effort.Adding{Items: 1000, Filters: 32}).Grown
	if want := uint64(1000 * 2 * 31 * 2048); sought != want {
		t.Errorf("1,000 items that are sought count for %d bytes of new pages, want %d", sought, want)
	}
}

// TestDeletesCompactSeldom asks how often deletes may compact a CF that some adds may make grow: of one with many items, whenever a
// tenth is gone.
func TestDeletesCompactSeldom(t *testing.T) {
	shape := redisbloom.CuckooParams{Capacity: 1_000_000, BucketSize: 2, MaxIterations: 20, Expansion: 1}.Shape()
	without := effort.Cuckoo(shape, effort.Adding{Items: 1, Filters: 2}).Grown
	for _, tt := range []struct{ items, deletes, compactions uint64 }{
		{100_000, 1, 1}, {100_000, 9000, 1}, {100_000, 10_000, 2}, {100_000, 50_000, 11}, {100_000, 99_999, 200},
		{100_000, 100_000, 200 + 100_001/8}, {0, 8, 8}, {0, 10_000, 200 + 10_001/8},
	} {
		shape.Items = tt.items
		got := effort.Cuckoo(shape, effort.Adding{Items: 1, Deletes: int(tt.deletes), Filters: 2}).Grown - without
		steps := uint64(16 << 10)
		if want := tt.compactions * steps * 16; got != want {
			t.Errorf("%d deletes from %d items count for %d bytes, want %d", tt.deletes, tt.items, got, want)
		}
	}
}

// TestDeletesCountSlots asks what deletes count for that have slots of a CF counted: those of one that says that it has few items.
func TestDeletesCountSlots(t *testing.T) {
	shape := redisbloom.CuckooShape{Slots: 40 << 17, Newest: 1 << 17, Filters: 40, BucketSize: 4, MaxIterations: 20, Expansion: 1}
	for _, tt := range []struct{ items, newest, slots, each uint64 }{
		{150, 1 << 17, 40 << 17, 64 << 10}, {150, 1 << 10, 40 << 10, 10 << 10}, {211, 1 << 17, 40 << 17, 64 << 10}, {212, 1 << 17, 40 << 17, 0},
		{150, 1 << 19, 40 << 19, 0}, {1 << 40, 1 << 10, 40 << 10, 0},
	} {
		shape.Items, shape.Newest, shape.Slots = tt.items, tt.newest, tt.slots
		once := uint64(16<<10) * 16 // it may compact, too
		if got := effort.Cuckoo(shape, effort.Adding{Deletes: 1}).Grown - once; got != tt.each {
			t.Errorf("%+v: a delete counts for %d bytes more than a compaction", tt, got)
		}
	}
}

// TestArraysThatItemsMake holds the figures of what grows, and of what is made, to those of the arrays that it gets.
func TestArraysThatItemsMake(t *testing.T) {
	const mib, array = 1 << 20, 16 << 10
	params := redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 5_000_000, Expansion: 2}
	for l := range params.Layers(1) { // on huge pages at once
		want := array + effort.Made(l.Bytes, effort.Adding{Items: 1}, uint64(l.Hashes))
		if got := effort.NewBloom(params.Layers(1), effort.Adding{Items: 1}).Grown; got != want || l.Bytes >= effort.LargeMade {
			t.Errorf("a BF of %d bytes is made: %d, want %d", l.Bytes, got, want)
		}
	}
	params = redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 32768}
	b, err := redisbloom.NewBloom(params)
	if err != nil {
		t.Fatal(err)
	}
	for l := range b.Grown(101) { // on small ones for a second
		want := array + effort.Written(l.Bytes, effort.Adding{Items: 101}, uint64(l.Hashes))
		if got := effort.Bloom(b, effort.Adding{Items: 101}).Grown; got != want || l.Bytes < 2*mib {
			t.Errorf("a BF grows by %d bytes: %d, want %d", l.Bytes, got, want)
		}
	}
	f, a := bloom.NewScalable(1000, 0.01), effort.Adding{Items: 10}
	without, with := effort.Filter(f, mib, 1, 0, a), effort.Filter(f, mib, 1, 8*mib, a)
	if got, want := with.Grown-without.Grown, effort.Written(8*mib, a, 16)-effort.Written(0, a, 16); got != want || with.Bytes-without.Bytes != 8*mib {
		t.Errorf("a filter grows by %d bytes, which count for %d, want %d and %d", with.Bytes-without.Bytes, got, 8*mib, want)
	}
	shape := redisbloom.CuckooParams{Capacity: 4096, BucketSize: 2, MaxIterations: 20, Expansion: 4}.Shape()
	if s := effort.Cuckoo(shape, effort.Adding{Items: 1000, Filters: 3}); s.Bytes != shape.Slots*(1+4+16) {
		t.Errorf("a CF of %d bytes that grows twice: %d", shape.Slots, s.Bytes)
	}
	a = effort.Adding{Items: 1000, Filters: 3}
	plain := effort.Cuckoo(shape, a).Grown
	a.Seeks = 1000
	if got, want := effort.Cuckoo(shape, a).Grown-plain, shape.Slots*(4+16)/2; got != want {
		t.Errorf("items that are sought in small arrays count for %d, want %d", got, want)
	}
}
