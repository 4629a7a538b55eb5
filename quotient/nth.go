package quotient

import "math/bits"

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// nth returns the position of the set bit of x that has k set bits below it, 64
// or more if there is none. Counting the bits of all bytes at once gives the
// byte, and a table of 2 KiB the bit in it. It has no branch, where clearing the
// lowest bit k times takes 20 steps at the median.
func nth(x uint64, k int) int {
	n := x - x>>1&0x5555555555555555
	n = n&0x3333333333333333 + n>>2&0x3333333333333333
	n = (n + n>>4) & 0x0f0f0f0f0f0f0f0f
	n *= ones // byte i has the number of bits in bytes 0 to i
	// The top bit of every byte whose bits are all before the one looked for.
	before := (uint64(k)*ones | tops) - n
	place := uint(bits.OnesCount64(before&tops)) * 8
	left := uint64(k) - n<<8>>(place%64)&255
	return int(place) + int(inByte[(x>>(place%64)&255|left<<8)%uint64(len(inByte))])
}

// inByte is nth for the 256 bytes, for k = 0, then for k = 1 and so on.
var inByte = func() (t [8 * 256]uint8) {
	for b := range 256 {
		k := 0
		for i := range 8 {
			if b>>i&1 != 0 {
				t[k<<8|b] = uint8(i)
				k++
			}
		}
	}
	return t
}()
