// The command build: a filter from lines.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
)

// leastBuild is the least --max-memory: building a static kind needs as much in
// any case.
const leastBuild = leastMemory

// buildReserve is what the lines that are read and the runtime take beside --max-memory.
const buildReserve = 16 << 20

// buildOptions are the flags of build.
type buildOptions struct {
	inputFlags
	keyFlags
	digestFlags
	outputFlags
	formatFlag
	changed   func(flag string) bool
	kind      string
	keys      number[uint64]
	most      number[uint64]
	headroom  number[int]
	rate      number[float64]
	seed      number[uint64]
	hash      string
	estimate  bool
	transport bool
	foldable  bool
	multiset  bool
	force     bool
	maxMemory number[int64]
	outs      []string // files of the keys that are out, for --kind exact
	overlap   bool
	group     string // the column of groups
	value     string // the column of values, for --kind map
	valueBits int
	largest   bool
	existing  string // the file of a filter that gets more keys; empty for a new one
	merging   bool   // it gets those of other filters
}

func newBuildOptions() *buildOptions {
	return &buildOptions{keys: countFlag(), most: countFlag(), headroom: headroomFlag(), rate: rateFlag("1%"), seed: seedFlag(), maxMemory: sizeFlag("1GiB")}
}

func newBuild() *cobra.Command {
	o := newBuildOptions()
	cmd := &cobra.Command{
		Use:   "build [-n N | --estimate] [-p P] [--kind KIND] -o F [FILE...]",
		Short: "Make a filter from the lines of files or standard input",
		Long: `build makes a filter of all lines of the files, or of standard input, and writes
it to the file F atomically. Files may be compressed by gzip, zstd or bzip2.

-n is the capacity: the number of different lines to expect. More of them would
raise the false positive rate above -p: then nothing is written and the exit
code is 3, unless --force.

Without -n the filter is sized in one pass, when all lines are read. Kinds
bloom, standard and split keep 64-bit hashes in half of --max-memory, at 1GiB
those of 67 million lines, and make the filter just as large as the different
ones need. If more come, the other half becomes a filter that is folded at the
end: it holds some 400 million keys at 1% and is up to twice as large as needed.
Still more keys end the build with exit code 3, unless --force. --max N bounds
the number of keys: the build takes the memory of a filter for N keys. The
filter is at most 1.15 times as large as needed if a seventh of N keys or fewer
come, and else up to about twice as large.

--estimate keeps hashes until all lines are read, counts the different ones, and
makes the filter just as large as they need, whatever their number; what exceeds
--max-memory, 1MiB or more, waits in a temporary file beside F. Kinds other
than bloom, standard and split do this by default.

Static kinds are always made of counted lines, and may be larger than memory;
fuse stands for the smallest fuse kind with the rate. --headroom leaves room for
keys that come later, in percent of -n or of the lines counted.

The lines are a set: a repeated line changes nothing. Kinds that count or delete
get each different line once; with --multiset they get it as often as it occurs.

With --hashed the lines are digests already, as in lists of SHA-1 sums: they are
taken as they are and not hashed again. The file records that; check, add and
the others then need --hashed, too.

With -k some columns of a line are its key, by their numbers or by the names in
the header: -k email. --header leaves the header of each file out.

--format writes the filter of another system: in its layout, with its hash, and
as large as that system makes it for -n and -p. See docs/formats.md.

--kind sliced makes a filter of each file, all in one, for bloomery which.
--kind exact makes a filter that finds all lines and none of those of --out, in
little more space than any such filter needs; other keys are found at a rate
that it prints, and that -p bounds. With --group the keys of a group, such as
those of an issuer or a day, have a rate of their own, which takes less space if
groups have different shares in; -k must name that column, too, if keys of two
groups can be equal. --kind map keeps a small number for each key, from another
column, for bloomery get.
--kind window holds all lines in its present generation, and is sized for that.

` + kindList() + `
bloomery plan compares the kinds.`,
		Example: `  bloomery build -n 1e6 -p 0.1% -o words.bf words.txt
  sort -u words.txt | bloomery build --estimate --kind standard -o small.bf
  bloomery build --csv -k mail -o mails.bf users.csv
  bloomery build --format dcso -n 1e6 -o words.bloom words.txt
  cat words.txt | bloomery build --max 1e7 -o piped.bf
  bloomery build --kind exact --out valid.txt -o revoked.bx revoked.txt
  bloomery build --kind map -k 1 --value 2 -p 1in256 -o blocks.bm blocks.tsv
  bloomery build --hashed hex --kind ribbon -p 1in256 -o leaked.bf sums.txt
  bloomery build -n 1e5 -o monday.bf monday.txt
  bloomery build -n 1e5 -o tuesday.bf tuesday.txt`,
		Args: cobra.ArbitraryArgs,
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) }).bindSummary(cmd)
	o.flags(cmd, isWritten)
	cmd.Flags().Var(&o.most, "max", "the most different keys that can come, instead of -n: one pass, and no temporary file")
	cmd.Flags().StringArrayVar(&o.outs, "out", nil, "for --kind exact: `FILE` of the keys that must never be found; may be repeated")
	cmd.Flags().BoolVar(&o.overlap, "overlap", false, "for --kind exact: keys of --out that are among the others are in")
	cmd.Flags().StringVar(&o.group, "group", "", "for --kind exact: the `COLUMN` of a group, such as an issuer, by number or name; check needs it, too")
	cmd.Flags().StringVar(&o.value, "value", "2", "for --kind map: the `COLUMN` of the values, whole numbers, by number or name; keys are those of -k, column 1 by default")
	cmd.Flags().IntVar(&o.valueBits, "value-bits", 0, "for --kind map: `BITS` of a value, 1 to 31; by default what the largest value needs")
	cmd.Flags().BoolVar(&o.largest, "largest", false, "for --kind map: a key with several values gets the largest; otherwise that is an error")
	cmd.Flags().BoolVar(&o.estimate, "estimate", false, "count the keys first and make the filter as large as they need")
	bindMultiset(cmd.Flags(), &o.multiset)
	o.inputFlags.bind(cmd.Flags())
	cmd.Flags().Lookup("ignore-case").Usage = "put lines into the filter in lower case; check, add and the others then need -i, too"
	o.bindOutput(cmd)
	return cmd
}

