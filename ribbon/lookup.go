package ribbon

import (
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
)

// hasFrom reports whether the shard holds the key that layer first knows by
// hash h.
func (f *table) hasFrom(s *shard, first int, h uint64) bool {
	for ; first < len(s.layers); first++ {
		l := &s.layers[first]
		start := startOf(h, l.starts)
		if l.keeps(start, f.w) {
			if f.w.bits == 64 {
				return l.match64(h, start, f.r)
			}
			return l.match128(h, start, f.r)
		}
		h = bump(h)
	}
	_, found := slices.BinarySearch(s.list, h)
	return found
}

// shardOf returns the shard that a key with hash h belongs to.
func (f *table) shardOf(h uint64) *shard {
	if f.bits == 0 {
		return &f.shards[0]
	}
	return &f.shards[bloomery.Route(h, f.bits)]
}

// match64 reports whether the row of h, which begins at start, gives its
// fingerprint.
//
// Four columns are compared before anything is decided: of the absent keys 15
// of 16 end there, so that the branch is rarely mispredicted, and the reads of
// four columns overlap.
func (l *layer) match64(h, start uint64, r int) bool {
	x := row64(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo, hi := x.lo<<(off&63), x.lo>>1>>(63-off&63)
	at, n := l.at(block, r), l.columns(block, r)
	cols := l.cols[at:][:2*n]
	a, b := cols[:n], cols[n:]
	v := uint64(x.print)
	for len(a) >= 4 && len(b) >= 4 {
		d := uint64(bits.OnesCount64(a[0]&lo^b[0]&hi)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&hi)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&hi)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&hi)) ^ v>>3
		if d&1 != 0 {
			return false
		}
		a, b, v = a[4:], b[4:], v>>4
	}
	var d uint64
	for j := range min(len(a), len(b)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&hi)) ^ v
		v >>= 1
	}
	return d&1 == 0
}

// match128 is match64 for rows of 128 coefficients, which reach over three
// blocks.
func (l *layer) match128(h, start uint64, r int) bool {
	x := row128(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo := x.lo << (off & 63)
	mid := x.hi<<(off&63) | x.lo>>1>>(63-off&63)
	hi := x.hi >> 1 >> (63 - off&63)
	at, n := l.at(block, r), l.columns(block, r)
	cols := l.cols[at:][:2*n]
	a, b, c := cols[:n], cols[n:], l.cols[l.at(block+2, r):][:n]
	v := uint64(x.print)
	for len(a) >= 4 && len(b) >= 4 && len(c) >= 4 {
		d := uint64(bits.OnesCount64(a[0]&lo^b[0]&mid^c[0]&hi)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&mid^c[1]&hi)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&mid^c[2]&hi)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&mid^c[3]&hi)) ^ v>>3
		if d&1 != 0 {
			return false
		}
		a, b, c, v = a[4:], b[4:], c[4:], v>>4
	}
	var d uint64
	for j := range min(len(a), len(b), len(c)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&mid^c[j]&hi)) ^ v
		v >>= 1
	}
	return d&1 == 0
}
