package kernel

import (
	"math/bits"
	"sync/atomic"
)

// The functions below are for arrays that some goroutines read while others
// set bits under a lock. Assembly may read a line while it is written: the
// machine gives each 64-bit word whole, bits only go from 0 to 1, and so a key
// whose Set happened before is found. Go code may not do that, not even where
// the compiler would give the same instructions: it loads and stores words
// atomically.

// HasShared is Has while others call SetShared.
func HasShared(blocks []Block, k int, h uint64) bool {
	if hasAVX512 || hasAVX2 {
		return Has(blocks, k, h)
	}
	return goHasShared(blocks, k, h)
}

// HasAllShared is HasAll while others call SetAllShared.
func HasAllShared(dst []bool, blocks []Block, k int, hs []uint64) {
	if hasAVX512 || hasAVX2 {
		HasAll(dst, blocks, k, hs)
		return
	}
	dst = dst[:len(hs)]
	for i, h := range hs {
		dst[i] = goHasShared(blocks, k, h)
	}
}

// SetShared is Set while others call HasShared. The block of h must be locked
// against other writers.
func SetShared(blocks []Block, k int, h uint64) bool {
	if hasAVX512 || hasAVX2 {
		return Set(blocks, k, h)
	}
	return goSetShared(blocks, k, h)
}

// SetAllShared is SetAll while others call HasShared. The blocks of all hs
// must be locked against other writers.
func SetAllShared(dst []bool, blocks []Block, k int, hs []uint64) {
	if hasAVX512 || hasAVX2 {
		SetAll(dst, blocks, k, hs)
		return
	}
	for i, h := range hs {
		fresh := goSetShared(blocks, k, h)
		if dst != nil {
			dst[i] = fresh
		}
	}
}

func goHasShared(blocks []Block, k int, h uint64) bool {
	hi, lo := bits.Mul64(h, uint64(len(blocks)))
	b, start, y := &blocks[hi], lo>>61, spread(h)
	w := uint64(1)
	for i := range uint64(min(k, 8)) {
		lane := (start + i) & 7
		w &= atomic.LoadUint64(&b[lane]) >> (y >> (8 * lane) & 63)
	}
	y = spreadAgain(y)
	for i := range uint64(max(k, 8) - 8) {
		lane := (start + i) & 7
		w &= atomic.LoadUint64(&b[lane]) >> (y >> (8 * lane) & 63)
	}
	return w != 0
}

func goSetShared(blocks []Block, k int, h uint64) bool {
	hi, lo := bits.Mul64(h, uint64(len(blocks)))
	b, start, y := &blocks[hi], lo>>61, spread(h)
	fresh := false
	for i := range uint64(min(k, 8)) {
		lane := (start + i) & 7
		fresh = setWord(&b[lane], y>>(8*lane)&63) || fresh
	}
	y = spreadAgain(y)
	for i := range uint64(max(k, 8) - 8) {
		lane := (start + i) & 7
		fresh = setWord(&b[lane], y>>(8*lane)&63) || fresh
	}
	return fresh
}

// setWord sets a bit that nobody else sets and reports whether it was clear.
func setWord(word *uint64, pos uint64) bool {
	v := atomic.LoadUint64(word)
	if v>>pos&1 != 0 {
		return false
	}
	atomic.StoreUint64(word, v|1<<pos)
	return true
}
