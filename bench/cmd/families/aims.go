package main

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// aim is a figure that we want to reach.
type aim struct {
	title string
	most  bool // at most, else at least
	bound float64
	value func(d document) float64 // 0 if it was not measured
}

func atMost(bound float64, title string, value func(d document) float64) aim {
	return aim{title, true, bound, value}
}

func atLeast(bound float64, title string, value func(d document) float64) aim {
	return aim{title, false, bound, value}
}

// place is where a figure is found.
type place struct{ experiment, who, what string }

func at(experiment, who, what string) place { return place{experiment, who, what} }

// get returns the figure at p, or 0.
func (d document) get(p place) float64 { return d.records[p.experiment].find(p.who, p.what) }

// figureAt is the figure itself.
func figureAt(p place) func(d document) float64 {
	return func(d document) float64 { return d.get(p) }
}

// over is one figure over another of the same experiment, 0 if one of them is
// missing.
func over(a, b place) func(d document) float64 {
	return func(d document) float64 {
		x, y := d.get(a), d.get(b)
		if y == 0 {
			return 0
		}
		return x / y
	}
}

// faster is how many times as fast we are as the fastest of the others.
func faster(experiment, ours, what string, others []string, theirs string) func(d document) float64 {
	return func(d document) float64 {
		best := math.Inf(1)
		for _, who := range others {
			if ns := d.get(at(experiment, who, theirs)); ns > 0 {
				best = min(best, ns)
			}
		}
		mine := d.get(at(experiment, ours, what))
		if mine == 0 || math.IsInf(best, 1) {
			return 0
		}
		return best / mine
	}
}

// aims lists every aim that was measured, and those that are missed.
func (d document) aims() (all, missed *report.Table) {
	all = &report.Table{Head: []string{"what", "aim", "measured", "met"}}
	missed = &report.Table{Head: []string{"what", "aim", "measured"}}
	for _, a := range aims() {
		x := a.value(d)
		if x == 0 {
			continue
		}
		words, met := "at least ", x >= a.bound
		if a.most {
			words, met = "at most ", x <= a.bound
		}
		yes, row := "yes", []string{a.title, words + fmt.Sprintf("%.4g", a.bound), fmt.Sprintf("%.4g", x)}
		if !met {
			yes = "**no**"
			missed.Row(row...)
		}
		all.Row(append(row, yes)...)
	}
	return all, missed
}
