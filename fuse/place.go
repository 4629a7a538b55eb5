package fuse

import (
	"math/bits"

	"github.com/bloomery/bloomery/sizing"
)

// A word of the build holds, for one slot, what its keys are together:
//
//	63    58 57  56 55                                        0
//	| count | which | xor of the lower 56 bits of their hashes |
//
// which is the xor of the keys' own numbers for the slot, 0 to 3. When the
// count is 1, the word is the key that is left; its start follows from the slot
// itself, so the upper bits of the hash are not missed.
const (
	lowBits   = 56
	countBits = 58

	low = 1<<lowBits - 1
	one = 1 << countBits
	// A count of 32 cannot come from well-mixed hashes. It ends the build
	// before the count runs over.
	tooMany = 1 << 63

	// fingerprintMul spreads the hash over the bits that fingerprints are
	// taken from; they must not be a linear function of the positions.
	fingerprintMul = 0xd6e8feb86659fd93
)

// fingerprint returns the fingerprint of a key. It depends on the lower 56
// bits of its hash only, which is all that a word of the build holds.
func fingerprint[T Fingerprint](h uint64) T { return T((h & low) * fingerprintMul >> 32) }

// place says where keys lie in an array of segments.
//
//	segment   0        1        2        3        4
//	        [ slots ][ slots ][ slots ][ slots ][ slots ] ...
//	a key              start    x        x
//
// A key has a slot in each of 3 or 4 neighbouring segments. The start is
// anywhere but in the last segments; the others are a segment further each,
// at the offset of the start xor some bits of the hash.
type place struct {
	starts uint64 // slots that a key can start in
	length uint32 // of a segment
	mask   uint32 // length - 1
	log    uint32 // binary logarithm of length
	arity  int    // slots of a key
}

// placeIn returns where keys lie in an array of this shape.
func placeIn(shape sizing.FuseShard) place {
	if shape.Segments == 0 {
		return place{arity: shape.Arity} // no slot is in any array, and no key is found
	}
	return place{
		starts: uint64(shape.Segments-shape.Arity+1) << shape.Log,
		length: 1 << shape.Log,
		mask:   1<<shape.Log - 1,
		log:    uint32(shape.Log),
		arity:  shape.Arity,
	}
}

// The bits of the hash that the second, third and fourth offset begin at. With
// 3 slots a segment has at most 2^18 slots, with 4 at most 2^15, so that
// offsets share no bits, and few with the start.
const (
	offset1of3, offset2of3             = 18, 0
	offset1of4, offset2of4, offset3of4 = 30, 15, 0
)

// three returns the slots of a key.
func (p *place) three(h uint64) (i0, i1, i2 uint32) {
	start, _ := bits.Mul64(h, p.starts)
	return p.threeFrom(uint32(start), h)
}

// threeFrom is three for a key whose start is known.
func (p *place) threeFrom(i0 uint32, h uint64) (_, i1, i2 uint32) {
	i1 = i0 + p.length
	i2 = i1 + p.length
	return i0, i1 ^ uint32(h>>offset1of3)&p.mask, i2 ^ uint32(h>>offset2of3)&p.mask
}

// threeAt returns the slots of the key that is alone in slot i, whose word is
// w.
func (p *place) threeAt(i uint32, w uint64) (i0, i1, i2 uint32) {
	which := uint32(w>>lowBits) & 3
	off := uint32(w>>offset1of3)&-(which&1) | uint32(w>>offset2of3)&-(which>>1)
	return p.threeFrom((i^off&p.mask)-which<<(p.log&31), w)
}

// four returns the slots of a key.
func (p *place) four(h uint64) (i0, i1, i2, i3 uint32) {
	start, _ := bits.Mul64(h, p.starts)
	return p.fourFrom(uint32(start), h)
}

// fourFrom is four for a key whose start is known.
func (p *place) fourFrom(i0 uint32, h uint64) (_, i1, i2, i3 uint32) {
	i1 = i0 + p.length
	i2 = i1 + p.length
	i3 = i2 + p.length
	return i0, i1 ^ uint32(h>>offset1of4)&p.mask, i2 ^ uint32(h>>offset2of4)&p.mask, i3 ^ uint32(h>>offset3of4)&p.mask
}

// fourAt returns the slots of the key that is alone in slot i, whose word is
// w.
func (p *place) fourAt(i uint32, w uint64) (i0, i1, i2, i3 uint32) {
	which := uint32(w>>lowBits) & 3
	odd, high := -(which & 1), -(which >> 1)
	off := uint32(w>>offset1of4)&odd&^high | uint32(w>>offset2of4)&high&^odd | uint32(w>>offset3of4)&high&odd
	return p.fourFrom((i^off&p.mask)-which<<(p.log&31), w)
}
