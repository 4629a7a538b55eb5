package kernel

import "unsafe"

// # The split layout
//
// This is the layout of the filters in Parquet files. The array is a sequence
// of blocks of 256 bits, half a cache line each. A block has 8 lanes of 32
// bits, two in a word, the lower one first. A key has one bit in each lane of
// its block:
//
//	word      0                   1                        3
//	block  [ lane 0 | lane 1 ][ lane 2 | lane 3 ]  ...  [ lane 6 | lane 7 ]
//
// With h the hash of the key and n the number of blocks, at most 2^32:
//
//	block          = ((h >> 32) * n) >> 32
//	bit in lane j  = the upper 5 bits of the lower 32 bits of h * salt[j]
//
// The error rate of this layout is that of sizing.Split.

// SplitBlock is a block of the split layout, 8 lanes of 32 bits. Words and not
// lanes, so that memory and files agree about the order on every machine.
type SplitBlock = [4]uint64

// SplitK is the number of bits per key, one in each lane.
const SplitK = 8

// The salts of the Parquet format.
const (
	salt0 = 0x47b6137b
	salt1 = 0x44974d91
	salt2 = 0x8824ad5b
	salt3 = 0xa2b7289d
	salt4 = 0x705495c7
	salt5 = 0x2df1424b
	salt6 = 0x9efc4947
	salt7 = 0x5c6bfb31
)

// SplitBlocks returns the memory of words as blocks; words beyond the last
// whole block are left out.
func SplitBlocks(words []uint64) []SplitBlock {
	return unsafe.Slice((*SplitBlock)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/4)
}

// SplitWords returns the memory of blocks as words.
func SplitWords(blocks []SplitBlock) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(blocks))), len(blocks)*4)
}

// HasSplit reports whether all 8 bits of h are set. It panics if blocks is
// empty.
func HasSplit(blocks []SplitBlock, h uint64) bool { return hasOneSplit(blocks, h) }

// SetSplit sets the 8 bits of h and reports whether one of them was clear. It
// panics as HasSplit does.
func SetSplit(blocks []SplitBlock, h uint64) bool { return setOneSplit(blocks, h) }

// HasAllSplit sets dst[i] to HasSplit(blocks, hs[i]). It panics as HasSplit
// does, and if dst is shorter than hs.
func HasAllSplit(dst []bool, blocks []SplitBlock, hs []uint64) {
	_ = blocks[0]
	if len(dst) < len(hs) {
		panic(badDst)
	}
	if !vectorSplit(blocks) {
		goHasAllSplit(dst, blocks, hs)
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		hasGroupsSplit(dst[:n], blocks, hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
	for i, h := range hs {
		dst[i] = hasOneSplit(blocks, h)
	}
}

// SetAllSplit sets dst[i] to SetSplit(blocks, hs[i]), in order. A nil dst is
// ignored. It panics as HasSplit does, and if dst is not nil and shorter than
// hs.
func SetAllSplit(dst []bool, blocks []SplitBlock, hs []uint64) {
	_ = blocks[0]
	if dst == nil {
		setAllSplit(blocks, hs)
		return
	}
	if len(dst) < len(hs) {
		panic(badDst)
	}
	if !vectorSplit(blocks) {
		goSetAllSplit(dst, blocks, hs)
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		setGroupsFreshSplit(dst[:n], blocks, hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
	for i, h := range hs {
		dst[i] = setOneSplit(blocks, h)
	}
}

// setAllSplit is SetAllSplit without answers.
func setAllSplit(blocks []SplitBlock, hs []uint64) {
	if !vectorSplit(blocks) {
		var none [chunk]bool
		for len(hs) > 0 {
			n := min(len(hs), chunk)
			goSetAllSplit(none[:], blocks, hs[:n])
			hs = hs[n:]
		}
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		setGroupsSplit(blocks, hs[:n])
		hs = hs[n:]
	}
	for _, h := range hs {
		setOneSplit(blocks, h)
	}
}

// vectorSplit reports whether a batch runs in assembly, which takes numbers of
// blocks of 32 bits only. Blocks are as wide as the registers of AVX2, which
// serves all CPUs that have more.
func vectorSplit(blocks []SplitBlock) bool {
	return (hasAVX512 || hasAVX2) && uint64(len(blocks)) < 1<<32
}
