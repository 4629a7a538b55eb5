package codec

import (
	"math/bits"
	"sync"
)

// pieces are the codes that the gaps of one parameter are put together from:
// heads by the length of the gap, tails by the byte that it ends in.
type pieces struct {
	heads [headCount]head
	tails [256]tail
}

const (
	// maxTails is the largest parameter with pieces. Above it a list of the
	// set bits is faster: there is less than one of them in a byte.
	maxTails = 2

	headCount = 512
	// noBit is added to the length of a gap that does not end in the byte.
	// Heads from there on are empty.
	noBit = 256
)

// A head is the code of one gap: in the lower 56 bits the code, then its
// length.
type head uint64

func (h head) code() uint64 { return uint64(h) & (1<<56 - 1) }
func (h head) length() uint { return uint(h >> 56) }

// A tail is what a byte adds to a code behind the gap that ends at its first
// set bit: in the lower 40 bits the code of its other gaps, then in 6 bits its
// length, in 9 bits the number of clear bits before the first set bit, and at
// the top the number of those behind the last.
type tail uint64

func (t tail) code() uint64 { return uint64(t) & (1<<40 - 1) }
func (t tail) length() uint { return uint(t>>40) & (1<<6 - 1) }
func (t tail) first() uint  { return uint(t>>46) & (1<<9 - 1) }

// after returns the number of clear bits behind the byte's last set bit, given
// the gap that it ends: behind a byte without one the gap goes on.
func (t tail) after(gap uint) uint { return uint(t>>56) + (gap-noBit)&-uint(t>>54&1) }

// pieceTables holds the pieces of each parameter, made when first used.
var pieceTables = func() (a [maxTails + 1]func() *pieces) {
	for r := uint(1); r <= maxTails; r++ {
		a[r] = sync.OnceValue(func() *pieces { return newPieces(r) })
	}
	return a
}()

func newPieces(r uint) *pieces {
	p := new(pieces)
	for gap := range uint(noBit) {
		if q := gap >> r; q+1+r <= 56 {
			p.heads[gap] = head(riceCode(gap, r, q) | uint64(q+1+r)<<56)
		}
	}
	p.tails[0] = (noBit + 8) << 46
	for b := 1; b < 256; b++ {
		p.tails[b] = newTail(uint8(b), r)
	}
	return p
}

func newTail(x uint8, r uint) tail {
	first, last := uint(bits.TrailingZeros8(x)), uint(bits.LeadingZeros8(x))
	code, length := uint64(0), uint(0)
	from := first + 1
	for x &= x - 1; x != 0; x &= x - 1 {
		at := uint(bits.TrailingZeros8(x))
		q := (at - from) >> r
		code |= riceCode(at-from, r, q) << length
		length += q + 1 + r
		from = at + 1
	}
	return tail(code | uint64(length)<<40 | uint64(first)<<46 | uint64(last)<<56)
}
