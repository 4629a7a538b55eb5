package sizing

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
)

const (
	// MaxGenerations bounds the generations of a Window.
	MaxGenerations = 63
	// WindowGenerations is the default of Generations.
	WindowGenerations = 6
	// WindowBurst is the default of Burst.
	WindowBurst = 1.5
)

// Window is the shape of a filter that holds the keys of a span of time in
// generations and drops the oldest whole. There is one generation more than the
// span has: the oldest is kept until the youngest is full.
//
// Safe for concurrent use.
type Window struct {
	// Shape is that of one generation.
	Shape Shape
	// Generations is how many a span has, Burst how many times its even share
	// of the keys one of them may take.
	Generations int
	Burst       float64
}

// WindowSize returns a small Window for n keys per span whose false positive
// rate over all generations is at most p, as long as none of them takes more than
// burst times its even share, n / generations. Errors wrap ErrParameter or
// ErrTooLarge.
//
// Its generations have the Blocked layout, or the Split one if that takes at most
// an eighth more memory: a lookup then reads half as many cache lines. See
// Layout.WindowSize for the one or the other.
func WindowSize(n uint64, p float64, generations int, burst float64) (Window, error) {
	blocked, err := Blocked.WindowSize(n, p, generations, burst)
	if err != nil {
		return Window{}, err
	}
	split, err := Split.WindowSize(n, p, generations, burst)
	if err != nil || split.Bits() > blocked.Bits()+blocked.Bits()/8 {
		return blocked, nil //nolint:nilerr // what Split refuses, Blocked may take
	}
	return split, nil
}

// WindowSize returns the smallest Window of generations of this layout that does
// what the function WindowSize says. Errors are the same.
func (l Layout) WindowSize(n uint64, p float64, generations int, burst float64) (Window, error) {
	switch {
	case generations < 1 || generations > MaxGenerations:
		return Window{}, refuse("window", bloomery.ErrParameter, "%d generations, a window has 1 to %d", generations, MaxGenerations)
	case !(burst >= 1) || math.IsInf(burst, 1):
		return Window{}, refuse("window", bloomery.ErrParameter, "burst %v is not at least 1", burst)
	case n < 1:
		return Window{}, refuse("window", bloomery.ErrParameter, "capacity 0 is not at least 1")
	case !(p > 0 && p < 1):
		return Window{}, refuse("window", bloomery.ErrParameter, "error rate %v is not between 0 and 1", p)
	}
	w := Window{Generations: generations, Burst: min(burst, float64(generations))}
	// The rate of a generation grows faster than its keys, so the worst that can
	// happen is that some are as full as they may be and the others empty: a span
	// has so many of them, and there is one generation more than in a span.
	full := float64(n)/float64(w.Most(n)) + 1
	shape, err := l.Size(w.Most(n), p/full)
	if err != nil {
		return Window{}, about("window", fmt.Errorf("each generation: %w", errors.Unwrap(err)))
	}
	w.Shape = shape
	return w, nil
}

// Most returns how many keys one generation may take if a span has n.
func (w Window) Most(n uint64) uint64 {
	most := math.Ceil(float64(n) * w.Burst / float64(w.Generations))
	return max(1, min(n, uint64(most)))
}

// Worst returns the false positive rate when n keys per span lie as badly as
// Burst allows.
func (w Window) Worst(n uint64) float64 {
	most := w.Most(n)
	rate := w.Shape.Rate(float64(most))
	return min(1, float64(n/most+1)*rate+w.Shape.Rate(float64(n%most)))
}

// Bits returns the size of all generations together.
func (w Window) Bits() uint64 { return uint64(w.Generations+1) * w.Shape.Bits }
