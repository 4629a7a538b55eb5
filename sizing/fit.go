package sizing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/bloomery/bloomery"
)

// fit is what is to be made of all of Memory.
type fit int

const (
	noFit fit = iota
	lowestRate
	mostKeys
)

// fitted is how near Fit comes to the most that the memory allows.
const fitted = 1.001

// Fit is Advise for a size that is given: no kind takes more than needs.Memory. With
// needs.Keys, each has the lowest rate that it can have in it, but none below 1e-9, where
// false positives are rarer than errors of other causes. With needs.ErrorRate and no Keys,
// each holds as many keys as it can. It takes some milliseconds. Memory and either Keys or
// ErrorRate must be given; the other errors are those of Advise.
func Fit(needs Needs) (Advice, error) {
	err := needs.check()
	switch {
	case err != nil:
	case needs.Memory == 0:
		err = fmt.Errorf("%w: no memory is given", bloomery.ErrParameter)
	case (needs.Keys == 0) == (needs.ErrorRate == 0):
		err = fmt.Errorf("%w: either the number of keys or the rate must be given", bloomery.ErrParameter)
	}
	if err != nil {
		return Advice{}, about("fit", err)
	}
	memory := needs.Memory
	q := needs.filled()
	if q.fit = lowestRate; needs.Keys == 0 {
		q.fit = mostKeys
		q.Keys, q.Capacity = 1, 1 // until it is known
	}
	if high, reports := bits.Mul64(q.Reports*reportBytes, uint64(q.Sets)); high == 0 && reports < memory {
		q.Memory -= reports
	}
	var a Advice
	for i := range kinds {
		choice, reason := q.largest(&kinds[i])
		if reason != "" {
			a.Refused = append(a.Refused, Refusal{kinds[i].name, reason})
			continue
		}
		a.Kinds = append(a.Kinds, choice)
	}
	q.rank(&a)
	q.Memory = memory
	if len(a.Kinds) > 0 { // the other figures are for the first
		first := a.Kinds[0]
		q.ErrorRate = first.Asked
		if q.fit == mostKeys {
			q.Keys, q.Capacity = first.Keys, first.Keys
		}
	}
	a.ErrorRate, a.Exact = q.ErrorRate, q.exactChoices()
	a.Warnings = q.warnings(a)
	q.addCorrected(&a)
	return a, nil
}

// largest plans a kind that fills the memory, or returns the reason why none fits.
func (q Needs) largest(k *kind) (Choice, string) {
	if q.fit == mostKeys {
		return q.fullest(k)
	}
	at := func(p float64) (Choice, string) {
		q.ErrorRate = p
		return q.offer(k)
	}
	best, reason := at(lowestAdvised)
	low := enough
	if reason != "" {
		low = lowestAdvised
		// Some kinds have no high rates.
		refused := ""
		for p := 0.999; reason != "" && p > low; p = min(p/2, 0.5) {
			if best, reason = at(p); refused == "" || p == 0.5 {
				refused = reason
			}
		}
		if reason != "" {
			return Choice{}, refused
		}
	} else if least, reason := at(enough); reason == "" {
		return least, ""
	}
	for best.Asked/low > fitted {
		p := math.Sqrt(best.Asked * low)
		if c, reason := at(p); reason == "" {
			best = c
		} else {
			low = p
		}
	}
	if c, reason := at(roundedUp(best.Asked)); reason == "" {
		return c, ""
	}
	return best, ""
}

// fullest is largest for a rate that is given.
func (q Needs) fullest(k *kind) (Choice, string) {
	most := uint64(MaxBits)
	if q.Universe > 0 {
		most = q.Universe
	}
	at := func(n uint64) (Choice, string) {
		q.Keys, q.Capacity = n, n
		return q.offer(k)
	}
	best, reason := at(min(q.Memory/8+1, most)) // 64 bits for each: they fit nearly always
	if reason != "" {
		best, reason = at(1)
	}
	if reason != "" {
		return Choice{}, reason
	}
	bad := uint64(0)
	for bad == 0 && best.Keys < most {
		n := min(2*best.Keys, most)
		if c, reason := at(n); reason == "" {
			best = c
		} else {
			bad = n
		}
	}
	for float64(bad)/float64(best.Keys) > fitted && bad-best.Keys > 1 {
		n := best.Keys + (bad-best.Keys)/2
		if c, reason := at(n); reason == "" {
			best = c
		} else {
			bad = n
		}
	}
	return best, ""
}

// roundedUp is a rate with three digits, so that it can be typed.
func roundedUp(p float64) float64 {
	digit := math.Pow10(int(math.Floor(math.Log10(p))) - 2)
	up, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(p/digit)*digit, 'g', 3, 64), 64)
	if err != nil || up < p || up >= 1 {
		return p
	}
	return up
}

// warnPlenty warns of more memory than a filter is good for.
func warnPlenty(q Needs, a Advice) Warning {
	if q.fit != lowestRate || len(a.Kinds) == 0 || a.Kinds[0].Asked > lowestAdvised {
		return Warning{}
	}
	p := q
	p.ErrorRate = lowestAdvised
	c, reason := p.offer(kindOf(a.Kinds[0].Name))
	if reason != "" || c.Bytes >= q.Memory {
		return Warning{}
	}
	return Warning{Code: Plenty, Rate: lowestAdvised, Bytes: q.Memory, Least: c.Bytes}
}
