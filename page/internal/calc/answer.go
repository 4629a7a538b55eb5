package calc

// What the calculator shows.

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// Answer is what the calculator shows.
type Answer struct {
	// Assumed are the figures that were not given and follow from nothing.
	Assumed []string `json:"assumed"`
	// Textbook are the figures by the textbook's formulas, and Better those with
	// the best k where another one was given.
	Textbook Figures  `json:"textbook"`
	Better   *Figures `json:"better"`
	// Filters are real filters for these figures.
	Filters []Candidate `json:"filters"`
	Curves  Curves      `json:"curves"`
	// Take is what to take, and Kinds all there is to choose from, exact sets
	// included.
	Take     string    `json:"take"`
	Kinds    []Choice  `json:"kinds"`
	Warnings []Warning `json:"warnings"`
	// Copy is what to paste, for Kind.
	Kind string    `json:"kind"`
	Copy []Snippet `json:"copy"`
}

// Figures are the five figures of a Bloom filter.
type Figures struct {
	N     uint64  `json:"n"`
	P     float64 `json:"p"`
	M     uint64  `json:"m"`
	K     int     `json:"k"`
	Bits  float64 `json:"bits"`  // per key
	Bytes uint64  `json:"bytes"` // of m
	// Rate is the false positive rate that a standard filter of m bits and this k
	// has with n keys. The textbook rounds k and leaves out how the fill varies.
	Rate float64 `json:"rate"`
}

func figuresOf(q sizing.Params) Figures {
	rate := sizing.Shape{Layout: sizing.Standard, Bits: q.M, K: q.K}.Rate(float64(q.N))
	return Figures{N: q.N, P: q.P, M: q.M, K: q.K, Bits: float64(q.M) / float64(q.N), Bytes: (q.M-1)/8 + 1, Rate: rate}
}

// Candidate is a real filter: what the textbook leaves out is in its figures.
type Candidate struct {
	Name string `json:"name"`
	Make string `json:"make"`
	// Error is why there is none, then the other fields are 0.
	Error string  `json:"error,omitempty"`
	M     uint64  `json:"m"`
	K     int     `json:"k"`
	Bits  float64 `json:"bits"`
	Bytes uint64  `json:"bytes"`
	// Rate is the predicted false positive rate with n keys, Fill the share of
	// bits that are then set.
	Rate float64 `json:"rate"`
	Fill float64 `json:"fill"`

	shape sizing.Shape
}

// Warning is a weakness of a plan.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Solve answers a query: n, p, m, k and bits, as people write them, and what is
// needed (needs, key_bytes, cost, absent, memory, kind). Fields that are empty are
// not given.
func Solve(query url.Values) (*Answer, QueryError) {
	q, faults := read(query)
	if faults != nil {
		return nil, faults
	}
	solved, err := sizing.Solve(q.Params)
	if err != nil {
		return nil, q.blame(err)
	}
	a := &Answer{Assumed: append([]string{}, q.assumed...), Textbook: figuresOf(solved), Warnings: []Warning{}}
	if q.K != 0 {
		free := q.Params
		free.K = 0
		if best, err := sizing.Solve(free); err == nil && best.K != solved.K {
			f := figuresOf(best)
			a.Better = &f
		}
	}
	a.Filters = []Candidate{q.filter(solved, sizing.Standard), q.filter(solved, sizing.Blocked)}
	a.Curves = q.curves(solved, a.Filters)
	if err := q.advise(a, solved); err != nil {
		return nil, QueryError{"needs": cause(err)}
	}
	if a.Kind = q.kind; a.Kind == "" {
		a.Kind = a.usual()
	}
	i := slices.IndexFunc(a.Kinds, func(c Choice) bool { return c.Name == a.Kind })
	switch {
	case i < 0 && q.kind != "" && len(a.Kinds) > 0:
		return nil, QueryError{"kind": "a " + a.Kind + " filter cannot be made for these figures"}
	case i < 0:
		a.Copy = nothing("No filter can be made for these figures.")
	default:
		solved.N, solved.P = a.Kinds[i].Keys, a.Kinds[i].Asked
		a.Copy = q.snippets(a.Kind, solved, a.Filters)
	}
	return a, nil
}

// usual returns the kind whose commands are shown if none was chosen.
func (a *Answer) usual() string {
	if _, ok := recipes[a.Take]; ok {
		return a.Take
	}
	for _, c := range a.Kinds {
		if _, ok := recipes[c.Name]; ok && c.Serves {
			return c.Name
		}
	}
	return "bloom"
}

// blame finds the field that an error of sizing is about: one that was given.
func (q *query) blame(err error) QueryError {
	for _, field := range []string{"k", "bits", "m", "p", "n"} {
		if q.given[field] {
			return QueryError{field: cause(err)}
		}
	}
	return QueryError{"n": cause(err)}
}

// cause returns the last part of an error: what is behind the sentinel.
func cause(err error) string {
	text := err.Error()
	for _, sentinel := range []error{bloomery.ErrParameter, bloomery.ErrTooLarge} {
		if _, facts, ok := strings.Cut(text, sentinel.Error()+": "); ok {
			return facts
		}
	}
	return text
}

// filter returns the filter of a layout: in m bits if these are given, otherwise
// the smallest that keeps p.
func (q *query) filter(solved sizing.Params, layout sizing.Layout) Candidate {
	f := Candidate{Name: layout.String(), Make: "bloom.NewStandard"}
	if layout == sizing.Blocked {
		f.Name, f.Make = "bloom", "bloom.New"
	}
	shape, err := q.shape(solved, layout)
	if err != nil {
		f.Error = cause(err)
		return f
	}
	n := float64(solved.N)
	f.shape, f.M, f.K, f.Bits, f.Bytes = shape, shape.Bits, shape.K, float64(shape.Bits)/n, (shape.Bits-1)/8+1
	f.Rate, f.Fill = shape.Rate(n), shape.Fill(n)
	return f
}

func (q *query) shape(solved sizing.Params, layout sizing.Layout) (sizing.Shape, error) {
	if !q.given["m"] && !q.given["bits"] && q.K == 0 {
		return layout.Size(solved.N, solved.P)
	}
	s := sizing.Shape{Layout: layout, Bits: solved.M, K: q.K}
	switch {
	case !q.given["m"] && !q.given["bits"] && s.Bits <= sizing.MaxBits-layout.Unit():
		s.Bits += -s.Bits % layout.Unit()
	case s.Bits < layout.Unit():
		return s, fmt.Errorf("%w: a block has %d bits, there are %d", bloomery.ErrParameter, layout.Unit(), s.Bits)
	default: // no more than was given
		s.Bits -= s.Bits % layout.Unit()
	}
	if s.K == 0 {
		s.K = bestK(s, float64(solved.N))
	}
	return s, s.Valid()
}

// bestK returns the number of bits per key with the lowest rate for n keys.
func bestK(s sizing.Shape, n float64) int {
	best, lowest := 1, math.Inf(1)
	for s.K = 1; s.Valid() == nil; s.K++ {
		if rate := s.Rate(n); rate < lowest {
			best, lowest = s.K, rate
		}
	}
	return best
}
