package contents

import (
	"testing"

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
	if p.Touch(never); p.Untouched() || p.Steps() != steps || p.Run() != maxRun {
		t.Errorf("touched: %t, %d steps, %d items at once, want false, %d, %d", p.Untouched(), p.Steps(), p.Run(), steps, maxRun)
	}
	if p.Grew(100); p.Untouched() {
		t.Error("a part that grew by 100 bytes has pages to be made")
	}
	if p.Grew(memory.MapFrom); !p.Untouched() {
		t.Error("a part that grew by an array has no pages to be made")
	}
	if p.Measure(); !p.Untouched() || p.Steps() != steps {
		t.Errorf("measured: %t, %d steps, want true, %d", p.Untouched(), p.Steps(), steps)
	}
	p.Touch(never)
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
