package quotient

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// maxSkew is how many bits longer the prefix of a segment may be than it is in a
// filter of as many segments whose keys' hashes are even. It bounds the directory
// where all hashes begin with the same bits.
const maxSkew = 8

// grow makes room in a segment that has reached its limit, or in which what runs
// over its last block finds no slot. It gives its blocks more slots, or doubles
// it: in place while it is small, else into two.
func (g *Growing) grow(s *segment) error {
	q := s.shape
	if s.used < s.limit {
		q.Spill = 2*q.Spill + 2
		return g.replace(s, q, 0)
	}
	steps := g.plan.Steps()
	if q.Slots < g.plan.Slots {
		q.Slots = steps[slices.Index(steps[:], q.Slots)+1]
		return g.replace(s, q, 0)
	}
	width := g.plan.Width(s.address + 1 - g.first)
	switch {
	case s.address+width > 63:
		return fmt.Errorf("%w: %d bits of address and fingerprint, as many as a hash has", bloomery.ErrFull, s.address+width)
	case s.address-s.depth == sizing.SegmentBits && s.depth >= g.maxDepth():
		return fmt.Errorf("%w: %d keys have hashes that begin with the same %d bits", bloomery.ErrFull, s.items, s.depth)
	}
	q.Remainder, q.Slots = width, steps[0]
	if s.address-s.depth < sizing.SegmentBits {
		q.Blocks *= 2
		q.Spill = max(q.Spill, g.plan.Segment(s.address+1, q.Slots, 0).Spill)
		return g.replace(s, q, 1)
	}
	return g.replace(s, q, 2)
}

// GrowSegments returns how many segments n more keys can make grow, however they were chosen. Each is
// copied then. It looks at all segments.
func (g *segments) GrowSegments(n int) (grown int) {
	var ripe [65]int // segments by the length of how many slots they have left
	for s := range g.each {
		ripe[bits.Len64(s.left())]++
	}
	left := max(n, 0)
	grown = left / fewKeys
	for length, segments := range ripe {
		each := max(1, 1<<length>>2) // keys that it takes: half of the slots, since a count may take two
		n := min(segments, left/each)
		if grown, left = grown+n, left-n*each; n < segments {
			break
		}
	}
	return grown
}

// left returns how many slots a segment has before it grows: up to its limit, or behind its last
// block, where all keys may go.
func (s *segment) left() uint64 {
	behind := 0
	for b := s.blocks - 1; b >= s.home; b-- {
		used := bits.Len64(s.endBits(b))
		if used == 0 {
			used = min(int(s.offset(b)), s.slots)
		}
		if behind += s.slots - used; used > 0 {
			break
		}
	}
	return min(s.limit-min(s.used, s.limit), uint64(behind))
}

// fewKeys are not enough to have a segment grow twice.
const fewKeys = 512

// maxDepth returns the longest prefix that a segment may have.
func (g *segments) maxDepth() int { return bits.Len64(g.sum.count) + maxSkew }

// replace moves the entries of a segment to one of shape q, if parts is 0, or
// doubles it: to one segment of shape q, or to two.
func (g *Growing) replace(s *segment, q sizing.Quotient, parts int) error {
	for {
		if err := memory.Fits(g.sum.bits/8 + uint64(max(parts, 1))*arrayBytes(q)); err != nil {
			return err
		}
		to := g.fresh(s, q, parts)
		voids, ok := g.move(s, to)
		if !ok { // what runs over the last block needs more of them
			q.Spill = 2*q.Spill + 2
			continue
		}
		for _, e := range voids {
			g.elders.add(e.value, e.count, g.owner)
		}
		g.sum.sub(s)
		if depth := to[0].depth; depth > int(64-g.shift) {
			g.setDirectory(depth)
		}
		for _, t := range to {
			t.owner = g.owner
			g.enter(t)
			g.sum.add(t)
		}
		return nil
	}
}

// fresh returns the empty segments that take the place of s.
func (g *Growing) fresh(s *segment, q sizing.Quotient, parts int) []*segment {
	one := func(prefix uint64, depth int) *segment {
		return newSegment(q, prefix, depth, memory.Piece(int(arrayBytes(q))))
	}
	if parts < 2 {
		return []*segment{one(s.prefix, s.depth)}
	}
	return []*segment{one(s.prefix, s.depth+1), one(s.prefix|1<<uint(63-s.depth), s.depth+1)}
}

