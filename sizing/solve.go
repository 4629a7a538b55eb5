package sizing

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
)

// Params are the four figures of the textbook. A zero field is unknown.
type Params struct {
	N uint64  // keys
	P float64 // false positive rate
	M uint64  // bits
	K int     // bits set by a key
}

// Solve fills in the unknown fields by the textbook's formulas. Two of N, P
// and M must be known; K may be, and is otherwise the best whole number:
//
//	N, P      M and K        N, P, K   M
//	N, M      P and K        N, M, K   P
//	P, M      N and K        P, M, K   N
//
// M is rounded up and N down. Known fields come back unchanged, so with N and
// P given the rate that M and K really make can lie a little above P, since K
// is rounded: see [Layout.Size] for sizes that keep P. A P that comes out can
// be 1: such a filter is full.
//
// The error wraps ErrParameter if a field makes no sense, if less than two of
// N, P and M are known, if all three are (two of them already give the third),
// or if no filter fits; and ErrTooLarge if a figure exceeds 2^63.
func Solve(q Params) (Params, error) {
	r, err := q.solve()
	if err != nil {
		return Params{}, about("solve", err)
	}
	return r, nil
}

func (q Params) solve() (Params, error) {
	if err := q.check(); err != nil {
		return Params{}, err
	}
	if q.K == 0 && q.P > 0.5 {
		// The formulas for the best k assume log2(1/p) bits per key, which is
		// less than the one bit that a key must set.
		q.K = 1
	}
	switch {
	case q.M == 0:
		return q.solveM()
	case q.N == 0:
		return q.solveN()
	}
	return q.solveP()
}

func (q Params) check() error {
	known := 0
	for _, is := range [...]bool{q.N != 0, q.P != 0, q.M != 0} {
		if is {
			known++
		}
	}
	switch {
	case q.P != 0 && !(q.P > 0 && q.P < 1): // NaN too
		return fmt.Errorf("%w: rate %v is not between 0 and 1", bloomery.ErrParameter, q.P)
	case q.K < 0:
		return fmt.Errorf("%w: k = %d is negative", bloomery.ErrParameter, q.K)
	case q.N > MaxBits:
		return fmt.Errorf("%w: %d keys, at most 2^63", bloomery.ErrTooLarge, q.N)
	case q.M > MaxBits:
		return fmt.Errorf("%w: %d bits, at most 2^63", bloomery.ErrTooLarge, q.M)
	case known < 2:
		return fmt.Errorf("%w: under-determined: two of n, p and m must be known", bloomery.ErrParameter)
	case known > 2:
		return fmt.Errorf("%w: over-determined: leave out one of n, p and m", bloomery.ErrParameter)
	}
	return nil
}

func (q Params) solveM() (Params, error) {
	m := -float64(q.N) * math.Log(q.P) / (math.Ln2 * math.Ln2)
	if q.K != 0 {
		m = textbookBits(float64(q.N), q.P, q.K)
	}
	if !(m <= MaxBits) {
		return Params{}, fmt.Errorf("%w: %.4g bits, at most 2^63", bloomery.ErrTooLarge, m)
	}
	q.M = max(uint64(math.Ceil(m)), 1)
	q.K = q.bestK()
	return q, nil
}

func (q Params) solveN() (Params, error) {
	n := float64(q.M) * (math.Ln2 * math.Ln2) / -math.Log(q.P)
	if q.K != 0 {
		n = float64(q.M) / textbookBits(1, q.P, q.K)
	}
	if !(n <= MaxBits) {
		return Params{}, fmt.Errorf("%w: %.4g keys, at most 2^63", bloomery.ErrTooLarge, n)
	}
	if n < 1 {
		return Params{}, fmt.Errorf("%w: %d bits hold no key at rate %v", bloomery.ErrParameter, q.M, q.P)
	}
	q.N = uint64(n)
	q.K = q.bestK()
	return q, nil
}

func (q Params) solveP() (Params, error) {
	q.K = q.bestK()
	q.P = math.Exp(textbookLogRate(float64(q.N), float64(q.M), q.K))
	if q.P == 0 {
		enough, err := Blocked.size(q.N, defaultRate, 0)
		if err != nil {
			return Params{}, err
		}
		return Params{}, fmt.Errorf("%w: oversized: %s for %d keys are %d bits for each; %s keep a rate of %s",
			bloomery.ErrParameter, size(q.M/8), q.N, q.M/q.N, size(enough.Bits/8), percent(defaultRate))
	}
	return q, nil
}

// bestK returns K if it is known, else the better of the two whole numbers
// around m/n ln 2.
func (q Params) bestK() int {
	if q.K != 0 {
		return q.K
	}
	n, m := float64(q.N), float64(q.M)
	// Beyond a thousand bits per key no rate can be told from 0.
	low := max(int(min(m/n*math.Ln2, 1<<20)), 1)
	if textbookLogRate(n, m, low+1) < textbookLogRate(n, m, low) {
		return low + 1
	}
	return low
}

// textbookLogRate returns the logarithm of (1 - e^(-kn/m))^k.
func textbookLogRate(n, m float64, k int) float64 {
	return float64(k) * logOneMinusExp(-float64(k)*n/m)
}

// textbookBits returns the bits m for which (1 - e^(-kn/m))^k is p.
func textbookBits(n, p float64, k int) float64 {
	return -float64(k) * n / logOneMinusExp(math.Log(p)/float64(k))
}

// logOneMinusExp returns log(1 - e^x) for x < 0. Each branch is exact where
// the other one subtracts nearly equal numbers.
func logOneMinusExp(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}
