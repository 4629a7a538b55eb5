package bip158

import (
	"encoding/binary"
	"math/bits"
)

// reader reads bits, the highest of each byte first. Behind the end there are zeros.
type reader struct {
	data []byte
	at   uint64 // in bits
}

// peekBits is how many bits peek returns at least.
const peekBits = 57

// peek returns the next bits at the top of a word.
func (r *reader) peek() uint64 {
	i := r.at / 8
	if i+8 <= uint64(len(r.data)) {
		return binary.BigEndian.Uint64(r.data[i:]) << (r.at % 8)
	}
	var rest [8]byte
	if i < uint64(len(r.data)) {
		copy(rest[:], r.data[i:])
	}
	return binary.BigEndian.Uint64(rest[:]) << (r.at % 8)
}

// next reads a number in Golomb-Rice code: its upper bits as so many ones and a zero,
// then its lower bits as they are.
func (r *reader) next() uint64 {
	upper := uint64(0)
	for {
		ones := uint64(bits.LeadingZeros64(^r.peek()))
		if ones < peekBits {
			upper += ones
			r.at += ones + 1
			break
		}
		upper += peekBits
		r.at += peekBits
	}
	lower := r.peek() >> (64 - lowerBits)
	r.at += lowerBits
	return upper<<lowerBits | lower
}

// writer writes what reader reads.
type writer struct {
	data []byte
	free int // bits of the last byte
}

// bits writes the lowest n bits of x.
func (w *writer) bits(x uint64, n int) {
	for n > 0 {
		if w.free == 0 {
			w.data, w.free = append(w.data, 0), 8
		}
		part := min(n, w.free)
		n -= part
		w.free -= part
		w.data[len(w.data)-1] |= byte(x>>n&(1<<part-1)) << w.free
	}
}

// number writes a number in Golomb-Rice code.
func (w *writer) number(x uint64) {
	for upper := x >> lowerBits; ; upper -= 32 {
		if upper < 32 {
			w.bits(1<<(upper+1)-2, int(upper)+1)
			break
		}
		w.bits(1<<32-1, 32)
	}
	w.bits(x, lowerBits)
}
