package sizing

import "fmt"

// Code names a warning in one word, for programs.
type Code string

// The warnings, in the order of their weight. The figures that each has are
// those of Warning.
const (
	NoKind     Code = "kind"      // no kind has all that is needed: Missing
	NoMemory   Code = "memory"    // no kind fits: Bytes, and Rate, which would; 0 if none would
	Unknown    Code = "unknown"   // the number of keys is not known
	FewKeys    Code = "small"     // a Go map of Bytes serves better
	ShortKeys  Code = "short"     // a key of KeyBytes is no larger than its BitsPerKey
	NoHeadroom Code = "headroom"  // Kind is full at the keys expected, or has Rate instead of Asked with 50% more
	Oversized  Code = "oversized" // the capacity is Times the keys expected; most of Bytes stay empty
	Plenty     Code = "plenty"    // Bytes are more than a filter with Rate takes, which has Least: oversized
	ManyReads  Code = "hashes"    // a lookup takes Accesses at the rate Asked
	Pointless  Code = "pointless" // the filter costs what it saves
	RateHigh   Code = "costly"    // false positives cost Times the lookups; Rate is worth its memory
	RateLow    Code = "cheap"     // false positives cost Times the lookups; Rate saves memory
	Useless    Code = "useless"   // the rate Asked saves little
	FewAbsent  Code = "absent"    // Rate is the share of queries that a filter can save
	Adversary  Code = "adversary" // keys are adversarial
)

// Warning is a weakness of a plan: a code with the figures that belong to it.
// Fields that a code does not name are zero.
type Warning struct {
	Code       Code
	Kind       string  // the kind that it is about
	Missing    string  // what no kind can do
	Rate       float64 // a false positive rate, or a share
	Asked      float64 // the false positive rate asked
	Times      float64
	Bytes      uint64
	Least      uint64
	BitsPerKey float64
	KeyBytes   int
	Accesses   int

	missing feature
}

// String returns the problem and the remedy in plain English.
func (w Warning) String() string {
	if remedy := w.Remedy(); remedy != "" {
		return w.Problem() + " " + remedy
	}
	return w.Problem()
}

// Problem returns the first part of String: what is wrong, with the figures.
func (w Warning) Problem() string {
	switch w.Code {
	case NoKind:
		if w.missing&exact != 0 {
			return "Every filter has false positives."
		}
		return fmt.Sprintf("No kind can %s.", w.Missing)
	case NoMemory:
		if w.Rate == 0 {
			return fmt.Sprintf("No kind fits into %s, and no filter of that size is of use for so many keys.", size(w.Bytes))
		}
		return fmt.Sprintf("No kind fits into %s. A standard filter of that size has a rate of %s.", size(w.Bytes), percent(w.Rate))
	case Unknown:
		return "The number of keys is not known. A filter that grows keeps its rate, for more memory and slower lookups than one of the right size."
	case FewKeys:
		return fmt.Sprintf("So few keys fit into a map of %s, which is exact and can delete and list them.", size(w.Bytes))
	case ShortKeys:
		return fmt.Sprintf("A key has %d bytes, and the filter takes %.1f bits for it.", w.KeyBytes, w.BitsPerKey)
	case NoHeadroom:
		if w.Rate == 0 {
			return fmt.Sprintf("The capacity is the number of keys expected, and a %s filter refuses more.", w.Kind)
		}
		return fmt.Sprintf("The capacity is the number of keys expected. With 50%% more keys the rate of a %s filter is %s instead of %s.",
			w.Kind, percent(w.Rate), percent(w.Asked))
	case Oversized:
		return fmt.Sprintf("The capacity is %.3g times the keys expected: most of %s stay empty.", w.Times, size(w.Bytes))
	case Plenty:
		return fmt.Sprintf("Oversized: of %s, %s are enough for a rate of %s.", size(w.Bytes), size(w.Least), percent(w.Rate))
	case ManyReads:
		return fmt.Sprintf("At a rate of %s a lookup takes up to %d memory accesses. At %s it takes one.", percent(w.Asked), w.Accesses, percent(MinBlockedRate))
	case Pointless:
		return "What the filter saves costs no more than a lookup in the filter."
	case RateHigh:
		return fmt.Sprintf("False positives cost %.3g times what the lookups do.", w.Times)
	case RateLow:
		return fmt.Sprintf("False positives cost %.2g of what the lookups do.", w.Times)
	case Useless:
		return fmt.Sprintf("A filter with a false positive rate of %.0f%% saves little.", 100*w.Asked)
	case FewAbsent:
		return fmt.Sprintf("Only %s of the queries are for absent keys. A filter saves no more than those.", percent(w.Rate))
	case Adversary:
		return "Whoever knows the hash can make keys that all collide."
	}
	return string(w.Code)
}

// Remedy returns the second part of String: what to do. It is empty where there
// is no remedy.
func (w Warning) Remedy() string {
	switch w.Code {
	case NoKind:
		switch {
		case w.missing&exact != 0:
			return "Use an exact set, or put a filter before one to save the lookups of absent keys."
		case w.missing == expires|writers:
			return "Put a mutex around a window."
		case w.missing&expires != 0:
			return "Keep two filters, add to the younger, ask both, and drop the older from time to time."
		case w.missing&(deletes|counts) != 0:
			return "Use an exact set, or rebuild the filter from time to time."
		case w.missing&writers != 0:
			return "Put a mutex around one that can do the rest."
		}
	case Unknown:
		return "Estimate it, even roughly."
	case FewKeys:
		return "Use that."
	case ShortKeys:
		return "An array of the keys is no larger and exact."
	case NoHeadroom:
		return "Set the capacity to the largest number that may come, or use a filter that grows."
	case Oversized:
		return "A filter that grows takes memory when keys come."
	case Plenty:
		return "A lower rate is not worth memory: false positives are rarer than errors of other causes."
	case Pointless:
		return "Leave it out."
	case RateHigh:
		return fmt.Sprintf("A rate of %s is worth its memory: a factor of ten costs about 5 bits per key.", percent(w.Rate))
	case RateLow:
		return fmt.Sprintf("A rate of %s costs hardly more time and saves about 5 bits per key for each factor of ten.", percent(w.Rate))
	case Adversary:
		return "Use hashing.Keyed with a secret that is not in the program, and do not show answers for free."
	}
	return ""
}
