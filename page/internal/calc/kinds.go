package calc

// All kinds side by side.

import (
	"cmp"
	"slices"

	"github.com/bloomery/bloomery/internal/question"
	"github.com/bloomery/bloomery/sizing"
)

// Choice is a kind of filter or an exact set with its cost for the figures.
type Choice struct {
	Name       string  `json:"name"`
	Make       string  `json:"make"`
	Bytes      uint64  `json:"bytes"`
	BitsPerKey float64 `json:"bits_per_key"`
	ErrorRate  float64 `json:"error_rate"`
	// Keys and Asked are what to make it with, and Hashes is its k, 0 if it has none.
	Keys   uint64  `json:"keys"`
	Asked  float64 `json:"asked"`
	Hashes int     `json:"hashes"`
	Lookup int     `json:"lookup"`
	Insert int     `json:"insert"`
	// Exact is true for sets without false positives, Static for kinds that are
	// built at once.
	Exact  bool `json:"exact"`
	Static bool `json:"static"`
	// Serves reports whether it has all that is needed, Rank is its place among
	// those that do, from 1 on; 0 for those that are better in nothing.
	Serves bool   `json:"serves"`
	Rank   int    `json:"rank"`
	Reason string `json:"reason"` // what it is, or why it does not serve
}

// variants are needs that bring the kinds that other needs refuse, so that the
// memory of all can be compared.
var variants = []func(*sizing.Needs){
	func(*sizing.Needs) {},
	func(n *sizing.Needs) { n.Immutable = true },
	func(n *sizing.Needs) { n.Expiry = true },
	func(n *sizing.Needs) { n.Growth = true },
}

// advise puts the advice for the needs into the answer, and the memory of every
// kind.
func (q *query) advise(a *Answer, solved sizing.Params) error {
	if solved.P >= 1 {
		a.Kinds, a.Take = []Choice{}, "no filter"
		a.Warnings = append(a.Warnings, Warning{"full", "With so few bits per key every answer is yes. Take more bits, or fewer keys."})
		return nil
	}
	advice, err := question.Advise(q.needs, q.Params, solved)
	if err != nil {
		return err
	}
	a.Take = advice.Take()
	for i, c := range advice.Kinds {
		a.add(choiceOf(c, true, i+1))
	}
	for _, c := range advice.Others {
		a.add(choiceOf(c, true, 0))
	}
	q.addRefused(a, advice, solved)
	for _, c := range advice.Exact {
		exact := choiceOf(c, true, 0)
		exact.Exact = true
		a.add(exact)
	}
	slices.SortStableFunc(a.Kinds, func(x, y Choice) int { return cmp.Compare(x.Bytes, y.Bytes) })
	for _, w := range advice.Warnings {
		a.Warnings = append(a.Warnings, Warning{string(w.Code), w.String()})
	}
	return nil
}

// addRefused adds the kinds that do not serve, with their memory if they had to.
func (q *query) addRefused(a *Answer, advice sizing.Advice, solved sizing.Params) {
	reasons := map[string]string{}
	for _, r := range advice.Refused {
		reasons[r.Name] = r.Reason
	}
	for i, change := range variants {
		if i == 0 && len(q.words()) == 0 && q.needs.Memory == 0 {
			continue // those are the needs
		}
		needs := sizing.Needs{KeyBytes: q.needs.KeyBytes}
		change(&needs)
		other, err := question.Advise(needs, q.Params, solved)
		if err != nil {
			continue
		}
		for _, c := range slices.Concat(other.Kinds, other.Others) {
			if reason, ok := reasons[c.Name]; ok {
				choice := choiceOf(c, false, 0)
				choice.Reason = reason
				a.add(choice)
				delete(reasons, c.Name)
			}
		}
	}
}

func (a *Answer) add(c Choice) { a.Kinds = append(a.Kinds, c) }

func choiceOf(c sizing.Choice, serves bool, rank int) Choice {
	v := Choice{
		Name: c.Name, Make: c.Make, Bytes: c.Bytes, BitsPerKey: c.BitsPerKey, ErrorRate: c.ErrorRate, Keys: c.Keys, Asked: c.Asked, Hashes: c.Hashes,
		Lookup: c.Lookup, Insert: c.Insert, Static: c.Insert == 0, Serves: serves, Rank: rank,
	}
	if len(c.Reasons) > 0 {
		v.Reason = c.Reasons[0]
	}
	return v
}
