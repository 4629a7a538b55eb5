package kernel

// Ahead asks for the memory of slots of a fuse filter before they are read. It
// changes nothing but the time that takes: package fuse says where slots are,
// and where it says so otherwise than this, answers are right all the same.
type Ahead struct {
	Table  *byte  // the array
	Scale  uint   // a slot has 1<<Scale bytes
	Starts uint64 // slots that a key can start in
	Length uint64 // slots of a segment
	Four   bool   // slots of a key instead of three
}

// CanPrefetch reports whether prefetches do anything here.
func CanPrefetch() bool { return hasAVX2 || hasAVX512 }

// Prefetch asks for the slots of the keys with these hashes, which are few:
// what is not read soon is gone again.
func (a *Ahead) Prefetch(hs []uint64) {
	if !CanPrefetch() || len(hs) == 0 {
		return
	}
	if a.Four {
		ahead4BMI2(a.Table, uint64(a.Scale), a.Starts, a.Length, &hs[0], len(hs))
		return
	}
	ahead3BMI2(a.Table, uint64(a.Scale), a.Starts, a.Length, &hs[0], len(hs))
}

// PrefetchBits asks for k bits of each of n keys in table, before they are read or
// set. pairs is the first of 2·n words, two for each key: bit i of a key is at
// (first + i·second) mod bits. inverse is floor(2^64 / bits). It changes nothing
// but the time that reading takes.
func PrefetchBits(table []byte, bits, inverse uint64, pairs *uint64, n, k int) {
	if !CanPrefetch() || len(table) == 0 || n <= 0 || k <= 0 {
		return
	}
	aheadBitsBMI2(&table[0], bits, inverse, pairs, n, k)
}

// PrefetchAt asks for the bytes of table at these places. It changes nothing but
// the time that reading takes.
func PrefetchAt(table []byte, at []uint64) {
	if !CanPrefetch() || len(table) == 0 || len(at) == 0 {
		return
	}
	aheadAtBMI2(&table[0], &at[0], len(at))
}
