package sizing

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
)

// The lengths of the transport form, see docs/format.md: what goes before the
// payload and behind it, and what goes before each chunk of it.
const (
	transportFrame = 16 + 64 + 4
	transportTable = 4       // bytes
	transportEvery = 1 << 20 // bytes of payload
	chunkFrame     = 4
	chunkBits      = 8 * 64 << 10
	maxRice        = 18 // the largest parameter of the code
)

// SmallestTransport returns the shape of at most mostBits bits that keeps rate
// p with n keys and has the shortest transport form (package codec), and the
// expected length of that in bytes.
//
// A filter that is sized for memory is half full and cannot be compressed. One
// with more bits, of which a key sets fewer, is emptier, and what is left of it when
// it is compressed is less: at 1% in the standard layout 0.94 of the smallest
// filter with twice the memory, and 0.84 with eleven times, which is one bit
// set by a key (Mitzenmacher, Compressed Bloom filters, 2002). Lookups gain too: fewer
// bits are looked at.
//
// Errors are those of Size; ErrTooLarge also if the smallest filter has more
// than mostBits.
func (l Layout) SmallestTransport(n uint64, p float64, mostBits uint64) (Shape, float64, error) {
	s, bytes, err := l.smallestTransport(n, p, mostBits)
	if err != nil {
		return Shape{}, 0, about("smallest transport", err)
	}
	return s, bytes, nil
}

func (l Layout) smallestTransport(n uint64, p float64, mostBits uint64) (Shape, float64, error) {
	q, err := l.request(n, p)
	if err != nil {
		return Shape{}, 0, err
	}
	best, err := l.size(n, p, 0)
	if err != nil {
		return Shape{}, 0, err
	}
	if best.Bits > mostBits {
		return Shape{}, 0, fmt.Errorf("%w: %d keys at rate %v need %d bits, at most %d are allowed", bloomery.ErrTooLarge, n, p, best.Bits, mostBits)
	}
	bytes := best.TransportBytes(q.n)
	// More bits per key than in the smallest array make a larger and fuller
	// one, which travels no better than its counterpart with fewer: rate and
	// entropy stay the same when set and clear bits change places. For each k
	// the smallest array that keeps the rate travels best.
	smallest := best
	for k := q.minK; k < smallest.K; k++ {
		s, ok := q.sizeWith(k, smallest.Bits, mostBits)
		if !ok {
			continue
		}
		if b := s.TransportBytes(q.n); b < bytes {
			best, bytes = s, b
		}
	}
	return best, bytes, nil
}

// sizeWith returns the smallest shape of at most mostBits that keeps the rate
// with k bits per key; false if there is none. The search begins at guess.
func (q request) sizeWith(k int, guess, mostBits uint64) (Shape, bool) {
	if q.layout == Partitioned {
		s, ok := sliceBits(q.n, q.p, guessSlice(q.n, q.p, k), k)
		return Shape{Layout: Partitioned, Bits: s * uint64(k), K: k}, ok && s <= mostBits/uint64(k)
	}
	most := min(mostBits/q.unit, q.most)
	if !q.reaches(k, most) {
		return Shape{}, false
	}
	units, ok := q.search(k, guess/q.unit, most)
	return Shape{Layout: q.layout, Bits: units * q.unit, K: k}, ok
}

// TransportBytes returns the expected length of the transport form (package
// codec) of a filter that holds n distinct keys, in bytes. It is that of
// independent bits; filters of all layouts keep to it within some 0.1%.
func (s Shape) TransportBytes(n float64) float64 {
	fill := s.Fill(n)
	fill = min(fill, 1-fill)
	size := math.Ceil(float64(s.Bits)/64) * 64
	chunks := math.Floor(size / chunkBits)
	bytes := transportFrame + transportTable*math.Ceil(size/8/transportEvery)
	bytes += chunks * (chunkFrame + codeBytes(fill, chunkBits))
	if rest := size - chunks*chunkBits; rest > 0 {
		bytes += chunkFrame + codeBytes(fill, rest)
	}
	return bytes
}

// codeBytes returns the expected length of the code of so many bits that are
// set with chance fill, or their own length if that is less. In Rice code each
// set bit has the r lower bits of its gap, a one bit, and q/(1-q) zero bits on
// average, where q is the chance that 2^r bits are clear. The end of the bits
// counts as a set bit, and half a byte is lost to rounding.
func codeBytes(fill, bits float64) float64 {
	best := bits / 8
	if fill <= 0 {
		return min(best, 1)
	}
	set := fill * bits
	for r := range maxRice + 1 {
		x := math.Ldexp(math.Log1p(-fill), r)
		zeros := math.Exp(x) / -math.Expm1(x)
		best = min(best, 0.5+((set+1)*float64(r+1)+set*zeros)/8)
	}
	return best
}
