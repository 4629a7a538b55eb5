package kernel

import "math/bits"

// # Counters in planes
//
// A blocked array may have a counter beside each bit. A clear bit is a count of
// 0, and its counter is 0; a set bit with the counter c is a count of c + 1.
// The counters of a block lie in planes of 512 bits: plane j holds bit j of all
// of them.
//
//	block    [ 512 bits ]      width planes follow each other for every block
//	plane 0  [ 512 bits ]      bit 0 of the 512 counters
//	plane 1  [ 512 bits ]      bit 1 of the 512 counters
//
// To add 1 is to ripple a carry up the planes, for all places of a key at once.
// Few keys carry past plane 1, so an insert touches two or three cache lines
// and seldom more, whatever the width. Counters side by side would be in as
// many lines as they have bits.

// mask sets the bits of h in m, which is zero, and returns the number of the
// block. It panics as Has does.
func mask(m *Block, n uint64, k int, h uint64) (block uint64) {
	if uint(k-1) >= MaxK {
		panic(badK)
	}
	block, lo := bits.Mul64(h, n)
	start := lo >> 61
	y := spread(h)
	z := turn(y, start)
	if k > 8 {
		z = turn(spreadAgain(y), start)
		for i := range 8 {
			m[i] = 1 << (y >> (8 * uint(i) & 63) & 63)
		}
		k -= 8
	}
	for range k {
		m[start&7] |= 1 << (z & 63)
		z >>= 8
		start++
	}
	return block
}

// planesOf returns the planes of a block.
func planesOf(planes []Block, width int, block uint64) []Block {
	from := block * uint64(width)
	return planes[from : from+uint64(width)]
}

// Increase adds 1 to the counts of h, in an array whose counters have this
// width, at least 1. Counters that are full stay so; it reports false, and
// changes nothing, if all of them are. It panics as Has does.
func Increase(blocks, planes []Block, width, k int, h uint64) bool {
	if uint(k-1) >= 8 { // two bits of the key may be in a lane
		return increaseMany(blocks, planes, width, k, h)
	}
	block, lo := bits.Mul64(h, uint64(len(blocks)))
	start := lo >> 61
	z := turn(spread(h), start)
	b := &blocks[block]
	counters := planesOf(planes, width, block)
	p := &counters[0]
	var carries Block
	var carry uint64
	for range k {
		bit := uint64(1) << (z & 63)
		z >>= 8
		lane := start & 7
		start++
		old, low := b[lane], p[lane]
		b[lane] = old | bit
		c := old & bit // the first key of a bit does not count
		p[lane] = low ^ c
		c &= low
		carries[lane] = c
		carry |= c
	}
	return carry == 0 || ripple(&carries, counters, k, h, uint64(len(blocks)))
}

// increaseMany is Increase for every k.
func increaseMany(blocks, planes []Block, width, k int, h uint64) bool {
	var m Block
	block := mask(&m, uint64(len(blocks)), k, h)
	b := &blocks[block]
	counters := planesOf(planes, width, block)
	p := &counters[0]
	var carry uint64
	for i := range 8 {
		old, low := b[i], p[i]
		b[i] = old | m[i]
		c := old & m[i]
		p[i] = low ^ c
		m[i] = c & low
		carry |= c & low
	}
	return carry == 0 || ripple(&m, counters, k, h, uint64(len(blocks)))
}

// ripple carries from plane 0 up. What carries out of the last plane was full:
// it is now 0 in all planes, and made full again.
func ripple(m *Block, counters []Block, k int, h, n uint64) bool {
	for j := 1; j < len(counters); j++ {
		p := &counters[j]
		var carry uint64
		for i := range 8 {
			c := m[i] & p[i]
			p[i] ^= m[i]
			m[i] = c
			carry |= c
		}
		if carry == 0 {
			return true
		}
	}
	for j := range counters {
		for i := range 8 {
			counters[j][i] |= m[i]
		}
	}
	var all Block
	mask(&all, n, k, h)
	return *m != all
}

// Decrease takes 1 from the counts of h that are not full. It reports false,
// and changes nothing, if one of them is 0. It panics as Has does.
func Decrease(blocks, planes []Block, width, k int, h uint64) bool {
	var m Block
	block := mask(&m, uint64(len(blocks)), k, h)
	b := &blocks[block]
	if !covers(b, &m) {
		return false
	}
	counters := planesOf(planes, width, block)
	// No branch depends on the counters: nobody could predict it.
	for i := range m {
		some, all := uint64(0), ^uint64(0)
		for j := range counters {
			some |= counters[j][i]
			all &= counters[j][i]
		}
		b[i] &^= m[i] &^ some // h was the last key there
		borrow := m[i] & some &^ all
		for j := range counters {
			counters[j][i] ^= borrow
			borrow &= counters[j][i]
		}
	}
	return true
}

// covers reports whether all bits of m are set in b.
func covers(b, m *Block) bool {
	var missing uint64
	for i := range 8 {
		missing |= m[i] &^ b[i]
	}
	return missing == 0
}

// Least returns the smallest count of h. It panics as Has does.
func Least(blocks, planes []Block, width, k int, h uint64) uint64 {
	if !hasOne(blocks, k, h) {
		return 0
	}
	var at [MaxK]uint16
	block, n := Places(&at, uint64(len(blocks)), k, h)
	counters := planesOf(planes, width, block)
	least := uint64(1) << width
	for _, place := range at[:n] {
		count := uint64(1)
		for j := range counters {
			count += counters[j][place>>6&7] >> (place & 63) & 1 << (j & 63)
		}
		least = min(least, count)
	}
	return least
}

// Refresh makes the counts of h as large as they can be. It panics as Has
// does.
func Refresh(blocks, planes []Block, width, k int, h uint64) {
	var m Block
	block := mask(&m, uint64(len(blocks)), k, h)
	b := &blocks[block]
	for i := range m {
		b[i] |= m[i]
	}
	for j := range planesOf(planes, width, block) {
		p := &planes[block*uint64(width)+uint64(j)]
		for i := range m {
			p[i] |= m[i]
		}
	}
}

// Sweep takes 1 from all counts of a block that are not 0, full ones, too.
func Sweep(blocks, planes []Block, width int, block uint64) {
	b := &blocks[block]
	counters := planesOf(planes, width, block)
	for i := range b {
		var some uint64
		for j := range counters {
			some |= counters[j][i]
		}
		b[i] &= some // counts of 1 end
		borrow := some
		for j := range counters {
			counters[j][i] ^= borrow
			borrow &= counters[j][i]
		}
	}
}
