package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// worthSpace is how many times the bits of the smallest kind a static one
	// may take and still be the first: it is built for little memory.
	worthSpace = 1.5
	// wordSets is the number of sets from which one array for all of them has
	// no empty columns: a word of them.
	wordSets = 64
)

// rank sorts the kinds and moves those that are dominated to the others.
func (q Needs) rank(a *Advice) {
	least := math.Inf(1)
	for _, c := range a.Kinds {
		least = min(least, c.BitsPerKey)
	}
	class := func(c Choice) int { return q.class(c, least) }
	slices.SortStableFunc(a.Kinds, func(x, y Choice) int {
		return cmp.Or(cmp.Compare(class(x), class(y)), cmp.Compare(q.accesses(x), q.accesses(y)), cmp.Compare(q.price(x), q.price(y)))
	})
	// A dominated kind stands behind the one that dominates it, and what
	// dominates that one dominates it, too.
	all := a.Kinds
	a.Kinds = nil
	for _, c := range all {
		i := slices.IndexFunc(a.Kinds, func(better Choice) bool { return q.dominates(better, c) })
		if i < 0 {
			a.Kinds = append(a.Kinds, c)
			continue
		}
		c.Reasons = append(c.Reasons, fmt.Sprintf(q.dominated(), a.Kinds[i].Name))
		a.Others = append(a.Others, c)
	}
}

// class puts the kinds that were made for a need before the others.
func (q Needs) class(c Choice, least float64) int {
	k := kindOf(c.Name)
	switch {
	case k.manySets && q.Sets >= wordSets:
		return 0
	case q.Immutable && k.static && c.BitsPerKey <= worthSpace*least:
		return 1
	case q.needs(grows) && k.bounded:
		return 3
	case k.endless() && (q.uncertain() || q.Growth && (q.Deletes || q.Counts)):
		return 1
	case q.Counts && !k.fewTimes:
		return 1
	case q.Expiry && k.spans:
		return 1
	}
	return 2
}

// endless reports whether a kind keeps the rate, and deletes, however far it grows.
func (k *kind) endless() bool { return k.has&(grows|deletes) == grows|deletes && !k.bounded }

// needs reports whether a kind must have a feature.
func (q Needs) needs(f feature) bool { return q.features()&f != 0 }

// uncertain reports whether nobody knows the number of keys within a factor of
// four.
func (q Needs) uncertain() bool { return q.Keys == 0 || q.Capacity/oversized > q.Keys }

// dominates reports whether x, which stands before y, is no worse in anything
// that y could be chosen for.
func (q Needs) dominates(x, y Choice) bool {
	if y.ErrorRate == 0 && x.ErrorRate > 0 {
		return false // it is without errors
	}
	full := kindOf(x.Name).refuses && !kindOf(y.Name).refuses
	few := q.Counts && kindOf(x.Name).fewTimes && !kindOf(y.Name).fewTimes
	slow := x.Lookup > y.Lookup || !q.Immutable && x.Insert > y.Insert
	return !full && !few && !slow && q.price(x) <= q.price(y)
}

// price is what kinds of equal speed are compared by: their memory, or the rate that
// they have in the memory given.
func (q Needs) price(c Choice) float64 {
	if q.fit == lowestRate {
		return c.ErrorRate
	}
	return c.BitsPerKey
}

// dominated is the reason to leave a kind out, for another's name.
func (q Needs) dominated() string {
	switch q.fit {
	case lowestRate:
		return "%s has no higher rate and takes no more accesses"
	case mostKeys:
		return "%s holds no fewer keys and takes no more accesses"
	}
	return "%s takes no more memory and no more accesses"
}

// accesses is what kinds are ranked by: a set that never changes is only asked.
func (q Needs) accesses(c Choice) int {
	if q.Immutable {
		return c.Lookup
	}
	return c.Lookup + c.Insert
}

// Take returns what to take: the name of the first kind, "go map" where that
// serves better, or "no filter".
func (a Advice) Take() string {
	for _, w := range a.Warnings {
		switch w.Code {
		case FewKeys:
			return a.Exact[0].Name
		case Pointless:
			return "no filter"
		}
	}
	if len(a.Kinds) == 0 {
		return "no filter"
	}
	return a.Kinds[0].Name
}

// String returns the advice as lines of text: what to take, the alternatives,
// and the warnings.
func (a Advice) String() string {
	lines := []string{"take " + a.Take()}
	for _, c := range slices.Concat(a.Kinds, a.Exact[:min(len(a.Exact), 1)]) {
		line := fmt.Sprintf("%s: %s, %.2f bits per key", c.Name, c.Make, c.BitsPerKey)
		if c.Bytes > 0 {
			line += ", " + size(c.Bytes)
		}
		if c.Name == a.Take() {
			lines[0] = "take " + line
			continue
		}
		lines = append(lines, "or "+line)
	}
	for _, w := range a.Warnings {
		lines = append(lines, "note: "+w.String())
	}
	return strings.Join(lines, "\n")
}
