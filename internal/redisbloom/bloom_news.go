package redisbloom

// Which bits an add sets: what a copy of a Bloom filter needs instead of the items.

// Mark sets marks[i] to which bits of ds[i] are clear in the newest layer: bit j stands for the
// bit of its hash j, and the last also for those of all hashes behind. It panics if marks is
// shorter than ds.
func (b *Bloom) Mark(marks []uint8, ds []Digest) {
	marks = marks[:len(ds)]
	for len(ds) > 0 {
		n := min(len(ds), group)
		b.newest.fetch(ds[:n], b.newest.hashes)
		for i, d := range ds[:n] {
			marks[i] = b.newest.clear(d)
		}
		marks, ds = marks[n:], ds[n:]
	}
}

// lastMark is the bit of a mark that stands for all hashes from there on.
const lastMark = 7

// clear returns which bits of d are clear, see Mark.
func (l *layer) clear(d Digest) (mark uint8) {
	x := d.A
	for i := range l.hashes {
		p := rem(x, l.mod, l.inv)
		mark |= (^l.data[p>>3] >> (p & 7) & 1) << min(i, lastMark)
		x += d.B
	}
	return mark
}

// MarkedBits appends where the bits of d that are marked are in the newest layer.
func (b *Bloom) MarkedBits(dst []uint64, d Digest, mark uint8) []uint64 {
	l, x := &b.newest, d.A
	for i := range l.hashes {
		if mark>>min(i, lastMark)&1 != 0 {
			dst = append(dst, rem(x, l.mod, l.inv))
		}
		x += d.B
	}
	return dst
}

// NewestBits returns how many bits the newest layer has.
func (b *Bloom) NewestBits() uint64 { return b.newest.mod }

// SetBit sets a bit of the newest layer. It panics if there are not so many. The filter must
// not be frozen.
func (b *Bloom) SetBit(at uint64) { b.newest.data[at>>3] |= 1 << (at & 7) }

// CountAdded counts n items whose bits were set.
func (b *Bloom) CountAdded(n uint64) {
	b.newest.size += n
	b.items += n
}
