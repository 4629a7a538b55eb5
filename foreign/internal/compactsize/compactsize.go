// Package compactsize has the lengths of Bitcoin's formats: 1, 3, 5 or 9 bytes.
package compactsize

import (
	"encoding/binary"
	"math"
)

// First bytes of longer forms.
const (
	two   = 0xfd
	four  = 0xfe
	eight = 0xff
)

// Append appends a length in its shortest form.
func Append(dst []byte, n uint64) []byte {
	switch {
	case n < two:
		return append(dst, byte(n))
	case n <= math.MaxUint16:
		return binary.LittleEndian.AppendUint16(append(dst, two), uint16(n))
	case n <= math.MaxUint32:
		return binary.LittleEndian.AppendUint32(append(dst, four), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(dst, eight), n)
}

// Cut returns the length that data begins with, and what is behind it. It reports false
// if there is none, or one that a shorter form would do for, which Bitcoin refuses.
func Cut(data []byte) (n uint64, rest []byte, ok bool) {
	if len(data) == 0 {
		return 0, nil, false
	}
	size := 0
	switch data[0] {
	case two:
		size = 2
	case four:
		size = 4
	case eight:
		size = 8
	default:
		return uint64(data[0]), data[1:], true
	}
	if len(data) < 1+size {
		return 0, nil, false
	}
	var wide [8]byte
	copy(wide[:], data[1:1+size])
	n = binary.LittleEndian.Uint64(wide[:])
	return n, data[1+size:], len(Append(nil, n)) == 1+size
}
