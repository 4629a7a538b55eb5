// The command add, and what it shares with remove: a filter file that is changed
// and replaced.

package main

import (
	"context"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// addOptions are the flags of add.
type addOptions struct {
	changeFlags
	formatFlag
	force bool
}

func newAdd() *cobra.Command {
	o := &addOptions{}
	cmd := &cobra.Command{
		Use:     "add F [FILE...]",
		Aliases: []string{"insert"},
		Short:   "Add the lines of files or standard input to a filter",
		Long: `add adds all lines of the files, or of standard input, to the filter in the file
F, which is replaced atomically. Others may read it meanwhile. Two commands that
add to one filter at the same time wait for each other.

If the filter would hold more keys than its capacity, nothing is written and the
exit code is 3, unless --force.

The lines are a set: a repeated line changes nothing. Kinds that count or delete
get each different line once, whatever they hold; with --multiset they get it as
often as it occurs.

Filters of other systems are recognised as by bloomery check, and keep their
format. Those of Cassandra and BIP 158 cannot be changed.`,
		Example: `  bloomery add words.bf more.txt
  echo zebra | bloomery add words.bf`,
		Args: between(1, -1, "the filter to add to"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) }).bindSummary(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "write the filter even if it is over its capacity")
	bindMultiset(cmd.Flags(), &o.multiset)
	o.inputFlags.bind(cmd.Flags())
	o.keyFlags.bind(cmd.Flags())
	o.bindFormat(cmd)
	o.digestFlags.bind(cmd)
	return cmd
}

func (o *addOptions) run(ctx context.Context, s *shell, name string, args []string) error {
	start := time.Now()
	h, err := o.hasher()
	if err != nil {
		return err
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	if done, err := o.addForeign(ctx, s, name, files, start); done || err != nil {
		return err
	}
	f, form, unlock, err := s.openToChange(ctx, name, h)
	if err != nil {
		return err
	}
	defer unlock()
	before, exact := itemsOf(f)
	add, err := adderOf(f)
	if err != nil {
		return about(name, err)
	}
	lines, added, err := o.each(ctx, s, "add", f, files, folderOf(followed(name)), add)
	if err != nil {
		return about(name, fullOfOne(full(err), o.multiset))
	}
	b := buildOptions{force: o.force, existing: name}
	if err := b.fits(s, f, surely(f, before, exact, added)); err != nil {
		return about(name, err)
	}
	if err := s.saveFilter(ctx, outputFlags{name, true}, form, f); err != nil {
		return err
	}
	word := wordAdded
	if _, reports := f.(bloomery.Adder); reports {
		word = wordNew
	}
	return s.summary(name, f, lines, added, word, start)
}

// openToChange opens a filter that will be replaced, and locks it until unlock
// is called.
func (s *shell) openToChange(ctx context.Context, name string, h hashing.Hasher) (f bloomery.Hashed, form codec.Form, unlock func(), err error) {
	if unlock, err = s.lockExisting(ctx, name); err != nil {
		return nil, 0, nil, err
	}
	if f, form, err = openWithForm(ctx, name, h); err != nil {
		unlock()
		return nil, 0, nil, err
	}
	return f, form, unlock, nil
}

// addMemory is for hashes that wait; more of them go to a temporary file.
const addMemory = 256 << 20

// changeFlags are those of commands that put lines into a filter or remove
// them.
type changeFlags struct {
	inputFlags
	keyFlags
	digestFlags
	multiset bool
}

// each hands the hashes of all lines to change, and returns how many lines there
// were and how many keys were changed.
func (o *changeFlags) each(ctx context.Context, s *shell, verb string, f bloomery.Hashed, files []string, folder string,
	change func(hs []uint64) (uint64, error),
) (lines, changed uint64, err error) {
	kind, err := kindOf(f)
	if err != nil {
		return 0, 0, err
	}
	if o.multiset && !kind.Features.Insert {
		return 0, 0, errNoCounts(kind.Name)
	}
	if err := o.goesWith(&o.inputFlags); err != nil {
		return 0, 0, err
	}
	in, err := o.input(s, files)
	if err != nil {
		return 0, 0, err
	}
	stop := s.progress(verb, in, false)
	defer stop()
	hashes, err := o.hashesOf("the filter", f)
	if err != nil {
		return 0, 0, err
	}
	b := builder{hashes: hashes, in: in, key: o.compared}
	defer func() {
		if err == nil {
			stop()
			o.warnUnseparated(s, b.lines, b.separated)
		}
	}()
	put := func(hs []uint64) error {
		n, err := change(hs)
		changed += n
		return err
	}
	if !asSet(kind, o.multiset) {
		err = b.read(ctx, put)
		return b.lines, changed, err
	}
	b.spool = &spool{limit: addMemory, folder: folder}
	defer b.spool.close()
	err = b.distinct(ctx, put)
	return b.lines, changed, err
}

// surely returns a number of keys that are in the filter in all likelihood:
// what was in it before is an estimate, from which its doubt is subtracted.
func surely(f bloomery.Filter, before uint64, exact bool, added uint64) uint64 {
	switch {
	case exact:
		return before + min(added, math.MaxUint64-before)
	case before == unknownItems:
		return before
	}
	return before - min(before, doubt(f.Stats())) + added
}

// doubt returns three standard deviations of the estimated number of keys. The
// deviation of an estimate from a half-full array is sqrt(0.307 bits)/k keys, and k
// is 0.693 bits per key: 0.8 keys/sqrt(bits).
func doubt(stats bloomery.Stats) uint64 {
	return uint64(math.Ceil(3 * 0.8 * float64(stats.Capacity) / math.Sqrt(float64(max(stats.Bits, 1)))))
}