// kindList is the list of kinds for the help.
func kindList() string {
	return wrapped("Kinds: "+strings.Join(kindNames(), ", ")+".", defaultWidth, "")
}

// bindMultiset adds the flag of the commands that put lines into a filter.
func bindMultiset(f *pflag.FlagSet, multiset *bool) {
	f.BoolVar(multiset, "multiset", false, "for kinds that count or delete: insert a line as often as it occurs")
}

// errNoCounts refuses --multiset for a kind.
func errNoCounts(kind string) error {
	return hinted{fmt.Errorf("--multiset: a %s filter does not count", kind), "leave it out, or take --kind counting, spectral, cuckoo, quotient or growing"}
}

// flags adds the flags that say what filter to make, formats of other systems included.
func (o *buildOptions) flags(cmd *cobra.Command, formats func(foreignFormat) bool) {
	f := cmd.Flags()
	f.VarP(&o.keys, "keys", "n", "capacity, the number of different keys: 1e6, 10M")
	f.Var(&o.headroom, "headroom", "capacity for so many percent more keys, 0 to 1000: 50, 50%")
	f.VarP(&o.rate, "rate", "p", "false positive rate: 0.01, 0.1%, 1in1000")
	f.StringVar(&o.kind, "kind", "bloom", "`KIND` of filter")
	f.Var(&o.seed, "seed", "seed `S` of the hash, or random; filters that are merged have the same")
	f.StringVar(&o.hash, "hash", "xxh3", "hash function `NAME`, for filters that other programs query: "+strings.Join(hashNames(), ", "))
	f.BoolVar(&o.transport, "transport", false, "write the transport form: smaller unless half full, not mapped")
	f.BoolVar(&o.foldable, "foldable", false, "make a bloom, standard or split filter that bloomery fold can make smaller")
	f.BoolVar(&o.force, "force", false, "write the filter even if it is over its capacity")
	f.Var(&o.maxMemory, "max-memory", "memory for hashes and for a filter without -n during the build, 1MiB or more")
	o.keyFlags.bind(f)
	f.StringVar(&o.format, "format", "", "write the filter of another system, in this `FORMAT`: "+strings.Join(formatNames(formats), ", "))
	completeWords(cmd, "format", formatNames(formats)...)
	o.changed = f.Changed
	o.digestFlags.bind(cmd)
	completeWords(cmd, "hash", hashNames()...)
	completeWords(cmd, "kind", append(kindNames(), anyFuse, slicedKind)...)
}

// hasher returns the hasher that the flags ask for.
func (o *buildOptions) hasher() (hashing.Hasher, error) {
	h, err := o.keyFlags.hasher()
	switch {
	case err != nil:
		return h, err
	case o.text != "":
		return o.digestHasher()
	case o.hash != "" && o.hash != defaultHash:
		return o.named()
	case o.seed.text == "":
		return h, nil
	case o.file != "":
		return h, errors.New("--seed and --key-file exclude each other")
	}
	return hashing.Seeded(o.seed.value), nil
}

