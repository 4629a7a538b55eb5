package teach

// An experiment: a filter that is filled past its capacity.

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/measuring"
)

// Growth is a filter that is filled past its capacity.
type Growth struct {
	Kind     string  `json:"kind"`
	Capacity int     `json:"capacity"`
	Bits     uint64  `json:"bits"`
	Asked    float64 `json:"asked"`
	Points   []Point `json:"points"`
	// Broken is the first point whose predicted rate is above the asked, -1 if
	// there is none.
	Broken int    `json:"broken"`
	Text   string `json:"text"`
}

// Point is the filter with so many keys.
type Point struct {
	Keys      int      `json:"keys"`
	Fill      float64  `json:"fill"`
	Predicted float64  `json:"predicted"`
	Measured  Measured `json:"measured"`
}

// A Growth goes to so many times the capacity in steps of an eighth.
const (
	growthTimes = 4
	growthSteps = 8
)

// Grow makes a filter for n keys, standard or blocked, and adds 4 times as many.
// The error is a *FieldError.
func Grow(kind string, n int, rate float64) (Growth, error) {
	if err := checkTrial(n, rate); err != nil {
		return Growth{}, err
	}
	c := bloom.Config{Capacity: n, ErrorRate: rate}
	var f adder
	var err error
	switch kind {
	case "standard":
		f, err = c.NewStandard()
	case "blocked":
		f, err = c.New()
	default:
		return Growth{}, fault("kind", "%q is not standard or blocked", clip(kind))
	}
	if err != nil {
		return Growth{}, fault("p", "%v", err)
	}
	g := Growth{Kind: kind, Capacity: n, Bits: f.Stats().Bits, Asked: rate, Broken: -1}
	added, others := 0, absent(f, func(i int) string { return numbered("absent", i) })
	for step := range growthTimes*growthSteps + 1 {
		for keys := n * step / growthSteps; added < keys; added++ {
			f.AddHash(f.Hash([]byte(numbered("key", added))))
		}
		stats := f.Stats()
		p := Point{Keys: added, Fill: stats.Saturation, Predicted: stats.Predicted, Measured: measure(f, others)}
		if g.Broken < 0 && added > n && p.Predicted > rate {
			g.Broken = step
		}
		g.Points = append(g.Points, p)
	}
	full := g.Points[len(g.Points)-1]
	g.Text = fmt.Sprintf("Made for %s at a false positive rate of %g%%. With %s the rate is %.3g%%, %.0f times as high.",
		count(n, "key"), 100*rate, count(full.Keys, "key"), 100*full.Predicted, full.Predicted/rate)
	return g, nil
}

func numbered(word string, i int) string { return fmt.Sprintf("%s %d", word, i) }

// absent returns the hashes of keys that are not in a filter.
func absent(f bloomery.Hashed, key func(i int) string) []uint64 {
	hs := make([]uint64, probes)
	for i := range hs {
		hs[i] = f.Hash([]byte(key(i)))
	}
	return hs
}

// measure asks for absent keys.
func measure(f bloomery.Hashed, absent []uint64) Measured {
	found := make([]bool, len(absent))
	f.ContainsHashes(found, absent)
	m := Measured{Tried: len(absent)}
	for _, yes := range found {
		if yes {
			m.Yes++
		}
	}
	m.Rate = float64(m.Yes) / float64(m.Tried)
	interval := measuring.Wilson(float64(m.Yes), float64(m.Tried), measuring.Sigmas95)
	m.Low, m.High = interval.Low, interval.High
	return m
}
