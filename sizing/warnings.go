package sizing

import (
	"fmt"
	"math"
	"strconv"
)

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
		warnPlenty, warnAccesses, warnPointless, warnRate, warnUseless, warnAbsent, warnAdversary,
	} {
		if w := ask(q, a); w.Code != "" {
			all = append(all, w)
		}
	}
	return all
}

// warnNoKind warns if no kind has all that is needed.
func warnNoKind(q Needs, _ Advice) Warning {
	need := q.features()
	for i := range kinds {
		if need&^kinds[i].can(q) == 0 {
			return Warning{}
		}
	}
	return Warning{Code: NoKind, Missing: need.String(), missing: need}
}

// warnMemory gives the rate that the memory allows, if it is too small.
func warnMemory(q Needs, a Advice) Warning {
	if q.Memory == 0 || q.Keys == 0 || len(a.Kinds) > 0 || warnNoKind(q, a).Code != "" {
		return Warning{}
	}
	w := Warning{Code: NoMemory, Bytes: q.Memory}
	each := min(q.Memory/uint64(q.Sets), MaxBits/8)
	if best, err := Solve(Params{N: q.Capacity, M: 8 * each}); err == nil && best.P <= uselessRate {
		w.Rate = best.P
	}
	return w
}

// percent writes a share for people: without an exponent, and where that had many
// zeros as one in so many.
func percent(p float64) string {
	switch {
	case p >= 0.1: // two digits would make 1e+02 of 100
		return fmt.Sprintf("%.0f%%", 100*p)
	case p < 1e-8 && p > 0:
		return fmt.Sprintf("1 in 10^%.0f", -math.Log10(p))
	}
	digits, _ := strconv.ParseFloat(fmt.Sprintf("%.2g", 100*p), 64) // it was written by Sprintf
	return strconv.FormatFloat(digits, 'f', -1, 64) + "%"
}

func warnUnknown(q Needs, _ Advice) Warning {
	if q.Keys > 0 {
		return Warning{}
	}
	return Warning{Code: Unknown}
}

func warnSmall(q Needs, a Advice) Warning {
	m := a.Exact[0]
	if q.Keys == 0 || m.Bytes > smallMap || q.Sets > 1 || q.Parquet || q.Memory > 0 && m.Bytes > q.Memory {
		return Warning{}
	}
	return Warning{Code: FewKeys, Bytes: m.Bytes}
}

func warnShortKeys(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || q.Keys == 0 {
		return Warning{}
	}
	perKey := a.Kinds[0].BitsPerKey * float64(q.Keys) / float64(q.Capacity) // of a full filter
	if perKey < 8*float64(q.KeyBytes) {
		return Warning{}
	}
	return Warning{Code: ShortKeys, KeyBytes: q.KeyBytes, BitsPerKey: perKey}
}

// warnHeadroom is about the first choice when more keys come.
func warnHeadroom(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || q.Keys == 0 || q.Immutable || q.Growth || float64(q.Capacity) >= headroom*float64(q.Keys) {
		return Warning{}
	}
	k := kindOf(a.Kinds[0].Name)
	w := Warning{Code: NoHeadroom, Kind: k.name, Asked: q.ErrorRate}
	if k.refuses {
		return w
	}
	p, err := q.planOf(k)
	if err != nil {
		return Warning{}
	}
	if w.Rate = p.rate(1.5 * float64(q.Capacity)); w.Rate <= q.ErrorRate {
		return Warning{} // it grows, or forgets
	}
	return w
}

func warnOversized(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || q.Capacity/oversized <= q.Keys || kindOf(a.Kinds[0].Name).endless() {
		return Warning{}
	}
	return Warning{Code: Oversized, Times: float64(q.Capacity) / float64(q.Keys), Bytes: a.Kinds[0].Bytes}
}

func warnAccesses(q Needs, a Advice) Warning {
	if len(a.Kinds) == 0 || a.Kinds[0].Lookup/q.Sets <= manyAccesses {
		return Warning{}
	}
	return Warning{Code: ManyReads, Asked: q.ErrorRate, Accesses: a.Kinds[0].Lookup / q.Sets}
}

func warnPointless(q Needs, _ Advice) Warning {
	if !q.priced() || q.absent()*q.FalsePositiveCost > 1 {
		return Warning{}
	}
	return Warning{Code: Pointless}
}

// warnRate compares the rate asked with the one that is worth its bits: a
// factor of ten costs 4.8 bits for each key in the standard layout.
func warnRate(q Needs, _ Advice) Warning {
	if !q.priced() || q.absent()*q.FalsePositiveCost <= 1 {
		return Warning{}
	}
	w := Warning{Asked: q.ErrorRate, Rate: q.worthRate(), Times: q.ErrorRate * q.absent() * q.FalsePositiveCost}
	switch {
	case q.ErrorRate > 10*w.Rate:
		w.Code = RateHigh
	case q.ErrorRate < w.Rate/10:
		w.Code = RateLow
	}
	return w
}

func warnUseless(q Needs, _ Advice) Warning {
	if q.ErrorRate <= uselessRate {
		return Warning{}
	}
	return Warning{Code: Useless, Asked: q.ErrorRate}
}

func warnAbsent(q Needs, _ Advice) Warning {
	if q.Absent == 0 || q.Absent >= rareAbsent {
		return Warning{}
	}
	return Warning{Code: FewAbsent, Rate: q.Absent}
}

func warnAdversary(q Needs, _ Advice) Warning {
	if !q.Adversary {
		return Warning{}
	}
	return Warning{Code: Adversary}
}
