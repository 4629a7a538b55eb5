package contents

// Pages of arrays that the system has not made yet. It makes a huge page of 2 MiB when it is first
// written, which takes 0.4 to 2 milliseconds. In a new array almost every place of an item lies on such a page,
// and the part would be locked meanwhile. So the pages are made before, under no lock.

import (
	"iter"
	"slices"
	"unsafe"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/order"
)

// FewItems is how many items are added at once to a part whose pages may not be there: that takes
// some milliseconds. To make all pages for so few could take seconds.
const FewItems = 4

// largeGrowth is the growth, in bytes, from which on items are added few at a time.
const largeGrowth = 8 << 20

// untouched is a bit of the steps of a part: the system may still have to make pages of its arrays.
const untouched = 1 << 30

// placed is contents with arrays in which an item may lie anywhere.
type placed interface{ Arrays() iter.Seq[[]byte] }

// Arrays returns an iterator over the arrays of a filter, and of the one that it keeps aside.
func (c *Filter) Arrays() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if c.own != nil {
			for _, b := range c.own.list {
				if !yield(b) {
					return
				}
			}
		}
		if c.aside != nil && c.aside.added != nil {
			c.aside.added.Arrays()(yield)
		}
	}
}

// Arrays returns those of the filter inside the shadow.
func (d *Draft) Arrays() iter.Seq[[]byte] {
	if d.inner == nil {
		return func(func([]byte) bool) {}
	}
	return d.inner.Arrays()
}

// Untouched reports whether pages may have to be made for what is added to p: see Touch. It needs
// no lock.
func (p *Part) Untouched() bool { return p.steps.Load()&untouched != 0 }

// RunOf is Run for n items that are added. If they may make p grow by a large array, it returns FewItems at
// most, so that the pages of the array can be made once it is there. The caller holds no lock.
func (p *Part) RunOf(n int) int {
	most := p.Run()
	if n <= FewItems {
		return most
	}
	p.RLock()
	defer p.RUnlock()
	if p.contents == nil || p.Gone() {
		return most
	}
	if bytes, sure := p.contents.Growth(min(n, most)); sure && bytes >= largeGrowth {
		return min(most, FewItems)
	}
	return most
}

// Touch has the system make the pages of all arrays of p that are not there yet: see memory.Touch. It
// changes nothing else. Others may use p meanwhile; if they replace its arrays, Touch goes on with the new
// ones, up to four rounds in all. The caller holds no lock.
func (p *Part) Touch(stop func() bool) {
	const tries = 4
	order.Waits("pages of arrays")
	arrays := p.large()
	for try := 1; ; try++ {
		for _, b := range arrays {
			if !memory.Touch(b, stop) {
				return
			}
		}
		p.RLock()
		now := p.placed()
		over := try == tries || slices.EqualFunc(arrays, now, same)
		if over {
			p.steps.And(^untouched)
		}
		p.RUnlock()
		if over {
			return
		}
		arrays = now
	}
}

// Touch calls [Part.Touch] for all parts of an entry that need it.
func Touch(e *catalog.Entry, stop func() bool) {
	for _, p := range Parts(e) {
		if p.Untouched() {
			p.Touch(stop)
		}
	}
}

// large returns the arrays of p that are not on the heap.
func (p *Part) large() [][]byte {
	p.RLock()
	defer p.RUnlock()
	return p.placed()
}

// placed is large for a caller that holds the lock.
func (p *Part) placed() (list [][]byte) {
	c, ok := p.contents.(placed)
	if !ok || p.Gone() {
		return nil
	}
	for b := range c.Arrays() {
		if len(b) >= memory.MapFrom {
			list = append(list, b)
		}
	}
	return list
}

func same(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) && len(a) == len(b) }

// Renewed notes that p has new arrays. The caller holds the lock of p, or is the only one who
// has it.
func (p *Part) Renewed() {
	p.Measure()
	if len(p.placed()) > 0 {
		p.steps.Or(untouched)
	}
}

// Grew notes that p has grown by n bytes. The caller holds the lock of p.
func (p *Part) Grew(n int64) {
	p.Measure()
	if n >= memory.MapFrom {
		p.steps.Or(untouched)
	}
}
