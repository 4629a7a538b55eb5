package ribbon

import "math/bits"

// field says where a map keeps values: in columns of their own behind those of
// the fingerprint. A block that is wide has one more bit of the fingerprint, in
// the column behind the value.
//
//	column   0 ... prints-1    prints ... prints+bits-1    prints+bits
//	         fingerprint       value                       one more bit
//
// It is zero in a filter.
type field struct {
	bits   int // of a value
	prints int // columns of the fingerprint in a narrow block
}

// join returns what the row of a key must xor to: all bits that the columns of a
// wide block have, and more.
func (f field) join(print, value uint32) uint32 {
	low := uint32(1)<<f.prints - 1
	return print&low | value<<f.prints | print&^low<<f.bits
}

// listWords returns how many words a listed key takes: its hash, and a value.
func (f field) listWords() int {
	if f.bits > 0 {
		return 2
	}
	return 1
}

// get64 returns the value of the key whose row of 64 begins at start, and whether
// the row gives its fingerprint. As in match64, four columns are compared before
// anything is decided.
func (f field) get64(l *layer, h, start uint64, r int) (value uint32, ok bool) {
	x := row64(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo, hi := x.lo<<(off&63), x.lo>>1>>(63-off&63)
	at, n := l.at(block, r), l.columns(block, r)
	cols := l.cols[at:][:2*n]
	a, b := cols[:n], cols[n:]
	v, left := uint64(x.print), f.prints
	for ; left >= 4 && len(a) >= 4 && len(b) >= 4; left -= 4 {
		d := uint64(bits.OnesCount64(a[0]&lo^b[0]&hi)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&hi)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&hi)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&hi)) ^ v>>3
		if d&1 != 0 {
			return 0, false
		}
		a, b, v = a[4:], b[4:], v>>4
	}
	var d uint64
	for j := range min(left, len(a), len(b)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&hi)) ^ v
		v >>= 1
	}
	a, b = a[min(left, len(a)):], b[min(left, len(b)):]
	for j := range min(f.bits, len(a), len(b)) {
		value |= uint32(bits.OnesCount64(a[j]&lo^b[j]&hi)&1) << (j & 31)
	}
	if f.bits < len(a) && f.bits < len(b) { // a wide block
		d |= uint64(bits.OnesCount64(a[f.bits]&lo^b[f.bits]&hi)) ^ v
	}
	return value, d&1 == 0
}

// bit returns the one bit that a key has whose row begins at start, in a map of
// nothing but bits. All blocks that the row lies over are narrow.
func (l *layer) bit(w *width, h, start uint64) uint32 {
	block, off := start/blockSlots, start%blockSlots
	if w.bits == 64 {
		x := row64(h)
		cols := l.cols[block:][:2]
		return uint32(bits.OnesCount64(cols[0]&(x.lo<<(off&63))^cols[1]&(x.lo>>1>>(63-off&63)))) & 1
	}
	x := row128(h)
	cols := l.cols[block:][:3]
	mid := x.hi<<(off&63) | x.lo>>1>>(63-off&63)
	return uint32(bits.OnesCount64(cols[0]&(x.lo<<(off&63))^cols[1]&mid^cols[2]&(x.hi>>1>>(63-off&63)))) & 1
}

// get128 is get64 for rows of 128 coefficients, which reach over three blocks.
func (f field) get128(l *layer, h, start uint64, r int) (value uint32, ok bool) {
	x := row128(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo := x.lo << (off & 63)
	mid := x.hi<<(off&63) | x.lo>>1>>(63-off&63)
	hi := x.hi >> 1 >> (63 - off&63)
	at, n := l.at(block, r), l.columns(block, r)
	cols := l.cols[at:][:2*n]
	a, b, c := cols[:n], cols[n:], l.cols[l.at(block+2, r):][:n]
	v, left := uint64(x.print), f.prints
	for ; left >= 4 && len(a) >= 4 && len(b) >= 4 && len(c) >= 4; left -= 4 {
		d := uint64(bits.OnesCount64(a[0]&lo^b[0]&mid^c[0]&hi)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&mid^c[1]&hi)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&mid^c[2]&hi)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&mid^c[3]&hi)) ^ v>>3
		if d&1 != 0 {
			return 0, false
		}
		a, b, c, v = a[4:], b[4:], c[4:], v>>4
	}
	var d uint64
	for j := range min(left, len(a), len(b), len(c)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&mid^c[j]&hi)) ^ v
		v >>= 1
	}
	left = min(left, len(a), len(b), len(c))
	a, b, c = a[left:], b[left:], c[left:]
	for j := range min(f.bits, len(a), len(b), len(c)) {
		value |= uint32(bits.OnesCount64(a[j]&lo^b[j]&mid^c[j]&hi)&1) << (j & 31)
	}
	if f.bits < len(a) && f.bits < len(b) && f.bits < len(c) { // a wide block
		d |= uint64(bits.OnesCount64(a[f.bits]&lo^b[f.bits]&mid^c[f.bits]&hi)) ^ v
	}
	return value, d&1 == 0
}
