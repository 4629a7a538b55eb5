package quotient

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// growingHead is the number of words that the payload of a growing filter begins
// with: items, slots in use, mass, segments and elders.
const growingHead = 5

// header returns the header of the filter's encoding.
func (g *segments) header() envelope.Header {
	h := envelope.Header{
		Kind:     envelope.KindGrowing,
		Hash:     g.hasher.Kind(),
		Check:    g.hasher.Check(),
		K:        uint8(g.plan.Bits),
		Extra:    uint32(g.plan.Slots) | uint32(g.plan.Expected)<<8 | uint32(g.first)<<16,
		Capacity: g.capacity,
		Rate:     g.rate,
		Size:     g.sum.bits,
		Payload:  8*(growingHead+g.sum.count+2*uint64(g.elders.size)) + g.sum.bytes,
	}
	return h
}

// parts returns the payload in parts: the head with the shapes of all segments,
// the elders, and the array of each segment.
func (g *segments) parts() iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		if !yield(g.head(), nil) || !yield(g.elders.words(), nil) {
			return
		}
		for s := range g.each {
			if !yield(envelope.WordsOf(s.data), nil) {
				return
			}
		}
	}
}

// head returns the head of the payload, with the shapes of all segments.
func (g *segments) head() []uint64 {
	head := []uint64{g.sum.items, g.sum.used, g.sum.mass, g.sum.count, uint64(g.elders.size)}
	for s := range g.each {
		head = append(head, s.code())
	}
	return head
}

