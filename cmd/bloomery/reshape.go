// The commands fold, grow and noise: another filter from one, without its keys.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

// reshapeOptions are the flags of fold, grow and noise, which make another filter
// from one without its keys.
type reshapeOptions struct {
	keyFlags
	outputFlags
	by    int
	rate  number[float64]
	share number[float64]
	make  func(bloomery.Hashed) (bloomery.Hashed, error)

	added uint64 // keys that make has added
	note  string // a line to print about the result
}

func newFold() *cobra.Command {
	o := &reshapeOptions{}
	cmd := &cobra.Command{
		Use:   "fold --by N [-o F] A",
		Short: "Make a filter smaller without its keys",
		Long: `fold makes the filter in the file A smaller by the factor --by, and writes it to
F, or replaces A, atomically. All keys stay; the false positive rate rises to
that of a filter of the smaller size. Two, four and eight times are possible for
bloom, standard and split filters that bloomery build --foldable made; for most
others the exit code is 4.`,
		Example: `  bloomery build --foldable -n 1000 -o large.bf words.txt
  bloomery fold --by 4 -o small.bf large.bf`,
		Args: between(1, 1, "the filter to fold"),
	}
	o.make = o.fold
	reshapeCommand(cmd, o)
	cmd.Flags().IntVar(&o.by, "by", 2, "how many times smaller, `N`")
	completeWords(cmd, "by", "2", "4", "8")
	return cmd
}

func newGrow() *cobra.Command {
	o := &reshapeOptions{rate: rateFlag("")}
	cmd := &cobra.Command{
		Use:   "grow [-p P] [-o F] A",
		Short: "Turn a bloom filter into one that grows, without its keys",
		Long: `grow makes the bloom filter in the file A the first layer of a scalable filter,
and writes it to F, or replaces A, atomically. All keys stay, and bloomery add
can add any number more. The first layer keeps its false positive rate and
further layers add theirs, so the rate of the result is higher: -p, by default
twice the rate that A was made for, which is printed.

If A is over its rate already, new layers cannot lower it: -p must be more than
the rate that A has now. If that is too much, build the filter again from its
keys with --kind scalable.`,
		Example: `  bloomery grow -o grown.bf words.bf
  bloomery add grown.bf more.txt`,
		Args: between(1, 1, "the filter to grow"),
	}
	o.make = o.grow
	reshapeCommand(cmd, o)
	cmd.Flags().VarP(&o.rate, "rate", "p", "false positive rate of the whole (default twice that of A)")
	return cmd
}

func newNoise() *cobra.Command {
	o := &reshapeOptions{share: shareFlag("1")}
	cmd := &cobra.Command{
		Use:   "noise [--share X] [-o F] A",
		Short: "Blur a filter that is to be published",
		Long: `noise adds random dummy keys to the filter in the file A, --share times as many
as there are keys in it, and writes it to F, or replaces A, atomically. All keys
stay. Anyone who tries keys against the filter then finds more that were never
added, and cannot distinguish them. The cost is a higher false positive rate;
the rates before and after are printed. Dummies come from the system's source of
randomness: no two runs add the same ones.

It is for bloom, standard, partitioned and split filters; for others the exit
code is 4. bloomery plan --anonymity shows which rate hides a key among how many
others.`,
		Example: `  bloomery noise --share 50% -o published.bf words.bf`,
		Args:    between(1, 1, "the filter to blur"),
	}
	o.make = o.blur
	reshapeCommand(cmd, o)
	cmd.Flags().Var(&o.share, "share", "dummies for each key, as in 0.5 or 50%")
	return cmd
}

func reshapeCommand(cmd *cobra.Command, o *reshapeOptions) {
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0]) }).bindSummary(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write instead of A; - is standard output")
	bindOverwrite(cmd.Flags(), &o.overwrite)
	o.bind(cmd.Flags())
}

