package library

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Headers that lie. A decoder that believes them asks for terabytes.
const (
	terabyte     = 1 << 40
	terabyteBits = 8 * terabyte
)

// claimTerabytes gives an encoding of ours a header that claims a payload of
// a terabyte, with the right checksum: only the length shows it.
func claimTerabytes(data []byte) []byte {
	data = slices.Clone(data)
	binary.LittleEndian.PutUint64(data[40:], terabyteBits)
	binary.LittleEndian.PutUint64(data[48:], terabyte)
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.LittleEndian.PutUint32(data[60:], crc32.Checksum(data[:60], table))
	return data
}

// put64 returns a Hostile that writes v at the offsets, in the byte order of
// the library.
func put64(order binary.ByteOrder, v uint64, offsets ...int) func([]byte) []byte {
	return func(data []byte) []byte {
		data = slices.Clone(data)
		for _, at := range offsets {
			order.PutUint64(data[at:], v)
		}
		return data
	}
}