// defaultHash is the name of the hash that has a seed.
const defaultHash = "xxh3"

// hashNames are the hashes that --hash takes: those that need no secret, which
// is what --key-file is for.
func hashNames() []string {
	names := []string{defaultHash}
	for _, h := range named.All() {
		if !h.Secret && !h.Digests {
			names = append(names, h.Name)
		}
	}
	return names
}

// named returns the function that --hash names.
func (o *buildOptions) named() (hashing.Hasher, error) {
	if o.seed.text != "" || o.file != "" {
		return hashing.Hasher{}, fmt.Errorf("--hash %s has no seed and no key: leave --seed and --key-file out", o.hash)
	}
	if !slices.Contains(hashNames(), o.hash) {
		return hashing.Hasher{}, hinted{fmt.Errorf("--hash: unknown function %q", o.hash), "one of " + strings.Join(hashNames(), ", ")}
	}
	f, err := named.ByName(o.hash)
	if err != nil {
		return hashing.Hasher{}, err
	}
	return f.Hasher(nil)
}

// warnOfHash says what is wrong with a function that breaks rates.
func (o *buildOptions) warnOfHash(s *shell) {
	if f, err := named.ByName(o.hash); err == nil && f.Weakness != "" {
		s.warn("--hash %s: %s", o.hash, f.Weakness)
	}
}

// form is how the filter is written.
func (o *buildOptions) form() codec.Form {
	if o.transport {
		return codec.FormTransport
	}
	return codec.FormPlain
}