func (o *reshapeOptions) run(ctx context.Context, s *shell, name string) error {
	start := time.Now()
	h, err := o.hasher()
	if err != nil {
		return err
	}
	to := o.outputFlags
	if to.output == "" {
		to = outputFlags{name, true}
	}
	if o.output != "" {
		if name, err = s.located(ctx, name); err != nil {
			return err
		}
	}
	if to.output == "-" && s.jsonToStdout() {
		return errJSONOutput
	}
	if err := s.checkOutput(to.output, to.overwrite); err != nil {
		return err
	}
	if o.output == "" {
		unlock, err := s.lockExisting(ctx, name)
		if err != nil {
			return err
		}
		defer unlock()
	}
	f, form, err := openWithForm(ctx, name, h)
	if err != nil {
		return err
	}
	made, err := abandon(ctx, func() (bloomery.Hashed, error) { return o.make(f) })
	if err != nil {
		return about(name, err)
	}
	if err := s.saveFilter(ctx, to, form, made); err != nil {
		return err
	}
	return o.report(s, to.output, made, start)
}

// report prints what was written.
func (o *reshapeOptions) report(s *shell, name string, f bloomery.Hashed, start time.Time) error {
	if s.asJSON {
		return s.summary(name, f, 0, o.added, wordAdded, start)
	}
	stats := statsOf(f)
	s.say("%s: %s, %s, %s, false positive rate %s", name, stats.Kind, keysText(stats), bytesText(stats.Bytes), rateText(stats.Predicted))
	if o.note != "" {
		s.say("%s", o.note)
	}
	if s.verbose {
		s.say("took %s", time.Since(start).Round(time.Millisecond))
	}
	return nil
}

// fold returns a smaller filter.
func (o *reshapeOptions) fold(f bloomery.Hashed) (folded bloomery.Hashed, err error) {
	switch f := f.(type) {
	case *bloom.Filter:
		folded, err = f.Fold(o.by)
	case *bloom.Standard:
		folded, err = f.Fold(o.by)
	case *bloom.Split:
		folded, err = f.Fold(o.by)
	default:
		return nil, fmt.Errorf("%w: a %s filter cannot be folded", bloomery.ErrIncompatible, f.Stats().Kind)
	}
	if errors.Is(err, bloomery.ErrIncompatible) {
		return nil, hinted{about("", err), "filters of bloomery build --foldable can be folded by 2, 4 and 8"}
	}
	return folded, about("", err)
}

// grow returns a filter that grows.
func (o *reshapeOptions) grow(f bloomery.Hashed) (bloomery.Hashed, error) {
	b, ok := f.(*bloom.Filter)
	if !ok {
		return nil, hinted{
			fmt.Errorf("%w: a %s filter, and only bloom filters become scalable ones", bloomery.ErrIncompatible, f.Stats().Kind),
			"scalable and growing filters grow already; build others again with --kind scalable",
		}
	}
	stats := b.Stats()
	grown, err := b.Scalable(o.rate.value)
	if now := stats.Predicted; err != nil && now > stats.Asked {
		return nil, hinted{
			about("", err),
			fmt.Sprintf("it was made for %s and has %s now, which new layers cannot lower: build it again with --kind scalable, or accept a higher rate with -p", rateText(stats.Asked), rateText(now)),
		}
	}
	if err != nil {
		return nil, about("", err)
	}
	if o.rate.value == 0 {
		o.note = fmt.Sprintf("the false positive rate asked for has doubled, from %s to %s: -p sets another", rateText(stats.Asked), rateText(grown.Stats().Asked))
	}
	return grown, nil
}

// blur adds dummies to a filter.
func (o *reshapeOptions) blur(f bloomery.Hashed) (bloomery.Hashed, error) {
	n, ok := f.(interface {
		AddNoise(share float64, random io.Reader) (uint64, error)
	})
	if !ok {
		return nil, hinted{
			fmt.Errorf("%w: a %s filter takes no noise", bloomery.ErrIncompatible, f.Stats().Kind),
			"bloom, standard, partitioned and split filters do",
		}
	}
	before := f.Stats().Predicted
	dummies, err := n.AddNoise(o.share.value, nil)
	if err != nil {
		return nil, about("", err)
	}
	o.added = dummies
	o.note = fmt.Sprintf("%s: the false positive rate was %s and is %s", plural(dummies, "dummy key"), rateText(before), rateText(f.Stats().Predicted))
	return f, nil
}