// code returns the shape of a segment as one word.
func (s *segment) code() uint64 {
	return uint64(s.depth) | uint64(s.address-s.depth)<<8 | uint64(s.shape.Slots)<<16 | s.shape.Spill<<32
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (g *Growing) AppendBinary(dst []byte) ([]byte, error) {
	if g.dir == nil {
		return dst, errZero("marshal")
	}
	var parts [][]uint64
	for part := range g.parts() {
		parts = append(parts, part)
	}
	return envelope.Append(dst, g.header(), parts...), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (g *Growing) MarshalBinary() ([]byte, error) { return g.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (g *Growing) WriteTo(w io.Writer) (int64, error) {
	if g.dir == nil {
		return 0, errZero("write")
	}
	return envelope.WriteSeq(w, g.header(), g.parts())
}

// parseGrowing returns the filter that h describes, without its segments. given
// is the hasher for filters whose hasher is not in the header.
func parseGrowing(h envelope.Header, given hashing.Hasher) (segments, error) {
	if err := h.CheckKind(envelope.KindGrowing); err != nil {
		return segments{}, err
	}
	g := segments{
		plan:     sizing.Growing{Slots: int(h.Extra & 255), Bits: int(h.K), Expected: int(h.Extra >> 8 & 255)},
		first:    int(h.Extra >> 16),
		capacity: h.Capacity, rate: h.Rate,
	}
	if err := g.plan.Valid(); err != nil {
		return segments{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	if address, _ := g.plan.First(max(min(g.capacity, 1<<48), 1)); g.capacity == 0 || g.capacity > 1<<48 || address != g.first {
		return segments{}, fmt.Errorf("%w: %d address bits for %d keys", bloomery.ErrCorrupt, g.first, g.capacity)
	}
	if h.Payload < 8*growingHead {
		return segments{}, fmt.Errorf("%w: payload of %d bytes", bloomery.ErrCorrupt, h.Payload)
	}
	var err error
	g.hasher, err = h.Hasher(given)
	return g, err
}

// fill gives g the segments of a payload, which stay where they lie in it. All
// lengths are checked, and nothing else.
func (g *segments) fill(h envelope.Header, payload []byte) error {
	word := func(i uint64) uint64 { return binary.LittleEndian.Uint64(payload[8*i:]) }
	all := uint64(len(payload)) / 8
	g.sum = sums{items: word(0), count: word(3)}
	count, old := word(3), word(4)
	if count == 0 || count > all-growingHead || old > (all-growingHead-count)/2 {
		return fmt.Errorf("%w: %d segments and %d elders in %d words", bloomery.ErrCorrupt, count, old, all)
	}
	list, err := g.shapes(payload[8*growingHead:][:8*count], payload[8*(growingHead+count+2*old):])
	if err != nil {
		return err
	}
	g.unmeasured = true
	words := make([]uint64, 2*old)
	envelope.GetWords(words, payload[8*(growingHead+count):][:8*len(words)])
	if g.elders, err = parseElders(words, g.owner); err != nil {
		return err
	}
	g.sum = sums{items: word(0)}
	deepest := slices.MaxFunc(list, func(a, b *segment) int { return a.depth - b.depth })
	g.setDirectory(deepest.depth)
	for _, s := range list {
		g.enter(s)
		g.sum.add(s)
	}
	g.sum.used, g.sum.mass = word(1), word(2)
	if g.sum.bits != h.Size {
		return fmt.Errorf("%w: segments of %d bits, the header says %d", bloomery.ErrCorrupt, g.sum.bits, h.Size)
	}
	return nil
}

// shapes returns the segments whose codes are given, over their arrays. They
// must cover all hashes, in order, and the arrays all of data.
func (g *segments) shapes(codes, data []byte) ([]*segment, error) {
	var list []*segment
	prefix, whole := uint64(0), false // the next segment's, and whether it is behind the last hash
	steps := g.plan.Steps()
	for ; len(codes) > 0; codes = codes[8:] {
		code := binary.LittleEndian.Uint64(codes)
		depth, quotients, slots := int(code&255), int(code>>8&255), int(code>>16&0xffff)
		address := depth + quotients
		if depth > g.maxDepth() || whole || prefix<<depth != 0 || address < g.first || slices.Index(steps[:], slots) < 0 ||
			quotients < 6 || quotients > sizing.SegmentBits || depth > 0 && quotients != sizing.SegmentBits {
			return nil, fmt.Errorf("%w: segment %#x behind %d others", bloomery.ErrCorrupt, code, len(list))
		}
		q := sizing.Quotient{Blocks: 1 << (quotients - 6), Spill: code >> 32, Slots: slots, Remainder: g.plan.Width(address - g.first)}
		if q.Valid() != nil || q.Spill > uint64(mostSpill(q.Blocks)) || address+q.Remainder > 64 || arrayBytes(q) > uint64(len(data)) {
			return nil, fmt.Errorf("%w: segment %#x of %d address bits, %d bytes are left", bloomery.ErrCorrupt, code, address, len(data))
		}
		n := arrayBytes(q)
		s := newSegment(q, prefix, depth, data[:n:n])
		s.counts = true // perhaps
		list = append(list, s)
		data = data[n:]
		if depth == 0 {
			whole = true
			continue
		}
		prefix += 1 << uint(64-depth)
		whole = prefix == 0
	}
	if !whole || len(data) > 0 {
		return nil, fmt.Errorf("%w: %d segments do not cover all hashes, or %d bytes are left", bloomery.ErrCorrupt, len(list), len(data))
	}
	return list, nil
}

// verify checks that the segments are those of a multiset, with the sums that g
// has, and sets the totals of each.
func (g *segments) verify() error {
	got := sums{items: 0}
	for _, n := range g.elders.all {
		if got.items += n; got.items > g.sum.items {
			return fmt.Errorf("%w: more elders than %d items", bloomery.ErrCorrupt, g.sum.items)
		}
	}
	codes := g.elders.codes()
	for s := range g.each {
		items, err := g.verifySegment(s, codes)
		if err != nil {
			return fmt.Errorf("segment %#x of %d bits: %w", s.prefix, s.depth, err)
		}
		got.items += items
		got.add(s)
		s.reach = s.measured()
		g.reach = g.reach.most(s.reach)
	}
	g.unmeasured = false
	if got != g.sum {
		return fmt.Errorf("%w: the segments hold %+v, the totals say %+v", bloomery.ErrCorrupt, got, g.sum)
	}
	return nil
}

// verifySegment checks a segment and returns the occurrences in it that are no
// elders. codes are those of all elders.
func (g *segments) verifySegment(s *segment, codes []uint64) (items uint64, err error) {
	s.counts = true
	t, err := s.check()
	if err != nil {
		return 0, err
	}
	var voids []uint64
	mass := uint64(0)
	w := s.walk()
	for fingerprint, e, ok := w.next(); ok; fingerprint, e, ok = w.next() {
		switch {
		case e.value == 0:
			return 0, fmt.Errorf("%w: a slot has no end", bloomery.ErrCorrupt)
		case e.value != s.void():
			items += e.count
		case e.count > 1:
			return 0, fmt.Errorf("%w: a void slot is there %d times", bloomery.ErrCorrupt, e.count)
		default:
			voids = append(voids, fingerprint>>s.width)
		}
		mass += s.share(e.value)
	}
	s.setTotals(t)
	s.mass = mass
	// Elders whose prefix is no longer than the segment's, then those inside.
	for n := 0; n <= s.depth; n++ {
		if g.elders.lengths[n] > 0 && g.elders.count(elderCode(s.prefix, n)) > 0 && uint64(len(voids)) != s.quotients {
			return 0, fmt.Errorf("%w: an elder of %d bits has %d void slots of %d", bloomery.ErrCorrupt, n, len(voids), s.quotients)
		}
	}
	from, _ := slices.BinarySearch(codes, s.prefix)
	for _, code := range codes[from:] {
		if code>>1>>(63-s.depth) != s.prefix>>1>>(63-s.depth) {
			break
		}
		n := elderBits(code)
		if n <= s.depth {
			continue
		}
		low := code << uint(s.depth) >> uint(64-s.address+s.depth)
		size := uint64(1) << uint(max(0, s.address-n))
		low &^= size - 1
		i, _ := slices.BinarySearch(voids, low)
		j, _ := slices.BinarySearch(voids, low+size)
		if n > s.address || uint64(j-i) != size {
			return 0, fmt.Errorf("%w: an elder of %d bits has %d void slots of %d", bloomery.ErrCorrupt, n, j-i, size)
		}
	}
	return items, nil
}
