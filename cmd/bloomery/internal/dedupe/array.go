// Memory outside of the heap.

package dedupe

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// line is the size of a cache line in bytes.
const line = 64

// checkMemory refuses bounds that make no sense: the Go runtime ends the process
// when memory runs out.
func checkMemory(bytes, least int) error {
	limit := memory.Limit()
	switch {
	case bytes < least:
		return fmt.Errorf("%w: memory of %d bytes, at least %d", bloomery.ErrParameter, bytes, least)
	case uint64(bytes) > limit || bytes > math.MaxInt-line:
		return fmt.Errorf("%w: memory of %d bytes, there are %d", bloomery.ErrTooLarge, bytes, limit)
	}
	return nil
}

// array returns n zero words that begin at a cache line, outside of the heap if
// they are many: pages take memory when they are touched first.
func array(n int) ([]uint64, error) { return memory.Array(n, memory.Map) }

// bytesOf returns the memory of words as bytes.
func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}
