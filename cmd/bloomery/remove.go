// The command remove: lines deleted from a filter.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
)

// removeOptions are the flags of remove.
type removeOptions struct{ changeFlags }

func newRemove() *cobra.Command {
	o := &removeOptions{}
	cmd := &cobra.Command{
		Use:     "remove F [FILE...]",
		Aliases: []string{"delete"},
		Short:   "Remove the lines of files or standard input from a filter",
		Long: `remove deletes all lines of the files, or of standard input, from the filter in
the file F, which is replaced atomically. The kinds counting, cuckoo, quotient
and growing can do that. Two commands that change one filter at the same time
wait for each other.

Remove only what was added. A line that was never added is skipped if the filter
does not contain it; if it is a false positive, a key that looks the same to the
filter is removed instead, and is no longer found.

The lines are a set: a repeated line is removed once. With --multiset it is
removed as often as it occurs.`,
		Example: `  bloomery remove seen.cf words2.txt
  echo alice | bloomery remove seen.cf`,
		Args: between(1, -1, "the filter to remove from"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) }).bindSummary(cmd)
	cmd.Flags().BoolVar(&o.multiset, "multiset", false, "remove a line as often as it occurs")
	o.inputFlags.bind(cmd.Flags())
	o.keyFlags.bind(cmd.Flags())
	o.digestFlags.bind(cmd)
	return cmd
}

// removedJSON is what remove writes with --json.
type removedJSON struct {
	File    string    `json:"file"`
	Lines   uint64    `json:"lines"`
	Removed uint64    `json:"removed"`
	Absent  uint64    `json:"absent"`
	Stats   statsJSON `json:"stats"`
}

func (o *removeOptions) run(ctx context.Context, s *shell, name string, args []string) error {
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
	from, ok := f.(bloomery.Deleter)
	if c, corrected := f.(*compose.Corrected); corrected { // it can what its filter can
		_, ok = c.Filter().(bloomery.Deleter)
	}
	if !ok {
		return hinted{
			fmt.Errorf("%s: %w: keys cannot be removed from a %s filter", name, bloomery.ErrIncompatible, f.Stats().Kind),
			"build one of the kinds counting, cuckoo, quotient or growing, or build it again without the keys",
		}
	}
	absent := uint64(0)
	lines, removed, err := o.each(ctx, s, "remove", f, files, folderOf(followed(name)), func(hs []uint64) (n uint64, _ error) {
		for _, h := range hs {
			if from.DeleteHash(h) {
				n++
			} else {
				absent++
			}
		}
		return n, nil
	})
	if err != nil {
		return about(name, err)
	}
	if err := s.saveFilter(ctx, outputFlags{name, true}, form, f); err != nil {
		return err
	}
	stats := statsOf(f)
	if s.asJSON {
		return s.print(removedJSON{name, lines, removed, absent, stats})
	}
	s.say("%s: %s, %s, %s removed, %s absent, %s left", name, stats.Kind, plural(lines, "line"), plural(removed, "key"), grouped(absent), keysText(stats))
	if s.verbose {
		s.say("took %s", time.Since(start).Round(time.Millisecond))
	}
	return nil
}
