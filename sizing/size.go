package sizing

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
)

// enough is the rate below which a lower one is not worth more bits per key.
const enough = 1e-9

// Size returns the smallest shape whose predicted rate with n keys is at most
// p. Between several k of the same size it takes the one with the lowest
// rate, but none that sets more bits than make a rate of 1e-9 (or p, if lower).
// It takes some 10 microseconds and allocates nothing; the first call for the
// blocked layout takes a few milliseconds more, for tables that are kept. The
// error wraps ErrParameter if n or p make no sense for the layout, and
// ErrTooLarge if the array would exceed 2^63 bits, or 2^40 for Split.
func (l Layout) Size(n uint64, p float64) (Shape, error) {
	s, err := l.size(n, p, 0)
	if err != nil {
		return Shape{}, about("size", err)
	}
	return s, nil
}

// size is Size with k bits for a key, or the best number for 0.
func (l Layout) size(n uint64, p float64, k int) (Shape, error) {
	q, err := l.request(n, p)
	switch {
	case err != nil:
		return Shape{}, err
	case k != 0 && (k < q.minK || k > q.maxK):
		return Shape{}, l.wrongHashes(k)
	case k != 0:
		q.minK, q.maxK = k, k
	}
	if l == Partitioned {
		return partitionedSize(q)
	}
	return q.smallest()
}

// request checks what is asked of Size.
func (l Layout) request(n uint64, p float64) (request, error) {
	t := l.trait()
	switch {
	case t.maxK == 0:
		return request{}, fmt.Errorf("%w: unknown layout %d", bloomery.ErrParameter, uint8(l))
	case n == 0:
		return request{}, fmt.Errorf("%w: no keys: n = 0", bloomery.ErrParameter)
	case !(p > 0 && p < 1): // NaN too
		return request{}, fmt.Errorf("%w: rate %v is not between 0 and 1", bloomery.ErrParameter, p)
	case p < t.minRate:
		return request{}, fmt.Errorf("%w: rate %v is below %v, where the %s layout wastes space: use the standard layout",
			bloomery.ErrParameter, p, t.minRate, t.name)
	}
	q := request{
		layout: l, n: float64(n), p: p,
		minK: t.minK, maxK: t.maxK, unit: t.unit, least: t.least / t.unit, most: t.most / t.unit,
	}
	return q, nil
}

// request is one call of Size. Sizes in it count units: bits or blocks.
type request struct {
	layout      Layout
	n, p        float64
	minK, maxK  int
	unit        uint64
	least, most uint64
}

// smallest finds the size for a likely k, and then lets every other k try to
// do with less. No assumption is made on how the size depends on k.
func (q request) smallest() (Shape, error) {
	units, guessed := q.guess()
	guessed = min(max(guessed, q.minK), q.maxK)
	k := guessed
	best, ok := q.search(k, units, q.most)
	for other := q.minK; other <= q.maxK; other++ {
		if other == guessed || (ok && best == q.least) {
			continue
		}
		most := q.most
		if ok {
			most = best - 1
		}
		if !q.reaches(other, most) {
			continue
		}
		best, ok = q.search(other, most, most)
		k = other
	}
	if !ok {
		return Shape{}, fmt.Errorf("%w: %.0f keys at rate %v need more than 2^%d bits", bloomery.ErrTooLarge, q.n, q.p, bits.TrailingZeros64(q.most*q.unit))
	}
	return Shape{Layout: q.layout, Bits: best * q.unit, K: q.tie(best, k)}, nil
}

// tie returns the k to take among those that reach the rate in so many units,
// of which k is one.
func (q request) tie(units uint64, k int) int {
	lowest := math.Inf(1)
	for other := q.minK; other <= q.maxK; other++ {
		if !q.reaches(other, units) {
			continue
		}
		rate := q.rate(other, units)
		if rate < lowest {
			k, lowest = other, rate
		}
		if rate <= min(q.p, enough) {
			break
		}
	}
	return k
}

func (q request) rate(k int, units uint64) float64 {
	return Shape{Layout: q.layout, Bits: units * q.unit, K: k}.Rate(q.n)
}

// reaches reports whether k bits per key keep the rate in so many units. For
// the standard layout the mean of a power is at least the power of the mean,
// a test that is cheap and sends nearly all k away.
func (q request) reaches(k int, units uint64) bool {
	if q.layout == Standard {
		fill := Shape{Layout: Standard, Bits: units, K: k}.Fill(q.n)
		if float64(k)*math.Log(fill) > math.Log(q.p)+1e-9 {
			return false
		}
	}
	return q.rate(k, units) <= q.p
}

// guess returns a k and a number of units near the answer. Only the time that
// Size takes depends on it.
func (q request) guess() (uint64, int) {
	digits := -math.Log10(q.p)
	if q.layout == Standard {
		k := min(max(int(math.Round(digits*math.Log2(10))), 1), maxStandardK)
		return q.clamp(textbookBits(q.n, q.p, k)), k
	}
	if q.layout == Split {
		perKey := 4.8 * digits * (1 + 0.035*digits*digits) // fits within some ten percent
		return q.clamp(perKey * q.n / SplitBits), splitK
	}
	perKey := 4.8 * digits * (1 + 0.0095*digits*digits) // fits within some percent
	k := min(max(int(math.Round(0.65*perKey/(1+perKey/60))), 1), maxBlockedK)
	return q.clamp(perKey * q.n / BlockBits), k
}

// clamp rounds up to a size that is allowed.
func (q request) clamp(units float64) uint64 {
	if !(units < float64(q.most)) {
		return q.most
	}
	return max(uint64(math.Ceil(units)), q.least)
}

// search returns the smallest size between least and most whose rate with k
// bits per key is at most p, and false if there is none. It goes by secants of
// log rate over log size, which is nearly a straight line, and by bisection if
// these have not ended soon.
func (q request) search(k int, x, most uint64) (uint64, bool) {
	const secants = 16
	bad, good := q.least-1, most+1 // rates above p, and at most p
	slope := -0.6 * float64(k)
	var lastX, lastY float64
	for step := 0; good-bad > 1; step++ {
		x = min(max(x, bad+1), good-1)
		rate := q.rate(k, x)
		if rate <= q.p {
			good = x
		} else {
			bad = x
		}
		logX, y := math.Log(float64(x)), math.Log(rate/q.p)
		if s := (y - lastY) / (logX - lastX); step > 0 && s < 0 {
			slope = s
		}
		lastX, lastY = logX, y
		next := math.Ceil(float64(x) * math.Exp(-y/slope))
		if step > secants || math.IsNaN(next) || next > 0x1p63 {
			x = bad + (good-bad)/2
			continue
		}
		x = uint64(next)
	}
	return good, good <= most
}
