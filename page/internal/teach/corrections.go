package teach

// A corrected filter with its array.

import (
	"fmt"
	"slices"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
)

// correctedReports is how many reports are held: few, so that the older half makes room soon.
const correctedReports = 2

// corrections is a standard filter under a compose.Corrected, by way of which keys are inserted
// and asked for. The store that is asked after a yes is what the run knows to be inserted.
type corrections struct {
	*bitFilter
	over     *compose.Corrected
	moments  map[string]compose.Moment // of the last answers that were false positives
	reported []string                  // before this step, the oldest first
}

func newCorrections(bits, hashes int) (machine, error) {
	m, err := bitFilters("array", bloom.Config.NewStandard)(bits, hashes)
	if err != nil {
		return nil, err
	}
	c := &corrections{bitFilter: m.(*bitFilter), moments: map[string]compose.Moment{}}
	c.drawing[0].Columns = min(bits, columns)
	c.over, err = compose.NewCorrected(correctedReports, c.adder)
	return c, err
}

func (c *corrections) add(key string) error { return c.over.InsertString(key) }
func (c *corrections) has(key string) bool  { return c.over.ContainsString(key) }

// denies reports whether the answer for a key is no because of a report alone.
func (c *corrections) denies(key string) bool { return c.bitFilter.has(key) && !c.has(key) }

// asked keeps the moment of a false positive, which the store has just denied.
func (c *corrections) asked(key string, v Verdict) {
	delete(c.moments, key)
	if v == FalsePositive {
		_, c.moments[key] = c.over.AskString(key)
	}
}

// gone returns the keys whose reports this step has removed.
func (c *corrections) gone() []string {
	return slices.DeleteFunc(slices.Clone(c.reported), c.denies)
}

// held returns the keys that are reported after this step.
func (c *corrections) held() []string {
	c.reported = slices.DeleteFunc(c.reported, func(key string) bool { return !c.denies(key) })
	return slices.Clone(c.reported)
}

// report tells the filter that its yes for a key was wrong. It is asked first if nobody has asked.
func (r *run) report(key string) Verdict {
	c, ok := r.machine.(*corrections)
	if !ok {
		return Unchanged
	}
	moment, asked := c.moments[key]
	if !asked {
		if r.ask(key) != FalsePositive {
			return Unchanged
		}
		moment = c.moments[key]
	}
	delete(c.moments, key)
	if !c.over.Report(moment) {
		return TooLate
	}
	c.reported = append(c.reported, key)
	return Reported
}

// takesBack reports whether inserting a key has removed a report of it.
func (r *run) takesBack(key string) bool {
	c, ok := r.machine.(*corrections)
	return ok && slices.Contains(c.gone(), key)
}

// reportedText describes a report.
func (r *run) reportedText(v Step) string {
	switch v.Verdict {
	case Reported:
		text := fmt.Sprintf("The answer was yes, but the store does not have “%s”. The report is taken: from now on the answer is no, until “%s” is inserted.", v.Key, v.Key)
		if gone := r.machine.(*corrections).gone(); len(gone) > 0 {
			text += fmt.Sprintf(" There is room for %d reports, so the older half goes: %s.", correctedReports, quoted(gone))
		}
		return text
	case TooLate:
		return fmt.Sprintf("After the answer for “%s” something was inserted, and it may have been “%s”. The report comes too late: it is refused, and nothing changes.", v.Key, v.Key)
	default:
		return fmt.Sprintf("The answer for “%s” is right: there is nothing to report.", v.Key)
	}
}
