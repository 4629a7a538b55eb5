package fuse

import (
	"encoding/binary"
	"unsafe"

	"github.com/bloomery/bloomery/internal/memory"
)

// littleEndian reports whether fingerprints lie in memory as they do in files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// width returns the bits of a fingerprint.
func width[T Fingerprint]() int {
	var t T
	return int(unsafe.Sizeof(t)) * 8
}

// lanes returns the fingerprints that words hold: their own memory where the
// machine is little-endian, else a copy.
func lanes[T Fingerprint](words []uint64) []T {
	per := 64 / width[T]()
	if littleEndian && len(words) > 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*per)
	}
	table := make([]T, len(words)*per)
	for i := range table {
		table[i] = T(words[i/per] >> (i % per * width[T]()))
	}
	return table
}

// packed returns the words that hold fingerprints, a multiple of those in a
// word: their own memory where the machine is little-endian, else a copy. It
// is the inverse of lanes.
func packed[T Fingerprint](table []T) []uint64 {
	per := 64 / width[T]()
	if littleEndian && len(table) > 0 {
		return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(table))), len(table)/per)
	}
	words := make([]uint64, len(table)/per)
	for i, f := range table {
		words[i/per] |= uint64(f) << (i % per * width[T]())
	}
	return words
}

// memoryOf returns where the fingerprints lie, nil if there are none.
func memoryOf[T Fingerprint](table []T) *byte {
	return (*byte)(unsafe.Pointer(unsafe.SliceData(table)))
}

// words32 returns n zero numbers of 32 bits in memory for large arrays.
func words32(n int) []uint32 { return lanes[uint32](memory.Words((n + 1) / 2)) }
