package fuse

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// bareWord is the length of the word behind the array of a bare filter:
	//
	//	63  56 55    40 39  32 31        0
	//	| tag | seed   | log  | segments |
	bareWord = 8

	bareSeedBits = 16
	// bareTag is that of arity 3 less the bytes of a fingerprint. No other bare form
	// ends in a byte from here to bareTag4 + 4.
	bareTag  = 0x20
	bareTag4 = 0x28
)

// Bare is a Filter of one shard in the bytes that Filter.AppendBare has written: its
// array, and a word behind it. It is for places that have a checksum of their own and
// hand out nothing but bytes, such as the filter blocks of a database: to open it is one
// load and a few comparisons, and allocates nothing.
//
// It knows neither its hasher nor how many keys it has: the caller hashes keys as
// for the Filter. A zero Bare is empty.
//
// Safe for concurrent use, as long as nobody changes the bytes.
type Bare[T Fingerprint] struct {
	place
	salt  uint64
	table []byte
}

// errBare is made once: opening allocates nothing, if it fails, too.
var errBare = fmt.Errorf("fuse: open bare: %w: not the bare form of a fuse filter with such fingerprints", bloomery.ErrCorrupt)

// OpenBare returns the filter in data, which it keeps. Lengths are checked, contents
// cannot be: bytes of a valid shape that nobody wrote are a filter with any keys. The
// error wraps ErrCorrupt; a caller that gets one must take every key for present.
func OpenBare[T Fingerprint](data []byte) (Bare[T], error) {
	n := len(data) - bareWord
	if n < 0 {
		return Bare[T]{}, errBare
	}
	last := binary.LittleEndian.Uint64(data[n:])
	shape := sizing.FuseShard{Arity: 3}
	switch byte(last >> 56) {
	case tagOf[T](3):
	case tagOf[T](4):
		shape.Arity = 4
	default:
		return Bare[T]{}, errBare
	}
	if segments := last & (1<<segmentBits - 1); segments <= maxSegments {
		shape.Segments = int(segments)
	}
	shape.Log = uint(last >> segmentBits & (1<<logBits - 1))
	empty := last&(1<<(segmentBits+logBits)-1) == 0
	if !empty && !possible(shape) || uint64(n) != shape.Slots()*uint64(width[T]()/8) {
		return Bare[T]{}, errBare
	}
	seed := uint32(last >> (segmentBits + logBits) & (1<<bareSeedBits - 1))
	return Bare[T]{placeIn(shape), saltOf(seed), data[:n]}, nil
}

// ContainsHash reports whether the key with hash h may be in the set. False is certain.
func (b *Bare[T]) ContainsHash(h uint64) bool {
	t := b.table
	if len(t) == 0 {
		return false
	}
	if b.salt != 0 {
		h = mix(h, b.salt)
	}
	if b.arity == 4 {
		i0, i1, i2, i3 := b.four(h)
		return fingerprint[T](h)^slot[T](t, i0)^slot[T](t, i1)^slot[T](t, i2)^slot[T](t, i3) == 0
	}
	i0, i1, i2 := b.three(h)
	return fingerprint[T](h)^slot[T](t, i0)^slot[T](t, i1)^slot[T](t, i2) == 0
}

// slot returns the fingerprint in slot i of an array as files have it.
func slot[T Fingerprint](table []byte, i uint32) T {
	switch width[T]() {
	case 8:
		return T(table[i])
	case 16:
		return T(binary.LittleEndian.Uint16(table[2*int(i):]))
	}
	return T(binary.LittleEndian.Uint32(table[4*int(i):]))
}

// tagOf returns the last byte of a bare filter.
func tagOf[T Fingerprint](arity int) byte {
	tag := bareTag
	if arity == 4 {
		tag = bareTag4
	}
	return byte(tag + width[T]()/8)
}

// AppendBare appends the bare form of the filter to dst, see Bare: its array and 8 bytes.
// The error wraps ErrParameter for a zero filter and for one of several shards: set
// Config.Shards to 1 if there are more than 134 million keys.
func (f *array[T]) AppendBare(dst []byte) ([]byte, error) {
	switch {
	case f.arity == 0:
		return dst, errZero("append bare")
	case f.bits > 0:
		return dst, fmt.Errorf("fuse: append bare: %w: %d shards, a bare filter has one", bloomery.ErrParameter, len(f.shards))
	case f.first.seed >= 1<<bareSeedBits:
		return dst, fmt.Errorf("fuse: append bare: %w: seed %d", bloomery.ErrParameter, f.first.seed)
	}
	s := &f.first
	dst = envelope.AppendWords(dst, packed(s.table))
	return binary.LittleEndian.AppendUint64(dst, uint64(s.shape.Segments)|uint64(s.shape.Log)<<segmentBits|
		uint64(s.seed)<<(segmentBits+logBits)|uint64(tagOf[T](f.arity))<<56), nil
}
