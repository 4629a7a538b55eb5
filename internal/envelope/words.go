package envelope

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// littleEndian reports whether words lie in memory as they do in files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// WordsOf returns the words of a payload without a copy, where the machine is
// little-endian and data begins at a multiple of 8; else it returns a copy.
func WordsOf(data []byte) []uint64 {
	p := unsafe.SliceData(data)
	if len(data) == 0 {
		return nil
	}
	if littleEndian && uintptr(unsafe.Pointer(p))%8 == 0 {
		return unsafe.Slice((*uint64)(unsafe.Pointer(p)), len(data)/8)
	}
	words := make([]uint64, len(data)/8)
	GetWords(words, data)
	return words
}

// BytesOf returns the payload bytes of words: a view where the machine is
// little-endian, else a copy.
func BytesOf(words []uint64) []byte {
	if littleEndian {
		return rawBytes(words)
	}
	return AppendWords(make([]byte, 0, len(words)*8), words)
}

// AppendWords appends the payload bytes of words to dst.
func AppendWords(dst []byte, words []uint64) []byte {
	if littleEndian {
		return append(dst, rawBytes(words)...)
	}
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// rawBytes returns the memory of words.
func rawBytes(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// GetWords decodes data, which is as long as words, into words.
func GetWords(words []uint64, data []byte) {
	if littleEndian {
		copyLong(rawBytes(words), data)
		return
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
}

// copyLong copies from, which is as long as to. The collector of garbage stops all other
// work until every goroutine has been interrupted, and a copy cannot be: that of 256 MiB
// into new memory takes 0.1 s. So it is made in pieces, each a call, where that is possible.
func copyLong(to, from []byte) {
	for len(to) > pieceBytes {
		copyPiece(to[:pieceBytes], from)
		to, from = to[pieceBytes:], from[pieceBytes:]
	}
	copyPiece(to, from)
}

const pieceBytes = 1 << 20

//go:noinline
func copyPiece(to, from []byte) { copy(to, from) }

// Apart returns dst for results that are appended to it while data is read: if
// data lies in the room behind dst, without that room.
func Apart(dst, data []byte) []byte {
	to, from := address(dst)+uintptr(len(dst)), address(data)
	if to < from+uintptr(len(data)) && from < to+uintptr(cap(dst)-len(dst)) {
		return slices.Clip(dst)
	}
	return dst
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
