// The command correct: lines that a filter is to deny.

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/ribbon"
)

// correctedKind is what a filter is whose reports are kept.
const correctedKind = "corrected"

// correctOptions are the flags of correct.
type correctOptions struct {
	changeFlags
	reports number[uint64]
	force   bool
}

func newCorrect() *cobra.Command {
	o := &correctOptions{reports: countFlag()}
	cmd := &cobra.Command{
		Use:   "correct F [FILE...]",
		Short: "Tell a filter which lines are not in it",
		Long: `correct takes lines that are certainly not in the set, from the files or from
standard input, and looks them up in the filter in the file F. Those that the
filter contains all the same, its false positives, are written into the file as
reports, and are denied from then on, also by every copy of the file. F becomes
a filter of kind corrected, over the kind that it was, and is replaced
atomically.

A line that is in the set would become a false negative. A line that is added
later by bloomery add is found again, and merge keeps the reports that both
filters deny.

If far more lines are in the filter than its false positive rate explains, some
are in the set: then nothing is written and the exit code is 3, unless --force.

A report takes 8 bytes in the file. There is room for 65,536, or for
--reports N, which is set the first time F is corrected. When there is no room
for more, the older half of them is dropped, and denied no more. Filters of all
kinds can be corrected, static ones included, but map, whose values could not be
read then, and sliced.`,
		Example: `  bloomery correct words.bf words2.txt
  bloomery correct --reports 1e6 monday.bf < words2.txt`,
		Args: between(1, -1, "the filter to correct"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) }).bindSummary(cmd)
	cmd.Flags().Var(&o.reports, "reports", "room for so many reports, if F has none yet (default 65,536)")
	cmd.Flags().BoolVar(&o.force, "force", false, "write the reports even if they are far more than the false positive rate explains")
	o.inputFlags.bind(cmd.Flags())
	o.keyFlags.bind(cmd.Flags())
	o.digestFlags.bind(cmd)
	return cmd
}

// correctedJSON is what correct writes with --json.
type correctedJSON struct {
	File     string    `json:"file"`
	Lines    uint64    `json:"lines"`
	Reported uint64    `json:"reported"`
	Held     uint64    `json:"held"`
	Dropped  uint64    `json:"dropped"`
	Stats    statsJSON `json:"stats"`
}

func (o *correctOptions) run(ctx context.Context, s *shell, name string, args []string) error {
	start := time.Now()
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if n := o.reports.value; o.reports.text != "" && (n < 2 || n > compose.MaxReports) {
		return fmt.Errorf("--reports %s: want 2 to %s", o.reports.text, grouped(compose.MaxReports))
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	f, form, unlock, err := s.openToChange(ctx, name, h)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := o.corrected(f)
	if err != nil {
		return about(name, err)
	}
	lines, reported, err := o.each(ctx, s, "correct", c, files, folderOf(followed(name)), func(hs []uint64) (n uint64, _ error) {
		for _, h := range hs {
			if found, moment := c.AskHash(h); found && c.Report(moment) {
				n++
			}
		}
		return n, nil
	})
	if err != nil {
		return about(name, err)
	}
	if err := o.absent(s, reported, lines, c.Stats().Predicted); err != nil {
		return about(name, err)
	}
	if err := s.saveFilter(ctx, outputFlags{name, true}, form, c); err != nil {
		return err
	}
	counts := c.Counts()
	if counts.Dropped > 0 {
		s.warn("%s were dropped, the older half each time: there is room for %s", plural(counts.Dropped, "report"), grouped(counts.Room))
	}
	if s.asJSON {
		return s.print(correctedJSON{name, lines, reported, counts.Held, counts.Dropped, statsOf(c)})
	}
	s.say("%s: %s over %s, %s, %s reported, %s in all", name, c.Stats().Kind, c.Filter().Stats().Kind, plural(lines, "line"), grouped(reported), grouped(counts.Held))
	if s.verbose {
		s.say("took %s", time.Since(start).Round(time.Millisecond))
	}
	return nil
}

// absent refuses reports that are far more than false positives can be, or warns of them: each
// line that is in the set would be denied. Lines that repeat others make it lenient, never strict.
func (o *correctOptions) absent(s *shell, reported, lines uint64, rate float64) error {
	if reported <= mostReported(lines, rate) {
		return nil
	}
	text := fmt.Sprintf("%s of %s are in the filter, about %s were expected", grouped(reported), plural(lines, "line"), grouped(uint64(math.Round(float64(lines)*rate))))
	if !o.force {
		return hinted{worded{errLimit, text + ": are they in the set?"}, "lines in the set would become false negatives; --force writes the reports all the same"}
	}
	s.warn("%s", text)
	return nil
}

// mostReported returns how many of so many absent lines a filter contains, at most: six standard
// deviations above what its rate predicts, which is off by the luck of the fill. Nine prove nothing.
func mostReported(lines uint64, rate float64) uint64 {
	expected := float64(lines) * rate
	return max(uint64(overRate*expected+6*math.Sqrt(expected*(1-rate))), 9)
}

// corrected returns f with room for reports.
func (o *correctOptions) corrected(f bloomery.Hashed) (*compose.Corrected, error) {
	if c, ok := f.(*compose.Corrected); ok {
		if o.reports.value > 0 && o.reports.value != c.Counts().Room {
			return nil, fmt.Errorf("--reports %s: the filter has room for %s already", o.reports.text, grouped(c.Counts().Room))
		}
		return c, nil
	}
	if _, ok := f.(*ribbon.Map); ok {
		return nil, fmt.Errorf("%w: a map cannot be corrected: its values could not be read any more", bloomery.ErrIncompatible)
	}
	return compose.NewCorrected(int(o.reports.value), f)
}
