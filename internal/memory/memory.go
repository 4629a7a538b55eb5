// Package memory is the one place for facts about memory: how much of it the
// process may have, and how large arrays are allocated, aligned, mapped and put
// on huge pages.
package memory

import (
	"math"
	"sync"
	"unsafe"
)

const (
	// unknownLimit stands in where the system does not show its memory.
	unknownLimit = 1 << 40
	// hugeFrom is the array size from which huge pages are asked for. They
	// halve the time of random reads in arrays larger than the TLB reaches
	// and gain nothing below.
	hugeFrom = 4 << 20
	// pieceFrom is the size from which Piece does. The heap keeps smaller ones
	// of a size together with whatever else has that size.
	pieceFrom = 8 << 10
	// line is the size of a cache line in bytes.
	line = 64
	// largest is the size up to which an array can be aligned, which takes up to a line more.
	largest = math.MaxInt - line
)

// Limit returns the physical memory in bytes, or the limit of the process or of
// its control groups if that is less, as far as a slice can reach, or 2^40 where
// the system does not show its memory. A filter larger than that is refused
// before it is allocated. The limit is read once.
var Limit = sync.OnceValue(func() uint64 {
	if n := physical(); n > 0 {
		return min(n, largest)
	}
	return min(unknownLimit, largest)
})

// Words returns n zero words on the Go heap that begin at a cache line. From
// 4 MiB on, Linux is asked to back them with huge pages.
func Words(n int) []uint64 {
	w := align(make([]uint64, n), n)
	if len(w) >= hugeFrom/8 {
		adviseHuge(bytesOf(w))
		collapseHuge(bytesOf(w))
	}
	return w
}

// Bytes returns n zero bytes as Words does. There is room for whole words.
func Bytes(n int) []byte { return bytesOf(Words((n + 7) / 8))[:n] }

// Piece returns n zero bytes as Bytes does, for one of many arrays that are read
// at random and are too small for huge pages each. The heap lays such arrays side
// by side, so Linux is asked for huge pages that hold several of them. These are
// there at once, whether they are used or not.
func Piece(n int) []byte {
	b := Bytes(n)
	if n >= pieceFrom && n < hugeFrom {
		adviseAround(b)
	}
	return b
}

// Of returns the memory of b as words. It reports false if b does not begin at
// a multiple of 8 or does not hold whole words.
func Of(b []byte) ([]uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b) == 0 || len(b)%8 != 0 || uintptr(p)%8 != 0 {
		return nil, false
	}
	return unsafe.Slice((*uint64)(p), len(b)/8), true
}

// align returns n words that begin at a cache line: w itself if it does, else a
// part of a new array. The language promises no more than 8 bytes; the allocator
// of Go 1.26 gives 16 for arrays of some 80 to 480 bytes and a line for larger ones.
func align(w []uint64, n int) []uint64 {
	if n < line/8 || offset(w) == 0 {
		return w
	}
	w = make([]uint64, n+line/8-1)
	skip := (line - offset(w)) % line / 8
	return w[skip : skip+n : skip+n]
}

func offset(w []uint64) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(w))) % line) }

func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}
