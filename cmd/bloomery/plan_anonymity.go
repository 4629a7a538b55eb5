// What plan says about filters that are published.

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/sizing"
)

// hidden returns the rate that --anonymity asks for, or that of q without it.
func (o *planOptions) hidden(q sizing.Params) (float64, error) {
	switch {
	case o.given("anonymity") && !(o.anonymity > 1):
		return 0, hinted{
			fmt.Errorf("--anonymity %v: a key hides among K keys, itself included: K must be more than 1", o.anonymity),
			"as in: bloomery plan --anonymity 20 --universe 1e8 n=100",
		}
	case o.anonymity == 0 && (o.universe.value == 0 || slices.Contains(o.needs, "immutable")):
		return q.P, nil
	case o.anonymity == 0:
		return 0, errors.New("--universe goes with --anonymity, or with --needs immutable")
	case o.universe.value == 0:
		return 0, errors.New("--anonymity and --universe go together")
	case q.N == 0 || q.P != 0 || q.M != 0:
		return 0, errors.New("--anonymity takes the place of p=: give n=, and neither p= nor m= nor bits=")
	case o.queries.value > 0:
		return 0, errors.New("--anonymity and --queries exclude each other")
	}
	p, err := sizing.Anonymity(q.N, o.universe.value, o.anonymity)
	if err != nil {
		return 0, about("", err)
	}
	return p, nil
}

// publish makes the advice one for a filter that others receive. An exact set
// would hand them the keys. A rate below the one asked for hides a key among
// fewer, so the kind with the nearest rate comes first.
func (p *planned) publish(universe uint64) {
	p.universe, p.advice.Exact = universe, nil
	p.advice.Warnings = slices.DeleteFunc(p.advice.Warnings, func(w sizing.Warning) bool {
		return w.Code == sizing.FewKeys || w.Code == sizing.ShortKeys
	})
	away := func(c sizing.Choice) float64 { return math.Abs(math.Log(c.ErrorRate / p.solved.P)) }
	slices.SortStableFunc(p.advice.Kinds, func(a, b sizing.Choice) int {
		switch x, y := away(a), away(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// anonymityText lists among how many keys each key hides, for every kind.
func (p planned) anonymityText() string {
	var kinds []string
	others := float64(p.universe-p.solved.N) / float64(p.solved.N)
	for _, c := range p.advice.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s %.3g", c.Name, 1+c.ErrorRate*others))
	}
	return fmt.Sprintf("of %s possible keys, each key in the filter hides among: %s", grouped(p.universe), strings.Join(kinds, ", "))
}
