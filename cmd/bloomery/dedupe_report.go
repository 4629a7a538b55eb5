// What dedupe writes at its end: the state, and the summary.

package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
)

// stateWriter writes a state until its context is cancelled.
type stateWriter struct {
	ctx context.Context
	job *dedupe.Job
}

// WriteTo implements io.WriterTo.
func (w *stateWriter) WriteTo(out io.Writer) (n int64, err error) {
	guarded := writerFunc(func(p []byte) (int, error) {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		m, err := out.Write(p)
		n += int64(m)
		return m, err
	})
	if w.job.Exact != nil {
		return n, w.job.Exact.WriteState(guarded)
	}
	return n, w.job.Seen.WriteState(guarded, w.job.Key)
}

// writerTo is a function as an io.WriterTo.
type writerTo func(w io.Writer) error

// WriteTo implements io.WriterTo.
func (f writerTo) WriteTo(w io.Writer) (int64, error) { return 0, f(w) }

// dedupeJSON is what dedupe writes with --json, on standard error.
type dedupeJSON struct {
	In      uint64 `json:"in"`
	Out     uint64 `json:"out"`
	Dropped uint64 `json:"dropped"`
	Bytes   uint64 `json:"bytes"`
	Exact   bool   `json:"exact"`
	Spilled uint64 `json:"spilled"`
	// Late is how many lines were undecided until the end and written then.
	Late uint64 `json:"late"`
	// Distinct is the number of different lines seen, earlier runs included.
	Distinct uint64 `json:"distinct,omitempty"`
	Capacity uint64 `json:"capacity,omitempty"`
	Filter   bool   `json:"filter"`
	// Wrong is the expected number of lines of this run that were taken for
	// duplicates and were new.
	Wrong float64 `json:"wrong"`
	// Rate is the share of new lines that would be taken for duplicates now.
	Rate float64 `json:"rate"`
}

// result returns what a job did; lost is what earlier runs had lost.
func (o *dedupeOptions) result(job *dedupe.Job, sum dedupe.Summary, lost float64) dedupeJSON {
	r := dedupeJSON{In: sum.In, Out: sum.Out, Dropped: sum.Dropped, Bytes: sum.Bytes, Exact: o.exact}
	if job.Exact != nil {
		r.Spilled = job.Exact.Spilled()
		if !o.count {
			r.Late = sum.Late
		}
		return r
	}
	old := sum.Dropped
	if o.invert {
		old = sum.Out
	}
	if job.Recent != nil {
		r.Capacity, r.Filter = uint64(job.Recent.Keys), true
		r.Wrong, r.Rate = min(job.Recent.Wrong(), float64(old)), job.Recent.Rate()
		return r
	}
	seen := job.Seen
	r.Distinct, r.Filter = uint64(seen.Count()), seen.Filtered()
	// No more lines can be taken for duplicates than were: the model knows only
	// how full the filter is.
	r.Wrong, r.Rate = min(max(seen.Wrong()-lost, 0), float64(old)), seen.Rate()
	if r.Filter {
		r.Capacity = uint64(seen.Capacity())
	}
	return r
}

// report prints what was done. A filter that holds too much is an error, though
// all lines are written.
func (o *dedupeOptions) report(s *shell, r dedupeJSON) error {
	switch {
	case s.quiet && s.summaryFile == "":
	case s.asJSON:
		if err := s.printTo(s.errOut, r); err != nil {
			return err
		}
	default:
		written := grouped(r.Out) + " new"
		if o.invert {
			written = plural(r.Out, "duplicate")
		}
		s.say("%s, %s; %s", plural(r.In, "line"), written, o.losses(r))
	}
	// Twice the rate asked is beyond all sampling.
	if o.window != 0 && r.Rate > 2*o.rate.value {
		return hinted{
			fmt.Errorf("%w: more than %s different lines in %v: the false positive rate is %s by now", errLimit, grouped(r.Capacity), o.window, rateText(r.Rate)),
			"give a larger -n",
		}
	}
	if r.Filter && r.Distinct > r.Capacity {
		return hinted{
			fmt.Errorf("%w: %s, and room for %s at the false positive rate %s: it is %s by now",
				errLimit, plural(r.Distinct, "different line"), grouped(r.Capacity), o.rate.text, rateText(r.Rate)),
			"give more with --max-memory, or leave --rate out: no line is lost then",
		}
	}
	return nil
}

// losses says how many lines were lost, and how many came late.
func (o *dedupeOptions) losses(r dedupeJSON) string {
	switch {
	case !o.given("rate") && r.Late > 0:
		return fmt.Sprintf("none lost, %s came at the end", grouped(r.Late))
	case !o.given("rate"):
		return "none lost"
	case o.invert:
		return fmt.Sprintf("expected number of unique lines among them: %s", expected(r.Wrong))
	}
	return fmt.Sprintf("expected number of unique lines lost: %s", expected(r.Wrong))
}

// expected writes an expected number as people do: one that is below one in a
// hundred is one that is not expected.
func expected(x float64) string {
	switch {
	case x < 0.01:
		return "less than 0.01"
	case x < 10:
		return fmt.Sprintf("about %.2g", x)
	}
	step := math.Pow(10, math.Floor(math.Log10(x))-1)
	return "about " + grouped(uint64(math.Round(x/step)*step))
}