func (o *buildOptions) run(ctx context.Context, s *shell, args []string) error {
	start := time.Now()
	if o.format != "" {
		return o.buildForeign(ctx, s, args)
	}
	if err := o.checkOwn(); err != nil {
		return err
	}
	switch o.kind {
	case slicedKind:
		return o.buildSliced(ctx, s, args)
	case exactKind:
		return o.buildExact(ctx, s, args)
	case mapKind:
		return o.buildMap(ctx, s, args)
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
	case o.estimate && o.keys.text != "":
		return errors.New("-n and --estimate exclude each other")
	case o.most.text != "":
		if err := o.checkMost(kind); err != nil {
			return err
		}
	case o.multiset && !kind.Features.Insert:
		return errNoCounts(kind.Name)
	case o.maxMemory.value < leastBuild:
		return fmt.Errorf("--max-memory %s is below 1MiB", o.maxMemory.text)
	case o.output == "-" && s.jsonToStdout():
		return errJSONOutput
	}
	if o.headroom.value > 0 && kind.Features.Static {
		return fmt.Errorf("--headroom: no key can be added to a %s filter later", kind.Name)
	}
	if o.foldable && !unsizedKind(kind) {
		return errFoldable
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	if err := notInput(o.output, files); err != nil {
		return err
	}
	if err := s.checkOutput(o.output, o.overwrite); err != nil {
		return err
	}
	o.warnOfHash(s)
	in, err := o.input(s, files)
	if err != nil {
		return err
	}
	job := &steps{measured: in}
	stop := s.progress("build", job, o.output == "-")
	defer stop()
	b := builder{steps: job, kind: kind, rate: o.rate.value, hasher: h, in: in, key: o.compared, memory: o.maxMemory.value, foldable: o.foldable, headroom: o.headroom.value, force: o.force}
	b.most = o.most.value
	// A split would be folded to a power of two, and is smaller if it is counted.
	b.once = o.keys.text == "" && !o.estimate && !o.foldable && unsizedKind(kind)
	if b.hashes = plainHashes(h); o.text != "" {
		b.hashes = o.digests()
	}
	if b.most > 0 {
		b.spool = nil
	} else if o.keys.text == "" || kind.New == nil || asSet(kind, o.multiset) {
		b.spool = &spool{limit: o.maxMemory.value, folder: folderOf(followed(o.output)), repeat: o.multiset}
		defer b.spool.close()
		// Lists that grow leave garbage as long as themselves behind them.
		defer limitHeap(min(o.maxMemory.value, math.MaxInt64-buildReserve) + buildReserve)()
	}
	if kind.New == nil {
		b.spool.limit /= staticShare
	}
	w, err := b.build(ctx, o.keys.value)
	if err != nil {
		return fullOfOne(err, o.multiset)
	}
	f, ok := w.(bloomery.Hashed)
	if ok {
		if err := o.fits(s, f, b.added); err != nil {
			return err
		}
	}
	job.step("writing %s", o.output)
	err = s.save(ctx, o.outputFlags, o.form(), w)
	stop()
	o.warnUnseparated(s, b.lines, b.separated)
	if err != nil {
		return err
	}
	if ok {
		return s.summary(o.output, f, b.lines, b.added, o.word(), start)
	}
	return o.streamed(ctx, s, &b, start)
}

// checkOwn refuses flags that are for one kind with another.
func (o *buildOptions) checkOwn() error {
	for _, own := range [][2]string{{"out", exactKind}, {"overlap", exactKind}, {"group", exactKind}, {"value", mapKind}, {"value-bits", mapKind}, {"largest", mapKind}} {
		if o.kind != own[1] && o.changed(own[0]) {
			return fmt.Errorf("--%s is for --kind %s", own[0], own[1])
		}
	}
	return nil
}

// streamed reports a filter that was never in memory.
func (o *buildOptions) streamed(ctx context.Context, s *shell, b *builder, start time.Time) error {
	if o.output == "-" {
		s.say("-: %s, %s", b.kind.Name, plural(b.lines, "line"))
		return nil
	}
	f, err := mapFilter(ctx, o.output, b.hasher, false)
	if err != nil {
		return err
	}
	defer f.close()
	return s.summary(o.output, f.Hashed, b.lines, f.Stats().Items, o.word(), start)
}

// word is what the lines that were put into the filter are called.
func (o *buildOptions) word() string {
	if o.multiset {
		return wordAdded
	}
	return wordNew
}

// fits says no, or warns if it may, when there are more keys than the filter
// was made for and the rate is above what was asked.
func (o *buildOptions) fits(s *shell, f bloomery.Filter, added uint64) error {
	stats := f.Stats()
	if w, ok := f.(*compose.Window); ok { // all keys of a run go into the present generation
		now := w.Past(0)
		stats.Capacity, added = now.Capacity, now.Items
		if added != unknownItems {
			added -= min(added, doubt(now))
		}
	}
	if theirs, ok := f.(*foreign.Bloom); ok && stats.Capacity == 0 {
		stats.Capacity = mostKeys(theirs.Layout())
	}
	if stats.Capacity == 0 || added <= stats.Capacity || stats.Predicted <= stats.Asked {
		return nil // small filters have room for more than was asked for
	}
	keys := "at least " + plural(added, "key")
	if added == unknownItems {
		keys = "more keys than can be counted"
	}
	text := fmt.Sprintf("%s, and room for %s: the false positive rate is %s", keys, grouped(stats.Capacity), rateText(stats.Predicted))
	if stats.Asked > 0 { // some formats of others are sized in bits for a key
		text += " instead of " + rateText(stats.Asked)
	}
	if !o.force {
		return hinted{fmt.Errorf("%w: %s", errLimit, text), o.overHint(stats.Kind)}
	}
	s.warn("%s", text)
	return nil
}

// mostKeys returns the most keys that a filter of another system can have been made for, whose file
// does not say: its formula chose the bits of a key, 0.69 for each bit of the array that a key has,
// and at most one more. It is 0 if nothing follows from them.
func mostKeys(l foreign.Layout) uint64 {
	if l.Probes < 2 {
		return 0
	}
	return uint64(math.Ceil(math.Ln2 * float64(l.Bits) / float64(l.Probes-1)))
}

// overHint says what to do about a filter that would be over its capacity.
func (o *buildOptions) overHint(kind string) string {
	all := ", or --force writes it all the same"
	switch {
	case o.format != "":
		return "build it with a larger -n" + all
	case o.most.text != "":
		return "build it with a larger --max, or without it" + all
	case o.existing == "":
		return "build it with a larger -n or with --kind scalable" + all
	case kind == "bloom" && o.merging:
		return "let each of them grow first, with bloomery grow: scalable filters merge at any size" + all
	case kind == "bloom":
		return "bloomery grow " + o.existing + " lets it grow to any number of keys" + all
	}
	return "build it from all keys with a larger -n" + all
}

// checkMost returns an error if --max does not go with others.
func (o *buildOptions) checkMost(kind codec.Kind) error {
	switch {
	case o.keys.text != "" || o.estimate:
		return errors.New("--max excludes -n and --estimate: the filter is sized when all lines are read")
	case o.most.value == 0:
		return errors.New("--max: 1 or more keys")
	case o.foldable:
		return errors.New("--max and --foldable exclude each other")
	case !unsizedKind(kind):
		return errMaxKind
	}
	return nil
}

// notInput refuses to replace a file that is read.
func notInput(output string, files []string) error {
	out, err := os.Stat(output)
	if err != nil {
		return nil //nolint:nilerr // it is not there: nothing can be lost
	}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && os.SameFile(out, info) {
			return fmt.Errorf("%s is both read and written", name)
		}
	}
	return nil
}