// move copies the entries of s to empty segments, and returns those that have
// become elders. It reports false if they do not fit.
func (g *Growing) move(s *segment, to []*segment) (voids []cell, ok bool) {
	builders := make([]builder, len(to))
	for i := range to {
		builders[i].t = &to[i].table
	}
	m := mover{from: s, to: to[0], elders: &g.elders}
	doubles := to[0].address > s.address
	w := s.walk()
	var buffer [32]cell
	for quotient, run, ok := w.nextRun(buffer[:]); ok; quotient, run, ok = w.nextRun(buffer[:]) {
		if !doubles {
			if !builders[0].appendRun(quotient, run) {
				return nil, false
			}
			continue
		}
		m.double(quotient, run)
		for half, cells := range m.halves {
			if !builders[m.part(quotient)].appendRun(m.quotient(quotient, half), cells) {
				return nil, false
			}
		}
	}
	for i := range builders {
		builders[i].finish()
		to[i].setTotals(builders[i].totals)
		to[i].reach = to[i].measured()
		g.reach = g.reach.most(to[i].reach)
		to[i].mass = m.mass[i]
	}
	if !doubles {
		to[0].mass = s.mass
	}
	return m.voids, true
}

// mover doubles the runs of a segment.
type mover struct {
	from, to *segment // to is the first of those it moves to
	elders   *elders
	halves   [2][]cell // the runs that a run becomes
	voids    []cell    // new elders, by their codes
	mass     [2]uint64 // of the segments it moves to
}

// part returns which segment the runs of a quotient go to.
func (m *mover) part(quotient uint64) int {
	if m.to.depth == m.from.depth {
		return 0
	}
	return int(quotient >> uint(m.from.address-m.from.depth-1))
}

// quotient returns the quotient of a half of a run in its segment.
func (m *mover) quotient(quotient uint64, half int) uint64 {
	return (quotient<<1 | uint64(half)) & (m.to.quotients - 1)
}

// double sets halves to the runs that a run becomes: the first bit of every
// fingerprint becomes the last one of its quotient. A fingerprint that has no
// bits then is void and becomes an elder. A void slot goes to both halves, unless
// no elder covers it any more.
func (m *mover) double(quotient uint64, run []cell) {
	m.halves[0], m.halves[1] = m.halves[0][:0], m.halves[1][:0]
	void, mask, more := m.from.void(), m.from.mask, int(m.to.width)-int(m.from.width)
	var isVoid [2]bool
	for _, c := range run {
		if c.value == void {
			covered := m.elders.covers(m.from.hashOf(quotient))
			isVoid[0], isVoid[1] = isVoid[0] || covered, isVoid[1] || covered
			continue
		}
		half := int(c.value >> (m.from.width - 1))
		c.value = c.value << 1 & mask
		if c.value == void {
			isVoid[half] = true
			h := m.from.hashOf(quotient) | uint64(half)<<uint(63-m.from.address)
			m.voids = append(m.voids, cell{elderCode(h, m.to.address), c.count})
			continue
		}
		if more >= 0 {
			c.value <<= uint(more)
		} else {
			c.value >>= uint(-more) // by one, which the shift has left free
		}
		m.halves[half] = append(m.halves[half], c)
	}
	part := m.part(quotient)
	for half, is := range isVoid {
		if is {
			m.halves[half] = withVoid(m.halves[half], m.to.void())
		}
		for _, c := range m.halves[half] {
			m.mass[part] += m.to.share(c.value)
		}
	}
}

// withVoid inserts a void slot into a run that has none.
func withVoid(run []cell, void uint64) []cell {
	i, _ := slices.BinarySearchFunc(run, void, func(c cell, v uint64) int {
		if c.value < v {
			return -1
		}
		return 1
	})
	return slices.Insert(run, i, cell{void, 1})
}

// trailing returns the number of a bit that is set alone.
func trailing(bit uint64) uint64 { return uint64(bits.TrailingZeros64(bit)) }
