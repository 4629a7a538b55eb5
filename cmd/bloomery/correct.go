// The command correct: lines that a filter is to deny.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
)

// correctOptions are the flags of correct.
type correctOptions struct {
	changeFlags
	reports number[uint64]
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

A report takes 8 bytes in the file. There is room for 65,536, or for
--reports N, which is set when F is corrected first. When there is no room for
more, the older half of them is dropped. Filters of all kinds can be corrected,
static ones included.`,
		Example: `  bloomery correct words.bf words2.txt
  bloomery correct --reports 1e6 monday.bf < words2.txt`,
		Args: between(1, -1, "the filter to correct"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) }).bindSummary(cmd)
	cmd.Flags().Var(&o.reports, "reports", "room for so many reports, if F has none yet (default 65,536)")
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

// corrected returns f with room for reports.
func (o *correctOptions) corrected(f bloomery.Hashed) (*compose.Corrected, error) {
	if c, ok := f.(*compose.Corrected); ok {
		if o.reports.value > 0 && o.reports.value != c.Counts().Room {
			return nil, fmt.Errorf("--reports %s: the filter has room for %s already", o.reports.text, grouped(c.Counts().Room))
		}
		return c, nil
	}
	if o.reports.value > compose.MaxReports {
		return nil, fmt.Errorf("--reports %s is above %s", o.reports.text, grouped(compose.MaxReports))
	}
	return compose.NewCorrected(int(o.reports.value), f)
}
