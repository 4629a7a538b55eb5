package snapshot

// Sums of contents, by which machines compare what they hold.

import "encoding/binary"

// addSum adds a piece of contents, at an offset, to their sum. How contents are cut into
// pieces, and in which order they come, makes no difference: words of 8 bytes are
// multiplied by odd factors that depend on where they are. One word that is another one
// always changes the sum; it is no protection against people.
func addSum(sum uint64, off int64, data []byte) uint64 {
	at := uint64(off)
	part := func(n int) { // the next n bytes lie in one word
		word := uint64(0)
		for i := range n {
			word |= uint64(data[i]) << (8 * (at%8 + uint64(i)))
		}
		sum += word * factor(at/8)
		at += uint64(n)
		data = data[n:]
	}
	if at%8 != 0 {
		part(min(len(data), int(8-at%8)))
	}
	for ; len(data) >= 8; data = data[8:] {
		sum += binary.LittleEndian.Uint64(data) * factor(at/8)
		at += 8
	}
	if len(data) > 0 {
		part(len(data))
	}
	return sum
}

// factor is the finalizer of SplitMix64, made odd.
func factor(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31 | 1
}
