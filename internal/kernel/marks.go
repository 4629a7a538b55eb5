package kernel

import "encoding/binary"

// Marked is the number of bytes that a word of Marks is for.
const Marked = 64

// Marks sets bit i%Marked of dst[i/Marked] if data[i] is b, and clears all others. It
// panics if dst has less than a bit for each byte.
func Marks(dst []uint64, data []byte, b byte) {
	words := len(data) / Marked
	_ = dst[:(len(data)+Marked-1)/Marked]
	if (hasAVX512 || hasAVX2) && words > 0 {
		marksAVX2(&dst[0], &data[0], words, &b)
	} else {
		goMarks(dst[:words], data, b)
	}
	if rest := data[words*Marked:]; len(rest) > 0 {
		w := uint64(0)
		for i, c := range rest {
			if c == b {
				w |= 1 << i
			}
		}
		dst[words] = w
	}
}

// goMarks is Marks in Go, for whole words. Bytes that are equal become the only ones
// whose highest bit is clear, and a product moves these bits together.
func goMarks(dst []uint64, data []byte, b byte) {
	const ones, low, gather = 0x01_01_01_01_01_01_01_01, 0x7f_7f_7f_7f_7f_7f_7f_7f, 0x01_02_04_08_10_20_40_80
	wanted := uint64(b) * ones
	for i := range dst {
		w := uint64(0)
		for j := range Marked / 8 {
			x := binary.LittleEndian.Uint64(data[Marked*i+8*j:]) ^ wanted
			w |= ^(x&low + low | x | low) >> 7 * gather >> 56 << (8 * j)
		}
		dst[i] = w
	}
}
