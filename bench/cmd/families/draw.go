package main

import "math/rand/v2"

// curve draws numbers, each as often as its weight says (Vose's alias method:
// a draw costs one look at a table, whatever the curve).
type curve struct {
	keep  []float64 // the chance that a place gives its own number
	other []uint32  // what it gives else
}

// newCurve makes the table of a curve.
func newCurve(weights []float64) curve {
	n, sum := len(weights), 0.0
	for _, w := range weights {
		sum += w
	}
	c := curve{make([]float64, n), make([]uint32, n)}
	var low, high []uint32 // below and above the mean
	for i, w := range weights {
		c.keep[i] = w / sum * float64(n)
		if c.keep[i] < 1 {
			low = append(low, uint32(i))
		} else {
			high = append(high, uint32(i))
		}
	}
	for len(low) > 0 && len(high) > 0 {
		i, j := low[len(low)-1], high[len(high)-1]
		low = low[:len(low)-1]
		c.other[i] = j
		c.keep[j] -= 1 - c.keep[i]
		if c.keep[j] < 1 {
			high, low = high[:len(high)-1], append(low, j)
		}
	}
	for _, i := range append(low, high...) {
		c.keep[i] = 1 // what is left is rounding
	}
	return c
}

// draw returns the number of a weight.
func (c curve) draw(r *rand.Rand) uint32 {
	i := r.Uint32N(uint32(len(c.keep)))
	if r.Float64() < c.keep[i] {
		return i
	}
	return c.other[i]
}
