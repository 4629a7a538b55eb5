// The summary line of commands that write a filter.

package main

import (
	"math"
	"time"

	"github.com/bloomery/bloomery"
)

// summaryJSON is what build and add print with --json.
type summaryJSON struct {
	File  string    `json:"file"`
	Lines uint64    `json:"lines"`
	Added uint64    `json:"added"`
	Stats statsJSON `json:"stats"`
}

// statsJSON is what all commands show of a filter.
type statsJSON = bloomery.Stats

func statsOf(f bloomery.Filter) statsJSON {
	s := f.Stats()
	s.Items, s.Exact = itemsOf(f)
	return s
}

// unknownItems is the estimate of a filter whose bits are all set.
const unknownItems = math.MaxUint64

// keysText writes the number of keys for people.
func keysText(s statsJSON) string {
	switch {
	case s.Exact:
		return plural(s.Items, "key")
	case s.Items == unknownItems:
		return "more keys than can be counted"
	}
	return "about " + plural(s.Items, "key")
}

// What a line that was put into a filter is called in a summary: new, if all
// others were in it before, or added, if the filter does not report that.
const (
	wordNew   = "new"
	wordAdded = "added"
)

// summary prints what was written: one line, or one object. word is what the
// added lines are called.
func (s *shell) summary(name string, f bloomery.Filter, lines, added uint64, word string, start time.Time) error {
	stats := statsOf(f)
	return s.summaryOf(name, stats.Kind, stats, lines, added, word, start)
}

// summaryOf is summary for a filter that is called what.
func (s *shell) summaryOf(name, what string, stats statsJSON, lines, added uint64, word string, start time.Time) error {
	if s.asJSON {
		return s.print(summaryJSON{name, lines, added, stats})
	}
	s.say("%s: %s, %s, %s %s, %s, false positive rate %s", name, what, plural(lines, "line"), grouped(added), word,
		bytesText(stats.Bytes), rateText(stats.Predicted))
	s.took(lines, start)
	return nil
}

// took says how long it took, if anybody wants to know.
func (s *shell) took(lines uint64, start time.Time) {
	if s.verbose {
		took := time.Since(start)
		s.say("took %s, %s lines/s", took.Round(time.Millisecond), grouped(uint64(float64(lines)/took.Seconds())))
	}
}
