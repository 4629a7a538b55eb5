package redisbloom

import (
	"math"
	"math/bits"
)

const (
	bitsPerLn  = 0.480453013918201 // (ln 2)² as RedisBloom writes it
	hashesPer  = 0.693147180559945 // ln 2 as RedisBloom writes it
	maxHashes  = 4096              // the smallest error of a float64 needs 1075
	layerBytes = 80                // of memory, for the layer without its array; a test holds it

	// maxBytes is the largest array, and the largest filter, that this
	// package makes, whatever memory there is: one limit on every machine of
	// 64 bits.
	maxBytes = min(1<<40, math.MaxInt)
)

// layer is one Bloom filter of a chain. Its fields are those of the dump; inv
// and mod make the remainder cheap.
type layer struct {
	data     []byte
	mod      uint64 // number of bits in use: 8·len(data), or 2^n2
	inv      uint64 // floor(2^64 / mod)
	size     uint64 // items
	capacity uint64
	err      float64
	bpe      float64 // bits per entry
	hashes   uint32
	n2       uint8
}

// shape is what a layer will be, before anything is allocated.
type shape struct {
	bytes    uint64
	capacity uint64
	err, bpe float64
	hashes   uint32
	n2       uint8
}

// planLayer sizes a layer for a capacity and an error rate. It reports false
// if there is no such layer: err is 0 after too many halvings, or the array
// would be larger than maxBytes.
//
// The steps are those of RedisBloom in their order, each a single IEEE 754
// operation with nothing to fuse, so that the result is the same bits on every
// machine.
func planLayer(capacity uint64, err float64) (shape, bool) {
	if !(err > 0 && err < 1) {
		return shape{}, false
	}
	bpe := absLn(err) / bitsPerLn
	raw := max(math.Trunc(float64(capacity)*bpe), 1)
	if raw > 8*(maxBytes-8) {
		return shape{}, false
	}
	return shape{
		bytes:    (uint64(raw) + 63) / 64 * 8,
		capacity: capacity,
		err:      err,
		bpe:      bpe,
		hashes:   uint32(math.Ceil(hashesPer * bpe)),
	}, true
}

// layer returns an empty layer in data, which has s.bytes zero bytes.
func (s shape) layer(data []byte) layer {
	l := layer{
		data:     data,
		mod:      s.bytes * 8,
		capacity: s.capacity,
		err:      s.err,
		bpe:      s.bpe,
		hashes:   s.hashes,
		n2:       s.n2,
	}
	if s.n2 > 0 {
		l.mod = 1 << s.n2
	}
	l.inv, _ = bits.Div64(1, 0, l.mod)
	return l
}

// rem returns x mod m, where inv = floor(2^64/m): the quotient by
// multiplication is right or one too small.
func rem(x, m, inv uint64) uint64 {
	q, _ := bits.Mul64(x, inv)
	r := x - q*m
	if t := r - m; r >= m {
		r = t
	}
	return r
}

// has reports whether all bits of d are set. Four probes share a branch: they
// do not wait for each other, and most absent items end at the first.
func (l *layer) has(d Digest) bool { return l.hasFrom(d, l.hashes) }

// hasFrom is has for the first n bits of d.
func (l *layer) hasFrom(d Digest, n uint32) bool {
	data, m, inv := l.data, l.mod, l.inv
	x := d.A
	for ; n >= 4; n -= 4 {
		p0 := rem(x, m, inv)
		p1 := rem(x+d.B, m, inv)
		p2 := rem(x+2*d.B, m, inv)
		p3 := rem(x+3*d.B, m, inv)
		if data[p0>>3]>>(p0&7)&(data[p1>>3]>>(p1&7))&(data[p2>>3]>>(p2&7))&(data[p3>>3]>>(p3&7))&1 == 0 {
			return false
		}
		x += 4 * d.B
	}
	for ; n > 0; n-- {
		p := rem(x, m, inv)
		if data[p>>3]>>(p&7)&1 == 0 {
			return false
		}
		x += d.B
	}
	return len(data) > 0 // there is none in a zero filter
}

// set sets all bits of d and reports whether one of them was clear.
func (l *layer) set(d Digest) bool {
	data, m, inv := l.data, l.mod, l.inv
	x, n := d.A, l.hashes
	seen := byte(1)
	for ; n >= 4; n -= 4 {
		p0 := rem(x, m, inv)
		p1 := rem(x+d.B, m, inv)
		p2 := rem(x+2*d.B, m, inv)
		p3 := rem(x+3*d.B, m, inv)
		b0, b1, b2, b3 := &data[p0>>3], &data[p1>>3], &data[p2>>3], &data[p3>>3]
		seen &= *b0 >> (p0 & 7) & (*b1 >> (p1 & 7)) & (*b2 >> (p2 & 7)) & (*b3 >> (p3 & 7))
		*b0 |= 1 << (p0 & 7)
		*b1 |= 1 << (p1 & 7)
		*b2 |= 1 << (p2 & 7)
		*b3 |= 1 << (p3 & 7)
		x += 4 * d.B
	}
	for ; n > 0; n-- {
		p := rem(x, m, inv)
		b := &data[p>>3]
		seen &= *b >> (p & 7)
		*b |= 1 << (p & 7)
		x += d.B
	}
	return seen == 0
}
