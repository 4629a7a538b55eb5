package codec

import (
	"encoding/binary"
	"slices"
)

// Gaps are the numbers of clear bits before each set bit, and at last before
// the end of the chunk, where a set bit is imagined. They are Rice coded: a
// gap g with parameter r is g>>r zero bits, a one bit, and the lower r bits of
// g. Bits fill bytes from the lowest up.
const (
	// maxRice is the largest parameter: one bit less than positions have.
	maxRice = 18
	// longRun is the number of zero bits from which a gap is not written in
	// one piece: with 1 + maxRice more bits and the 7 of a begun byte it
	// still fits into a word.
	longRun = 32
	// shortGap is how many zero bits a gap may have at the start of a word
	// that is coded by table: with the bits of 7 empty bytes, the tail of
	// the last and the 7 of a begun byte it still fits into a word.
	shortGap = 8
	// slack is how much room behind the limit the writer may touch: the gaps
	// of one list, one of them long, and a word.
	slack = listBytes*(maxRice+1) + 16
)

// riceUpTo[r-1] is the share of set bits, in units of 2^-20, up to which r
// makes a shorter code than r-1, for bits that are independent: there
// (1-share)^(2^(r-1)) is the golden section, 0.618 (Kiely, Selecting the
// Golomb parameter in Rice coding, 2004). With more set bits than the first
// entry says, no code is shorter than the bits themselves.
var riceUpTo = [maxRice]uint64{
	400520, 224236, 118854, 61213, 31067, 15650, 7854, 3934, 1969, 985, 492, 246, 123, 61, 30, 15, 7, 3,
}

// riceFor returns the parameter for a number of set bits among n, 0 if no code
// would be shorter than the bits.
func riceFor(set, n int) uint {
	r := uint(0)
	for r < maxRice && uint64(set)<<20 <= riceUpTo[r]*uint64(n) {
		r++
	}
	return r
}

// leastGaps returns a lower bound of the length of the code in bytes: r+1 bits
// for each gap, and the zero bits of gaps that are all as long as can be
// without one.
func leastGaps(set, n int, r uint) int {
	count := int64(set) + 1
	zeros := (int64(n-set) - count*(1<<r-1)) >> r
	return int((count*int64(r+1) + max(zeros, 0) + 7) / 8)
}

// appendGaps appends the code of the bits of raw, each word of it xored with
// flip. It reports false if the code would have limit bytes or more; what it
// then appended is of no use.
func appendGaps(dst, raw []byte, flip uint64, r uint, limit int) ([]byte, bool) {
	start := len(dst)
	dst = slices.Grow(dst, limit+slack)
	w := gapWriter{out: dst[start : start+limit+slack], limit: limit, r: r}
	var list positions
	for len(raw) > 0 {
		take := min(len(raw), listBytes)
		if r <= maxTails {
			if raw = w.tabled(raw, flip, pieceTables[r]()); len(raw) == 0 {
				break
			}
			take = 8
		}
		count := list.find(raw[:take], flip)
		if !w.listed(list[:count], take*8) {
			return dst, false
		}
		raw = raw[take:]
	}
	if !w.listed([]uint32{0}, 0) { // the end
		return dst, false
	}
	size := w.at + int(w.n+7)/8
	return dst[:start+size], size < limit
}

// gapWriter writes gaps as bits.
type gapWriter struct {
	out   []byte
	limit int
	r     uint
	at    int    // bytes of out that are complete
	acc   uint64 // bits that are not
	n     uint   // their number, at most 7 between gaps
	zeros uint   // clear bits since the last set bit
}

// listed writes the gaps before the set bits at these positions among bits. It
// reports false if the limit is reached.
func (w *gapWriter) listed(list []uint32, bits int) bool {
	out, r, at, acc, n := w.out, w.r&63, w.at, w.acc, w.n
	if at >= w.limit {
		return false
	}
	low := uint64(1)<<r - 1
	next := -int(w.zeros) // the position behind the last set bit
	for _, pos := range list {
		gap := uint(int(pos) - next)
		next = int(pos) + 1
		q := gap >> r
		if q >= longRun {
			if at+int(q/8) >= w.limit {
				return false
			}
			// Zero bits but for less than a byte.
			out[at] = byte(acc)
			whole := int(n+q) / 8
			clear(out[at+1 : at+whole])
			at += whole
			acc, n, q = 0, 0, (n+q)%8
		}
		acc |= (uint64(gap)&low<<1 | 1) << (q & 63) << (n & 63)
		n += q + 1 + r
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(n >> 3)
		acc >>= n &^ 7 & 63
		n &= 7
	}
	w.at, w.acc, w.n, w.zeros = at, acc, n, uint(bits-next)
	return true
}

// riceCode returns the code of a gap that begins with q zero bits.
func riceCode(gap, r, q uint) uint64 { return (uint64(gap)&(1<<r-1)<<1 | 1) << q }

// tabled writes the gaps of raw byte by byte: a byte is one gap that began
// before it, and a tail that depends on the byte alone. There is no branch on
// single bits, since nobody could predict it. It returns what is left of raw
// when it meets a long gap or the limit.
func (w *gapWriter) tabled(raw []byte, flip uint64, p *pieces) []byte {
	out, at, acc, n, zeros := w.out, w.at, w.acc, w.n, w.zeros
	for len(raw) >= 8 && zeros < shortGap<<w.r && at < w.limit {
		x := binary.LittleEndian.Uint64(raw) ^ flip
		raw = raw[8:]
		for range 8 {
			t := p.tails[x&0xff]
			x >>= 8
			gap := zeros + t.first()
			h := p.heads[gap%headCount]
			acc |= h.code() << (n & 63)
			n += h.length()
			acc |= t.code() << (n & 63)
			n += t.length()
			binary.LittleEndian.PutUint64(out[at:], acc)
			at += int(n >> 3)
			acc >>= n &^ 7 & 63
			n &= 7
			zeros = t.after(gap)
		}
	}
	w.at, w.acc, w.n, w.zeros = at, acc, n, zeros
	return raw
}
