package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
)

// stateWriter writes a state until its context is cancelled.
type stateWriter struct {
	ctx  context.Context
	seen *dedupe.Seen
	key  dedupe.Key
}

// WriteTo implements io.WriterTo.
func (w *stateWriter) WriteTo(out io.Writer) (n int64, err error) {
	err = w.seen.WriteState(writerFunc(func(p []byte) (int, error) {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		m, err := out.Write(p)
		n += int64(m)
		return m, err
	}), w.key)
	return n, err
}

// dedupeJSON is what dedupe tells with --json, on standard error.
type dedupeJSON struct {
	In      uint64 `json:"in"`
	Out     uint64 `json:"out"`
	Dropped uint64 `json:"dropped"`
	Bytes   uint64 `json:"bytes"`
	Exact   bool   `json:"exact"`
	Spilled uint64 `json:"spilled"`
	// Distinct is the number of different lines seen, earlier runs included.
	Distinct uint64 `json:"distinct,omitempty"`
	Capacity uint64 `json:"capacity,omitempty"`
	Filter   bool   `json:"filter"`
	// Wrong is the expected number of lines of this run that were taken for
	// old ones and were new.
	Wrong float64 `json:"wrong"`
	// Rate is the share of new lines that would be taken for old ones now.
	Rate float64 `json:"rate"`
}

// seen fills in what s tells; old is how many lines were taken for old ones.
func (r *dedupeJSON) seen(s *dedupe.Seen, before float64, old uint64) {
	r.Distinct, r.Filter = uint64(s.Count()), s.Filtered()
	// No more lines can be taken for old ones than were: the model knows only
	// how full the filter is.
	r.Wrong, r.Rate = min(max(s.Wrong()-before, 0), float64(old)), s.Rate()
	if r.Filter {
		r.Capacity = uint64(s.Capacity())
	}
}

// tell says what was done. A filter that holds too much is an error, though all
// lines are written.
func (o *dedupeOptions) tell(s *shell, r dedupeJSON) error {
	verb := "dropped"
	if o.invert {
		verb = "written"
	}
	switch {
	case s.quiet:
	case s.asJSON:
		if err := json.NewEncoder(s.errOut).Encode(r); err != nil {
			return err
		}
	case o.exact:
		s.say("%s in, %s out, %s dropped; none %s wrongly, %s went through the temporary folder",
			plural(r.In, "line"), grouped(r.Out), grouped(r.Dropped), verb, grouped(r.Spilled))
	default:
		how := "hashes"
		if r.Filter {
			how = "filter"
		}
		s.say("%s in, %s out, %s dropped; expected number %s wrongly: %.2g (%s of %s)",
			plural(r.In, "line"), grouped(r.Out), grouped(r.Dropped), verb, r.Wrong, how, plural(r.Distinct, "different line"))
	}
	if r.Filter && r.Distinct > r.Capacity {
		return hinted{
			fmt.Errorf("%w: %s, and room for %s at the error rate %s: it is %s by now",
				errLimit, plural(r.Distinct, "different line"), grouped(r.Capacity), o.rate.text, rateText(r.Rate)),
			"give more with --max-memory, or take --exact",
		}
	}
	return nil
}
