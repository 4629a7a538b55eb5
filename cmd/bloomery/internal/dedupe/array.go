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

// array returns n zero words that begin at a cache line, on pages that the
// system gives when they are touched first.
func array(n int) []uint64 {
	w := make([]uint64, n+line/8-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(w))) % line / 8
	w = w[skip : skip+uintptr(n) : skip+uintptr(n)]
	memory.Advise(bytesOf(w))
	return w
}

// bytesOf returns the memory of words as bytes.
func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}
