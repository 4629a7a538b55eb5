package contents

// Pages of arrays that the system has not made yet. It makes a huge page of 2 MiB when it is first
// written, which takes 0.4 to 2 milliseconds. In a new array almost every place of an item lies on such a page,
// and the part would be locked meanwhile. So the pages are made before, under no lock. What a filter gets while it is
// locked lies on small pages for a second: see memory.Arena.

import (
	"iter"
	"slices"
	"unsafe"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/sizing"
)

// fewPages is how many pages are made under the lock of a part: that takes some tens of milliseconds at most. To
// make all pages for items of so few could take seconds.
const fewPages = 32

// FewItems returns how many items are added at once to a part whose pages may not be there: none if one lies in
// very many places. It needs no lock of p.
func (p *Part) FewItems() int {
	p.RLock()
	defer p.RUnlock()
	return fewPages / places(p.contents)
}

// places returns in how many places of its arrays an item lies that is added to contents.
func places(c Contents) int {
	const others = 8 // of kinds that do not say it; many have 1 or 2
	switch c := c.(type) {
	case bloom:
		return max(1, int(c.Layer(c.Layers()-1).Hashes))
	case countMin:
		return int(c.depth)
	case topK:
		return int(c.Depth())
	case *Filter:
		n := 0
		effort.EachMember(c.f, func(f bloomery.Hashed) {
			switch f := f.(type) {
			case *bloomfilter.Filter, *bloomfilter.Split: // all of it lies in one line
				n++
			case interface{ Shape() sizing.Shape }:
				n += f.Shape().K
			default:
				n += others
			}
		})
		return max(1, n)
	case *Draft:
		if c.inner != nil {
			return places(c.inner)
		}
	}
	return others
}

// Bits of the steps of a part.
const (
	untouched = 1 << 30 // the system may still have to make pages of its arrays
	scattered = 1 << 29 // and one item lies on more than a few of these
	loose     = 1 << 28 // its arrays may lie on small pages

	pageBits = untouched | scattered | loose
)

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

// Scattered reports whether that is so for a single item, too. It needs no lock.
func (p *Part) Scattered() bool { return p.steps.Load()&scattered != 0 }

// Loose reports whether arrays of p may lie on small pages: see Gather. It needs no lock.
func (p *Part) Loose() bool { return p.steps.Load()&loose != 0 }

// Shown returns how many small pages the system may have to show, empty, when so many items are looked for in p: it takes a
// microsecond for each. It needs no lock of p.
func (p *Part) Shown(items uint64) uint64 {
	const page = 4 << 10
	if !p.Loose() {
		return 0
	}
	p.RLock()
	defer p.RUnlock()
	return min(p.Bytes()/page, min(items, 1<<32)*uint64(places(p.contents)))
}

// fresh notes that p has arrays whose pages may not be there.
func (p *Part) fresh() {
	if p.steps.Or(untouched | loose); places(p.contents) > fewPages {
		p.steps.Or(scattered)
	}
}

// Touch has the system make the pages of all arrays of p that are not there yet: see memory.Touch. It
// changes nothing else. Others may use p meanwhile; if they replace its arrays, Touch goes on with the new
// ones, up to four rounds in all. The caller holds no lock.
func (p *Part) Touch(stop func() bool) { p.eachArray(stop, memory.Touch, pageBits) }

// Gather is Touch before items are looked for: it moves to huge pages what there is of arrays that lie on small ones, and makes no
// other pages. Of what is not there, the system shows 2 MiB at a time from then on.
func (p *Part) Gather(stop func() bool) { p.eachArray(stop, memory.Gather, loose) }

// eachArray does something with all arrays, and clears the bits that say that it has to be done.
func (p *Part) eachArray(stop func() bool, do func(b []byte, stop func() bool) bool, done int32) {
	const tries = 4
	order.Waits("pages of arrays")
	arrays := p.large()
	for try := 1; ; try++ {
		for _, b := range arrays {
			if !do(b, stop) {
				return
			}
		}
		p.RLock()
		now := p.placed()
		over := try == tries || slices.EqualFunc(arrays, now, same)
		if over {
			p.steps.And(^done)
		}
		p.RUnlock()
		if over {
			return
		}
		arrays = now
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
		p.fresh()
	}
}

// Grew notes that p has grown by n bytes. The caller holds the lock of p.
func (p *Part) Grew(n int64) {
	p.Measure()
	if n >= memory.MapFrom {
		p.fresh()
	}
}
