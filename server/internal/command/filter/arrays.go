package filter

// Encodings of filters, and their arrays of bits.

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// marshal returns the encoding of a filter.
func marshal(f bloomery.Hashed) ([]byte, error) {
	m, ok := f.(encoding.BinaryMarshaler)
	if !ok {
		return nil, fmt.Errorf("a %T has no encoding", f)
	}
	return m.MarshalBinary()
}

// intersectWith keeps in f what is in g.
func intersectWith(f, g bloomery.Hashed) error {
	switch f := f.(type) {
	case *bloom.Filter:
		return both(f.Intersect, g)
	case *bloom.Standard:
		return both(f.Intersect, g)
	case *bloom.Partitioned:
		return both(f.Intersect, g)
	case *bloom.Split:
		return both(f.Intersect, g)
	}
	return fmt.Errorf("%w: a %T", bloomery.ErrIncompatible, f)
}

func both[F bloomery.Hashed](do func(F) error, g bloomery.Hashed) error {
	v, ok := g.(F)
	if !ok {
		return fmt.Errorf("%w: a %T", bloomery.ErrIncompatible, g)
	}
	return do(v)
}

var errStopped = errors.New("the command was given up")

// compare returns the number of bits that are set in a, in b and in at least one of
// them. It ends with an error if stop, which it asks between two pieces, returns true.
func compare(a, b *contents.Part, stop func() bool) (n [3]uint64, err error) {
	a.RLock()
	size := len(a.Array())
	a.RUnlock()
	if size == 0 {
		return compareSmall(a, b)
	}
	buf := make([]byte, 2*unionPiece)
	for at := 0; at < size; at += unionPiece {
		if stop() {
			return n, errStopped
		}
		m := min(unionPiece, size-at)
		if !copyArray(a, buf[:m], at) || !copyArray(b, buf[unionPiece:unionPiece+m], at) {
			return n, errGone
		}
		tally(&n, buf[:m], buf[unionPiece:unionPiece+m])
	}
	return n, nil
}

// headerBytes is the header of an encoding, behind which the array begins.
const headerBytes = 64

// compareSmall is compare for parts whose arrays are not at hand: the encodings of
// filters that can be united are a header, the array and a checksum.
func compareSmall(a, b *contents.Part) (n [3]uint64, err error) {
	x, _, err := encode(a)
	if err != nil {
		return n, err
	}
	y, _, err := encode(b)
	if err != nil || len(x) != len(y) || len(x) < headerBytes {
		return n, errGone
	}
	size := binary.LittleEndian.Uint64(x[48:])
	if size > uint64(len(x)-headerBytes) {
		return n, errGone
	}
	tally(&n, x[headerBytes:headerBytes+size], y[headerBytes:headerBytes+size])
	return n, nil
}

// tally adds the bits of two arrays to n.
func tally(n *[3]uint64, a, b []byte) {
	for ; len(a) >= 8; a, b = a[8:], b[8:] {
		x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
		n[0] += uint64(bits.OnesCount64(x))
		n[1] += uint64(bits.OnesCount64(y))
		n[2] += uint64(bits.OnesCount64(x | y))
	}
}
