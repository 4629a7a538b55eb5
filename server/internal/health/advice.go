package health

// Whether another kind would serve the work better.

import (
	"slices"

	"github.com/bloomery/bloomery/sizing"
)

// advice is another kind that would serve the work seen better.
type advice struct {
	kind string
	gain float64 // how many times less time or space it takes
	what string  // "time" or "space"
}

// mostWorse is how many times as much of the other, space or time, a better kind
// may take. Being less than halved, it keeps two kinds from being better than each
// other.
const mostWorse = 1.5

// advise returns the kind that takes the least time, or else the least space, for
// the work seen, by the model of package sizing: memory accesses and bytes, never
// by the time that calls took. It is empty after less than 100,000 calls.
func advise(l *Look, calls *[works]uint64) advice {
	total := calls[Add] + calls[Has] + calls[Delete] + calls[Count]
	if total < leastCalls || l.Items == 0 || l.Asked <= 0 || l.Sourced || !traitsOf(l.Kind).symptoms.has(wrongKind) {
		return advice{}
	}
	plan, err := sizing.Advise(sizing.Needs{
		Keys: l.Items, Capacity: max(l.Capacity, l.Items), ErrorRate: l.Asked,
		Growth: l.Grows, Deletes: calls[Delete] > 0, Counts: calls[Count] > 0,
		Immutable: calls[Add] == 0 && calls[Delete] == 0,
	})
	if err != nil {
		return advice{}
	}
	choices := slices.Concat(plan.Kinds, plan.Others)
	at := slices.IndexFunc(choices, func(c sizing.Choice) bool { return c.Name == l.Kind })
	if at < 0 {
		return advice{}
	}
	now := choices[at]
	var best advice
	for _, c := range choices {
		t, served := kinds[c.Name]
		if !served || c.Name == l.Kind || !l.Can.Rebuilds() && !t.symptoms.has(overRate) { // a static kind is made by a rebuild only
			continue
		}
		time := share(cost(&now, calls), cost(&c, calls))
		space := share(float64(now.Bytes), float64(c.Bytes))
		if time >= halved && space*mostWorse >= 1 && time > best.gain {
			best = advice{c.Name, time, "time"}
		}
		if space >= halved && time*mostWorse >= 1 && space > best.gain {
			best = advice{c.Name, space, "space"}
		}
	}
	return best
}

// cost returns the memory accesses of all calls.
func cost(c *sizing.Choice, calls *[works]uint64) float64 {
	return float64(c.Lookup)*float64(calls[Has]+calls[Count]) + float64(c.Insert)*float64(calls[Add]+calls[Delete])
}
