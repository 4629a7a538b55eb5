// Package kernel holds the inner loops of the blocked layout, of the split
// layout (see SplitBlock), of rows that are ANDed (see AndRows) and of buckets
// of fingerprints (see Buckets): the Go code that is the truth, and assembly
// that must give the same bits.
//
// # The blocked layout
//
// The array is a sequence of blocks of 512 bits, one cache line each. A block
// has 8 lanes of 64 bits. All bits of a key lie in one block:
//
//	         lane 0     lane 1     lane 2             lane 7
//	block  [ 64 bits ][ 64 bits ][ 64 bits ]  ...  [ 64 bits ]
//	                      |          |
//	                      one bit in each of k consecutive lanes,
//	                      counted cyclically from a start lane
//
// With h the hash of the key and n the number of blocks:
//
//	block  = the upper 64 bits of h * n
//	start  = the upper 3 bits of the lower 64 bits of h * n
//	y      = (h ^ h>>32) * mulFirst
//	first bit in lane j   = byte j of y, modulo 64
//	y2     = the upper xor the lower 64 bits of y * mulSecond (128-bit product)
//	second bit in lane j  = byte j of y2, modulo 64
//
// For k up to 8 a key has its first bit in the k lanes start, start+1, ...
// modulo 8. For k from 9 to 16 it has its first bit in all 8 lanes and its
// second bit in the k-8 lanes from start. The error rate of this layout is
// that of sizing.Blocked.
//
// One product gives the positions of all 8 lanes because each needs 6 of 64
// bits; a multiplication per lane would cost more and give less, since it
// starts from 32 bits. y2 takes the folded product: the lower half alone would
// make byte 0 of y2 a function of two bytes of y.
package kernel

import (
	"math/bits"
	"unsafe"
)

// Block is one cache line of the blocked layout, 8 lanes of 64 bits.
type Block = [8]uint64

// MaxK is the largest number of bits per key, two in each lane.
const MaxK = 16

// The multipliers are odd and have no structure; they are part of the file
// format.
const (
	mulFirst  = 0x9fb21c651e98df25
	mulSecond = 0xd6e8feb86659fd93
)

// spread returns the word whose byte j is the first bit position in lane j.
// Only 6 bits of each byte count.
func spread(h uint64) uint64 { return (h ^ h>>32) * mulFirst }

// spreadAgain returns the word whose byte j is the second bit position in
// lane j, given spread(h).
func spreadAgain(y uint64) uint64 {
	hi, lo := bits.Mul64(y, mulSecond)
	return hi ^ lo
}

// turn rotates the bytes of y so that byte 0 is that of the start lane.
func turn(y, start uint64) uint64 { return bits.RotateLeft64(y, -int(start*8)) }

// Blocks returns the memory of words as blocks; words beyond the last whole
// block are left out.
func Blocks(words []uint64) []Block {
	return unsafe.Slice((*Block)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/8)
}

// Words returns the memory of blocks as words.
func Words(blocks []Block) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(blocks))), len(blocks)*8)
}
