package sizing

import (
	"fmt"
	"slices"
)

// Warning is something that a careful engineer would say about a plan.
type Warning struct {
	Name string // one word, for programs
	Text string // a sentence or two, for people
}

// Thresholds of the warnings. They are judgements, not laws.
const (
	smallMap     = 64 << 10 // bytes of a map that is in the cache anyway
	manyAccesses = 16
	oversized    = 4   // times the keys expected
	headroom     = 1.1 // times the keys expected
	rareAbsent   = 0.1 // share of queries
	uselessRate  = 0.3
)

// warnings asks all questions in the order of their weight.
func (q Needs) warnings(a Advice) []Warning {
	var all []Warning
	for _, ask := range [...]func(Needs, Advice) Warning{
		warnNoKind, warnMemory, warnUnknown, warnSmall, warnShortKeys, warnHeadroom, warnOversized,
		warnAccesses, warnPointless, warnRate, warnUseless, warnAbsent, warnAdversary,
	} {
		if w := ask(q, a); w.Text != "" {
			all = append(all, w)
		}
	}
	return all
}

// warnNoKind says what to do instead if no kind has what is needed.
func warnNoKind(q Needs, _ Advice) Warning {
	need := q.features()
	for i := range kinds {
		if need&^kinds[i].has == 0 {
			return Warning{}
		}
	}
	text := fmt.Sprintf("No kind can %s.", need)
	switch {
	case need&exact != 0:
		text = "A filter errs. Take an exact set, or put a filter before one to spare it the absent keys."
	case need&expires != 0:
		text += " Keep two filters, add to the younger, ask both, and from time to time drop the older."
	case need&(deletes|counts) != 0:
		text += " Take an exact set, or build the filter afresh from time to time."
	case need&writers != 0:
		text += " Put a mutex around one that can do the rest."
	}
	return Warning{"kind", text}
}

// warnMemory tells the rate that the memory allows, if it is too small.
func warnMemory(q Needs, a Advice) Warning {
	if q.Memory == 0 || q.Keys == 0 || len(a.Kinds) > 0 || warnNoKind(q, a).Text != "" {
		return Warning{}
	}
	each := min(q.Memory/uint64(q.Sets), MaxBits/8)
	best, err := Solve(Params{N: q.Capacity, M: 8 * each})
	if err != nil {
		return Warning{"memory", fmt.Sprintf("%s hold no such filter.", size(q.Memory))}
	}
	if best.P > uselessRate {
		return Warning{"memory", fmt.Sprintf("No kind fits into %s, and no filter of that size is of use for so many keys.", size(q.Memory))}
	}
	return Warning{"memory", fmt.Sprintf("No kind fits into %s. They would hold a standard filter with a rate of %s.",
		size(q.Memory), percent(best.P))}
}

// percent writes a share for people.
func percent(p float64) string {
	if p >= 0.1 { // two digits would make 1e+02 of 100
		return fmt.Sprintf("%.0f%%", 100*p)
	}
	return fmt.Sprintf("%.2g%%", 100*p)
}

func warnUnknown(q Needs, _ Advice) Warning {
	if q.Keys > 0 {
		return Warning{}
	}
	return Warning{"unknown", "The number of keys is not known. A filter that grows keeps its rate, for more memory and " +
		"slower lookups than one of the right size: estimate, even roughly."}
}

func warnSmall(q Needs, a Advice) Warning {
	m := a.Exact[0]
	if q.Keys == 0 || m.Bytes > smallMap || q.Sets > 1 || q.Parquet {
		return Warning{}
	}
	return Warning{"small", fmt.Sprintf("So few keys fit into a map of %s, which is exact, can forget and be listed. Take that.", size(m.Bytes))}
}

func warnShortKeys(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || q.Keys == 0 {
		return Warning{}
	}
	perKey := a.Kinds[0].BitsPerKey * float64(q.Keys) / float64(q.Capacity) // of a full filter
	if perKey < 8*float64(q.KeyBytes) {
		return Warning{}
	}
	return Warning{"short", fmt.Sprintf("A key has %d bytes, the filter %.1f bits for it: an array of the keys is no larger and exact.",
		q.KeyBytes, perKey)}
}

