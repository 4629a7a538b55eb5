// The command create: an empty filter.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
)

func newCreate() *cobra.Command {
	o := newBuildOptions()
	cmd := &cobra.Command{
		Use:   "create -n N [-p P] [--kind KIND] F",
		Short: "Make an empty filter",
		Long: `create writes a filter without keys to the file F, as build does without input.
Fill it with bloomery add. --format makes the filter of another system, see
docs/formats.md.`,
		Example: `  bloomery create -n 1e6 -p 0.1% seen.bf
  echo alice | bloomery add seen.bf
  bloomery create --format guava -n 1e6 seen.guava`,
		Args: between(0, 1, "the file to write"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		switch {
		case len(args) == 0 && o.output == "":
			return usage(cmd, errors.New("create: give the file to write"))
		case len(args) == 1 && o.output != "":
			return usage(cmd, fmt.Errorf("create: give the file to write once: %q or -o %s", args[0], o.output))
		case len(args) == 1:
			o.output = args[0]
		}
		return o.create(ctx, s, o.output)
	}).bindSummary(cmd)
	o.flags(cmd, isCreated)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write, as F")
	bindOverwrite(cmd.Flags(), &o.overwrite)
	for _, name := range []string{"force", "max-memory"} {
		_ = cmd.Flags().MarkHidden(name) // there are no keys
	}
	return cmd
}

// create writes an empty filter.
func (o *buildOptions) create(ctx context.Context, s *shell, name string) error {
	if o.format != "" {
		return o.createForeign(ctx, s, name)
	}
	kind, err := kindFor(o.kind, o.rate.value)
	if err != nil {
		return err
	}
	h, err := o.hasher()
	if err != nil {
		return err
	}
	switch {
	case kind.New == nil:
		return hinted{errors.New(aKind(kind.Name) + " filter never changes"), "build it from all keys: bloomery build --kind " + kind.Name}
	case o.keys.text == "" && !kind.Features.Grow:
		return errors.New("give the number of keys with -n")
	case name == "-" && s.jsonToStdout():
		return errors.New("--json and - would both write to standard output")
	}
	if err := s.checkOutput(name, o.overwrite); err != nil {
		return err
	}
	o.warnOfHash(s)
	b := builder{kind: kind, rate: o.rate.value, hasher: h, foldable: o.foldable, headroom: o.headroom.value}
	var f bloomery.Hashed
	if f, err = b.create(o.keys.value); err != nil {
		return err
	}
	if err := s.saveFilter(ctx, outputFlags{name, o.overwrite}, o.form(), f); err != nil {
		return err
	}
	stats := statsOf(f)
	return s.created(name, stats.Kind, stats, stats.Capacity, stats.Asked)
}

// created reports an empty filter, for n keys at the rate p.
func (s *shell) created(name, what string, stats statsJSON, n uint64, p float64) error {
	if s.asJSON {
		return s.print(summaryJSON{File: name, Stats: stats})
	}
	s.say("%s: %s, empty, %s, for %s at the false positive rate %s", name, what, bytesText(stats.Bytes), plural(n, "key"), rateText(p))
	return nil
}
