// The commands merge and intersect: one filter of several.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// mergeOptions are the flags of merge and intersect.
type mergeOptions struct {
	keyFlags
	outputFlags
	formatFlag
	force  bool
	of     func(bloomery.Hashed) operation
	common bool // the result has what is in all
}

func newMerge() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "merge -o F A B...",
		Aliases: []string{"join", "union"},
		Short:   "Make one filter of several: what is in any of them",
		Long: `merge writes a filter that holds the keys of all the given ones. They must be of
one kind, size and hash: built with the same --kind, -n, -p and --seed or
--key-file. The result is the one that adding all keys to one filter would have
given. If it is over its capacity, nothing is written and the exit code is 3,
unless --force.

Some kinds differ. Scalable filters need only have the same hash; the result has
the layers of all, keys that are in several are held several times, and the
false positive rates that were asked for add up. In counting, spectral and
quotient filters the counts of a key add up.

Filters of other systems are merged if all have one format, size and hash, and
the result has the format of the first: see docs/formats.md. Where a file does
not record a capacity, the largest is taken that its bits can be meant for; for
those of Parquet there is none.`,
		Example: `  bloomery merge -o all.bf monday.bf tuesday.bf
  bloomery build --format dcso -n 1e5 -o monday.bloom monday.txt
  bloomery build --format dcso -n 1e5 -o tuesday.bloom tuesday.txt
  bloomery merge -o all.bloom monday.bloom tuesday.bloom`,
		Args: between(2, -1, "two filters or more"),
	}
	o := &mergeOptions{of: unionOf}
	mergeCommand(cmd, o)
	o.bindFormat(cmd)
	return cmd
}

func newIntersect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "intersect -o F A B...",
		Short: "Make one filter of several: what is in all of them",
		Long: `intersect writes a filter that holds the keys that are in all of the given ones,
and with them more false positives than a filter made of those keys alone would
have. They must be of one kind, size and hash. Of two filters the number of keys
is estimated by inclusion and exclusion: that of both less that of their union.
Of more it is not known.`,
		Example: `  bloomery intersect -o both.bf monday.bf tuesday.bf`,
		Args:    between(2, -1, "two filters or more"),
	}
	mergeCommand(cmd, &mergeOptions{of: intersectionOf, common: true})
	return cmd
}

func mergeCommand(cmd *cobra.Command, o *mergeOptions) {
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, cmd.Name(), args) }).bindSummary(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "write the filter even if it is over its capacity")
	o.bind(cmd.Flags())
	o.bindOutput(cmd)
}

func (o *mergeOptions) run(ctx context.Context, s *shell, verb string, names []string) error {
	start := time.Now()
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if err := s.checkOutput(o.output, o.overwrite); err != nil {
		return err
	}
	names, err = s.locatedAll(ctx, names)
	if err != nil {
		return err
	}
	if !o.common {
		theirs, err := o.openForeignToAsk(ctx, names[0], &o.keyFlags)
		if err != nil {
			return err
		}
		if theirs != nil {
			return o.mergeForeign(ctx, s, names, theirs, start)
		}
	}
	f, err := openFilter(ctx, names[0], h)
	if err != nil {
		return err
	}
	asked := f.Stats().Asked
	combine := o.of(f)
	if combine == nil {
		return hinted{
			fmt.Errorf("%s: %w: %s filters cannot do that", names[0], bloomery.ErrIncompatible, f.Stats().Kind),
			"build the filter from all keys",
		}
	}
	for _, name := range names[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		other, err := openFilter(ctx, name, h)
		if err != nil {
			return o.mixed(ctx, s, names[0], name, err)
		}
		if err := combine(other); err != nil {
			return mergeHint(verb, apart(names[0], f, name, other, err))
		}
	}
	items, exact := itemsOf(f)
	b := buildOptions{force: o.force, existing: names[0], merging: true}
	if err := b.fits(s, f, surely(f, items, exact, 0)); err != nil {
		return err
	}
	stats := statsOf(f)
	if o.common { // before the output, which may be one of the files
		stats.Items = keysInCommon(ctx, names, h)
	}
	if err := s.saveFilter(ctx, o.outputFlags, codec.FormPlain, f); err != nil {
		return err
	}
	if !o.force && stats.Asked > 0 && stats.Predicted > overRate*stats.Asked { // with --force, fits has warned
		s.warn("the result is over its rate: %s instead of %s; build filters with a larger -n to keep it", rateText(stats.Predicted), rateText(stats.Asked))
	}
	return s.merged(o.output, stats, len(names), asked, start)
}

// keysInCommon estimates how many keys are in two filters. The bits that an
// intersection has left prove nothing: many are there by chance.
func keysInCommon(ctx context.Context, names []string, h hashing.Hasher) uint64 {
	if len(names) != 2 {
		return unknownItems
	}
	d, err := compare(ctx, names[0], names[1], h)
	if err != nil || d.Both == nil {
		return unknownItems
	}
	return *d.Both
}

// apart names the files of two filters that do not go together, with their sizes if those are why.
func apart(name string, f bloomery.Hashed, otherName string, other bloomery.Hashed, err error) error {
	a, b := f.Stats(), other.Stats()
	switch {
	case !errors.Is(err, bloomery.ErrIncompatible) || a.Kind != b.Kind:
		return about(otherName, err)
	case a.Bytes != b.Bytes:
		return fmt.Errorf("%w: %s takes %s, %s %s", bloomery.ErrIncompatible, name, bytesText(a.Bytes), otherName, bytesText(b.Bytes))
	}
	return about(name+" and "+otherName, err)
}

// mergeHint says what filters must have in common.
func mergeHint(verb string, err error) error {
	switch {
	case errors.Is(err, bloomery.ErrFull):
		return hinted{err, "to " + verb + " them, build filters with room for the keys of all: a larger -n"}
	case !errors.Is(err, bloomery.ErrIncompatible):
		return err
	}
	switch kinds, ok := errors.AsType[kindsDiffer](err); {
	case ok && (kinds.one == correctedKind || kinds.other == correctedKind):
		return hinted{err, "to " + verb + " them, correct both or none: see bloomery correct"}
	case ok:
		return hinted{err, "to " + verb + " filters, build them with the same --kind"}
	}
	return hinted{err, "to " + verb + " filters, build them with the same --kind, -n, -p and --seed"}
}

// mergedJSON is what merge and intersect print with --json.
type mergedJSON struct {
	File    string    `json:"file"`
	Filters int       `json:"filters"`
	Stats   statsJSON `json:"stats"`
}

// merged reports what came out of filters, the first of which was asked for a rate.
func (s *shell) merged(name string, stats statsJSON, filters int, asked float64, start time.Time) error {
	if s.asJSON {
		return s.print(mergedJSON{name, filters, stats})
	}
	keys := keysText(stats) + ", "
	if stats.Items == unknownItems && !stats.Exact {
		keys = ""
	}
	s.say("%s: %s of %d filters, %s%s, false positive rate %s", name, stats.Kind, filters, keys,
		bytesText(stats.Bytes), rateText(stats.Predicted))
	if stats.Asked > asked {
		s.say("the false positive rate asked for rose from %s to %s: those of %s filters add up", rateText(asked), rateText(stats.Asked), stats.Kind)
	}
	if s.verbose {
		s.say("took %s", time.Since(start).Round(time.Millisecond))
	}
	return nil
}

// overRate is how many times the rate asked for is more than the luck of the fill.
const overRate = 1.1
