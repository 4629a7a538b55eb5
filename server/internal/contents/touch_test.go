package contents

import (
	"strconv"
	"testing"

	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestTouch asks which parts have pages to be made, before and after they were touched, grew, and got
// other arrays.
func TestTouch(t *testing.T) {
	var s Supply
	s.Init()
	bf := func(capacity uint64) *Part {
		list, err := s.Bloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: capacity, Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		return NewPart(list[0])
	}
	never := func() bool { return false }
	if small := bf(1000); small.Untouched() {
		t.Error("a small part has pages to be made")
	}
	p := bf(1_000_000)
	steps := p.Steps()
	if !p.Untouched() {
		t.Fatal("a new part has no pages to be made")
	}
	if p.Touch(func() bool { return true }); !p.Untouched() {
		t.Error("Touch was stopped, and no pages are left")
	}
	if p.Gather(func() bool { return true }); !p.Loose() {
		t.Error("Gather was stopped, and all arrays lie on huge pages")
	}
	if p.Gather(never); p.Loose() || !p.Untouched() {
		t.Errorf("gathered: on small pages %t, pages to be made %t, want false, true", p.Loose(), p.Untouched())
	}
	if p.Touch(never); p.Untouched() || p.Steps() != steps || p.Run() != maxRun {
		t.Errorf("touched: %t, %d steps, %d items at once, want false, %d, %d", p.Untouched(), p.Steps(), p.Run(), steps, maxRun)
	}
	if p.Grew(100); p.Untouched() {
		t.Error("a part that grew by 100 bytes has pages to be made")
	}
	if p.Grew(memory.MapFrom); !p.Untouched() || !p.Loose() {
		t.Error("a part that grew by an array has no pages to be made")
	}
	if p.Measure(); !p.Untouched() || p.Steps() != steps {
		t.Errorf("measured: %t, %d steps, want true, %d", p.Untouched(), p.Steps(), steps)
	}
	if p.Touch(never); p.Loose() {
		t.Error("a part that was touched lies on small pages")
	}
	if p.Renewed(); !p.Untouched() {
		t.Error("a part with other arrays has no pages to be made")
	}
	if p.Leave(false); true {
		if p.Touch(never); p.Untouched() {
			t.Error("a part that is gone has pages to be made")
		}
	}
}

// TestTouchOfArraysThatChange gives a part other arrays while its old ones are touched: these are next.
// If that goes on, Touch ends all the same.
func TestTouchOfArraysThatChange(t *testing.T) {
	var s Supply
	s.Init()
	make := func() Contents {
		list, err := s.Bloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1_000_000, Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	for changes, want := range map[int]int{0: 1, 1: 2, 100: 4} {
		p, asked := NewPart(make()), 0
		p.Touch(func() bool {
			if asked++; asked <= changes {
				p.Lock()
				defer p.Unlock()
				p.contents = make()
				p.Renewed()
			}
			return false
		})
		if asked != want || p.Untouched() {
			t.Errorf("%d changes: %d arrays were touched, %t, want %d, false", changes, asked, p.Untouched(), want)
		}
	}
}

// TestScatteredItemsAreFew asks that few items are added under one lock if each lies in many places: a filter that grows meanwhile
// has a page made for every one.
func TestScatteredItemsAreFew(t *testing.T) {
	var s Supply
	s.Init()
	for rate, most := range map[float64]int{0.01: maxRun, 0.001: maxRun, 1e-15: 70, 1e-60: 18, 1e-250: 5} {
		list, err := s.Bloom(redisbloom.BloomParams{ErrorRate: rate, Capacity: 1000, Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		if p := NewPart(list[0]); p.Run() > most || p.Run() < most*4/5 {
			t.Errorf("a BF of rate %v takes %d items under one lock, want %d", rate, p.Run(), most)
		}
	}
	for rate, most := range map[float64]int{0.01: maxRun, 1e-60: 54} {
		outline, err := codec.AppendOutline(nil, bloomfilter.NewStandard(1000, rate))
		if err != nil {
			t.Fatal(err)
		}
		if p := NewPart(made(t, &s, outline)); p.Run() > most || p.Run() < most*4/5 {
			t.Errorf("a filter of rate %v takes %d items under one lock, want %d", rate, p.Run(), most)
		}
	}
	// Each layer has one place more than that before it.
	list, err := s.Bloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1, Expansion: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, b := NewPart(list[0]), list[0].(bloom)
	for i := 0; b.Layers() < 70; i++ {
		if _, err := b.Add([]byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if p.Measure(); p.Run() > 50 {
		t.Errorf("a BF whose newest layer has %d places takes %d items under one lock", b.Layer(69).Hashes, p.Run())
	}
}

// TestFiltersGrowOnSmallPages asks in what memory filters are made, and by which they grow.
func TestFiltersGrowOnSmallPages(t *testing.T) {
	var s Supply
	s.Init()
	if s.arena.Sparse() == s.arena {
		t.Skip("this system has one kind of memory")
	}
	if s.empty(1<<20) != s.arena || s.empty(64<<20) != s.arena.Sparse() {
		t.Error("small filters are made on small pages, or large ones on huge pages")
	}
	outline, err := codec.AppendOutline(nil, bloomfilter.NewScalable(1_000_000, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	if c := made(t, &s, outline); c.own == nil || c.own.memory != s.arena.Sparse() {
		t.Error("a filter does not grow on small pages")
	}
}
