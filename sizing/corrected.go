package sizing

import (
	"fmt"
	"slices"
)

const (
	// reportBytes is what compose.Corrected takes for a report, at most.
	reportBytes = 12
	// mostReports is how many reports a Corrected can hold.
	mostReports = 1 << 28
	// reportAccesses are those that a yes costs more: the younger reports are asked, then the older.
	reportAccesses = 2
)

// addCorrected puts the best kind that takes reports in front, with the memory for them. No other
// need is in its way: a Corrected does what its filter does.
func (q Needs) addCorrected(a *Advice) {
	if q.Reports == 0 {
		return
	}
	refuse := func(reason string) { a.Refused = append(a.Refused, Refusal{"corrected", reason}) }
	best := slices.IndexFunc(a.Kinds, func(c Choice) bool { return !kindOf(c.Name).manySets && c.ErrorRate > 0 })
	switch {
	case q.ValueBits > 0:
		refuse("the values of a map could not be read through it")
		return
	case best < 0:
		refuse("there is no filter with false positives that it could stand over")
		return
	}
	c := a.Kinds[best]
	reports := q.Reports * uint64(q.Sets) * reportBytes
	if q.Memory > 0 && c.Bytes+reports > q.Memory {
		refuse(fmt.Sprintf("with its reports it takes %s, there are %s", size(c.Bytes+reports), size(q.Memory)))
		return
	}
	c.Reasons = append([]string{fmt.Sprintf("%s that is told of its false positives and does not repeat them: %d bytes for each report", c.Name, reportBytes)}, c.Reasons[1:]...)
	c.Name, c.Make = "corrected", "compose.NewCorrected"
	c.BitsPerKey += 8 * reportBytes * float64(q.Reports) / float64(q.keys())
	if c.Bytes > 0 {
		c.Bytes += reports
	}
	c.Lookup += reportAccesses * q.Sets
	if c.Insert > 0 {
		c.Insert++ // a count of inserts
	}
	a.Kinds = slices.Insert(a.Kinds, 0, c)
}