// warnHeadroom tells what becomes of the first choice when more keys come.
func warnHeadroom(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || q.Keys == 0 || q.Immutable || q.Growth || float64(q.Capacity) >= headroom*float64(q.Keys) {
		return Warning{}
	}
	first := a.Kinds[0].Name
	k := &kinds[slices.IndexFunc(kinds[:], func(k kind) bool { return k.name == first })]
	const advice = "make room for the most that may come, or take a filter that grows."
	if k.refuses {
		return Warning{"headroom", fmt.Sprintf("There is room for the keys expected and no more, and a %s filter refuses what comes then: %s", first, advice)}
	}
	p, err := q.planOf(k)
	if err != nil {
		return Warning{}
	}
	rate := p.rate(1.5 * float64(q.Capacity))
	if rate <= q.ErrorRate {
		return Warning{} // it grows, or forgets
	}
	return Warning{"headroom", fmt.Sprintf("There is room for the keys expected and no more. With half as many again the rate of a %s filter is %s "+
		"instead of %s: %s", first, percent(rate), percent(q.ErrorRate), advice)}
}

func warnOversized(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || q.Capacity/oversized <= q.Keys {
		return Warning{}
	}
	return Warning{"oversized", fmt.Sprintf("There is room for %.3g times the keys expected: most of %s stay empty. "+
		"A scalable filter takes memory when keys come.", float64(q.Capacity)/float64(q.Keys), size(a.Kinds[0].Bytes))}
}

func warnAccesses(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || a.Kinds[0].Lookup/q.Sets <= manyAccesses {
		return Warning{}
	}
	return Warning{"hashes", fmt.Sprintf("At a rate of %.2g a lookup takes up to %d memory accesses. At %g it takes one.",
		q.ErrorRate, a.Kinds[0].Lookup/q.Sets, MinBlockedRate)}
}

func warnPointless(q Needs, _ Advice) Warning {
	if !q.priced() || q.absent()*q.WrongYes > 1 {
		return Warning{}
	}
	return Warning{"pointless", "What the filter would spare costs no more than asking the filter. Leave it out."}
}

// warnRate compares the rate asked with the one that is worth its bits: a
// factor of ten costs 4.8 bits for each key in the standard layout.
func warnRate(q Needs, _ Advice) Warning {
	if !q.priced() || q.absent()*q.WrongYes <= 1 {
		return Warning{}
	}
	worth := q.worthRate()
	loss := q.ErrorRate * q.absent() * q.WrongYes
	switch {
	case q.ErrorRate > 10*worth:
		return Warning{"costly", fmt.Sprintf("Wrong yeses cost %.3g times what the lookups do. A rate of %.2g is worth its memory: "+
			"a factor of ten costs about 5 bits for each key.", loss, worth)}
	case q.ErrorRate < worth/10:
		return Warning{"cheap", fmt.Sprintf("Wrong yeses cost %.2g of what the lookups do. A rate of %.2g costs hardly more and spares "+
			"about 5 bits for each key with each factor of ten.", loss, worth)}
	}
	return Warning{}
}

func warnUseless(q Needs, _ Advice) Warning {
	if q.ErrorRate <= uselessRate {
		return Warning{}
	}
	return Warning{"useless", fmt.Sprintf("A filter that errs for %.0f%% of the absent keys spares little.", 100*q.ErrorRate)}
}

func warnAbsent(q Needs, _ Advice) Warning {
	if q.Absent == 0 || q.Absent >= rareAbsent {
		return Warning{}
	}
	return Warning{"absent", fmt.Sprintf("Only %s of the queries are for absent keys. A filter spares no more than those.", percent(q.Absent))}
}

func warnAdversary(q Needs, _ Advice) Warning {
	if !q.Adversary {
		return Warning{}
	}
	return Warning{"adversary", "Who knows the hash can make keys that all collide. Take a keyed hash with a secret that is not in the program " +
		"(hashing.Keyed, or --key-file on the command line), and do not show answers for free."}
}
