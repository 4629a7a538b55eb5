package measuring

import (
	"encoding/binary"
	"strconv"
)

// Keys is a kind of keys: Append appends key number i to dst. Different
// numbers give different keys.
type Keys struct {
	Name   string
	Append func(dst []byte, i uint64) []byte
}

// KeyKinds returns the kinds of keys that filters are tried with: random ones,
// and three whose structure breaks weak hash functions.
func KeyKinds() []Keys {
	return []Keys{
		{"random", func(dst []byte, i uint64) []byte {
			return binary.LittleEndian.AppendUint64(dst, Scramble(i))
		}},
		{"sequential", binary.LittleEndian.AppendUint64},
		{"user", func(dst []byte, i uint64) []byte {
			return appendPadded(append(dst, "user:"...), i, 19)
		}},
		{"url", func(dst []byte, i uint64) []byte {
			dst = append(dst, "https://www.example.com/catalogue/"...)
			dst = strconv.AppendUint(dst, i%97, 10)
			dst = append(dst, "/item?id="...)
			return strconv.AppendUint(dst, i, 10)
		}},
	}
}

// appendPadded appends i in decimal with leading zeros, n digits in all.
func appendPadded(dst []byte, i uint64, n int) []byte {
	start := len(dst)
	for range n {
		dst = append(dst, '0')
	}
	for at := start + n - 1; at >= start; at-- {
		dst[at] = '0' + byte(i%10)
		i /= 10
	}
	return dst
}

// Scramble is a bijection that leaves no order in its results.
func Scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// block is a number of keys that share one piece of memory.
type block struct {
	buf  []byte
	keys [][]byte
}

// fill makes the keys with the numbers from first to first+n-1.
func (b *block) fill(keys Keys, first uint64, n int) [][]byte {
	b.buf = b.buf[:0]
	b.keys = b.keys[:0]
	var ends [Batch]int
	for i := range n {
		b.buf = keys.Append(b.buf, first+uint64(i))
		ends[i] = len(b.buf)
	}
	start := 0
	for _, end := range ends[:n] {
		b.keys = append(b.keys, b.buf[start:end:end])
		start = end
	}
	return b.keys
}
