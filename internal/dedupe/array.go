package dedupe

import "unsafe"

// line is the size of a cache line in bytes.
const line = 64

// array returns n zero words that begin at a cache line, on pages that the
// system gives when they are touched first.
func array(n int) []uint64 {
	w := make([]uint64, n+line/8-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(w))) % line / 8
	w = w[skip : skip+uintptr(n) : skip+uintptr(n)]
	advise(bytesOf(w))
	return w
}

// bytesOf returns the memory of words as bytes.
func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}
