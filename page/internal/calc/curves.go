package calc

// The curves of the calculator.

import (
	"math"

	"github.com/bloomery/bloomery/sizing"
)

// Curves are false positive rates over the keys, the bits per key and the size of
// the array.
type Curves struct {
	N Curve `json:"n"`
	K Curve `json:"k"`
	M Curve `json:"m"`
}

// Curve is the false positive rates of filters over one figure.
type Curve struct {
	X      []float64 `json:"x"`
	Series []Series  `json:"series"`
	// Mark is the x of the present figures.
	Mark float64 `json:"mark"`
}

// Series is the rates of one filter, as many as there are x; those that it does
// not have are null.
type Series struct {
	Name string     `json:"name"`
	Y    []*float64 `json:"y"`
	// Best is the x with the lowest rate, where that is a question.
	Best float64 `json:"best,omitempty"`
}

// How many points a curve has, and how far it goes.
const (
	curvePoints = 48
	overfill    = 2  // times n
	spread      = 4  // times m, both ways
	leastK      = 10 // at least so many bits per key
	mostK       = 40
)

func (q *query) curves(solved sizing.Params, filters []Candidate) Curves {
	return Curves{N: overKeys(solved, filters), K: overHashes(solved, filters), M: q.overBits(solved, filters)}
}

// series makes a series for each filter that there is.
func (c *Curve) series(filters []Candidate, rate func(f Candidate, x float64) (float64, bool)) {
	c.Series = []Series{}
	for _, f := range filters {
		if f.Error != "" {
			continue
		}
		s := Series{Name: f.Name, Y: make([]*float64, len(c.X))}
		for i, x := range c.X {
			if y, ok := rate(f, x); ok {
				s.Y[i] = &y
			}
		}
		c.Series = append(c.Series, s)
	}
}

// overKeys is the rate as keys are added, to twice as many as there should be.
func overKeys(solved sizing.Params, filters []Candidate) Curve {
	n := float64(solved.N)
	c := Curve{Mark: n}
	for i := 1; i <= curvePoints; i++ {
		c.X = append(c.X, n*overfill*float64(i)/curvePoints)
	}
	c.series(filters, func(f Candidate, x float64) (float64, bool) { return f.shape.Rate(x), true })
	return c
}

// overHashes is the rate for every number of bits that a key may set.
func overHashes(solved sizing.Params, filters []Candidate) Curve {
	c := Curve{Mark: float64(solved.K)}
	last := min(max(leastK, 2*solved.K), mostK)
	for k := 1; k <= last; k++ {
		c.X = append(c.X, float64(k))
	}
	c.series(filters, func(f Candidate, x float64) (float64, bool) {
		s := f.shape
		s.K = int(x)
		return s.Rate(float64(solved.N)), s.Valid() == nil
	})
	for i := range c.Series {
		lowest := math.Inf(1)
		for j, y := range c.Series[i].Y {
			if y != nil && *y < lowest {
				c.Series[i].Best, lowest = c.X[j], *y
			}
		}
	}
	return c
}

// overBits is the rate in arrays from a fourth to four times the size, with the
// best k for each, or with the one that was given.
func (q *query) overBits(solved sizing.Params, filters []Candidate) Curve {
	n, m := float64(solved.N), float64(solved.M)
	c := Curve{Mark: m}
	for i := range curvePoints + 1 {
		x := math.Round(m * math.Pow(spread, 2*float64(i)/curvePoints-1))
		if x >= 1 && x <= sizing.MaxBits/2 && (len(c.X) == 0 || x > c.X[len(c.X)-1]) {
			c.X = append(c.X, x)
		}
	}
	c.series(filters, func(f Candidate, x float64) (float64, bool) {
		s := sizing.Shape{Layout: f.shape.Layout, Bits: uint64(x), K: q.K}
		s.Bits += -s.Bits % s.Layout.Unit()
		switch {
		case s.K == 0 && s.Layout == sizing.Standard:
			best, err := sizing.Solve(sizing.Params{N: solved.N, M: s.Bits})
			if err != nil {
				return 0, false
			}
			s.K = min(best.K, f.maxK())
		case s.K == 0:
			s.K = bestK(s, n)
		}
		return s.Rate(n), s.Valid() == nil
	})
	return c
}

// maxK is the largest number of bits per key that the layout takes.
func (f Candidate) maxK() int {
	s := f.shape
	for s.K++; s.Valid() == nil; s.K++ {
	}
	return s.K - 1
}
