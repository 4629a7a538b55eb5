// build --kind exact: a filter without errors on a known universe.

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
)

// exactKind is the kind that is built from the keys that are out, too.
const exactKind = "exact"

// buildExact makes a filter of the lines of files that denies those of --out.
func (o *buildOptions) buildExact(ctx context.Context, s *shell, args []string) error {
	start := time.Now()
	if len(o.outs) == 0 {
		return hinted{errors.New("--kind exact: which keys are out? --out names their file"), "where they are not known, take --kind ribbon"}
	}
	h, err := o.hasher()
	if err != nil {
		return err
	}
	files, err := o.checkStatic(s, args)
	if err != nil {
		return err
	}
	if slices.Contains(o.outs, "-") && (len(files) == 0 || slices.Contains(files, "-")) {
		return errors.New("--out - and the keys that are in cannot both come from standard input")
	}
	if err := notInput(o.output, o.outs); err != nil {
		return err
	}
	o.warnOfHash(s)
	u := &universe{o: o, s: s, files: [2][]string{files, o.outs}}
	defer u.close()
	if o.group != "" {
		err = u.checkGroups()
	} else {
		err = u.read(ctx, h)
	}
	if err != nil {
		return err
	}
	f, err := u.build(ctx, h)
	if err != nil {
		if errors.Is(err, exact.ErrBoth) {
			return hinted{about("", err), "with --overlap keys that are in both are in"}
		}
		return about("", err)
	}
	if f.Hasher().Check() != h.Check() {
		s.warn("two keys have the same hash with seed %d, so seed %d is taken", h.Check(), f.Hasher().Check())
	}
	if f.Out() == 0 && f.Stats().Predicted == 1 {
		s.warn("no key is out, so every key is found: -p bounds that")
	}
	if err := s.save(ctx, o.outputFlags, o.form(), f); err != nil {
		return err
	}
	stats := statsOf(f)
	if s.asJSON {
		return s.print(exactJSON{summaryJSON{o.output, u.lines[0] + u.lines[1], stats.Items, stats}, f.Out()})
	}
	s.say("%s: exact, %s in, %s out, %s, no errors among them, false positive rate of other keys %s",
		o.output, grouped(stats.Items), grouped(f.Out()), bytesText(stats.Bytes), rateText(stats.Predicted))
	s.took(u.lines[0]+u.lines[1], start)
	return nil
}

// exactJSON is what build --kind exact prints with --json.
type exactJSON struct {
	summaryJSON
	Out uint64 `json:"out"`
}

// checkStatic checks the flags of a kind that is built from more than keys, and
// returns the files that are read.
func (o *buildOptions) checkStatic(s *shell, args []string) ([]string, error) {
	for _, flag := range []string{"max", "estimate", "headroom", "multiset", "foldable"} {
		if o.changed(flag) {
			return nil, fmt.Errorf("--%s is not for --kind %s", flag, o.kind)
		}
	}
	switch {
	case o.maxMemory.value < leastBuild:
		return nil, hinted{fmt.Errorf("--max-memory %s is below 1MiB", o.maxMemory.text), "what does not fit into memory waits in a temporary file"}
	case o.output == "-" && s.jsonToStdout():
		return nil, errJSONOutput
	}
	files, err := s.files(args)
	if err != nil {
		return nil, err
	}
	if err := notInput(o.output, files); err != nil {
		return nil, err
	}
	return files, s.checkOutput(o.output, o.overwrite)
}

// universe is the keys that are in and those that are out, in this order, as hashes
// that wait.
type universe struct {
	o      *buildOptions
	s      *shell
	files  [2][]string
	hasher hashing.Hasher // of what waits
	spools [2]*spool
	lines  [2]uint64
}

func (u *universe) close() {
	for _, p := range u.spools {
		if p != nil {
			p.close()
		}
	}
}

// read reads all keys and hashes them by h.
func (u *universe) read(ctx context.Context, h hashing.Hasher) error {
	u.close()
	u.hasher = h
	for i, files := range u.files {
		in, err := u.o.input(u.s, files)
		if err != nil {
			return err
		}
		b := builder{in: in, key: u.o.compared, hashes: plainHashes(h)}
		if u.o.text != "" {
			b.hashes = u.o.digests()
		}
		// A quarter for what waits of each set, and a half for building.
		b.spool = &spool{limit: u.o.maxMemory.value / 4, folder: folderOf(followed(u.o.output))}
		u.spools[i] = b.spool
		stop := u.s.progress("build", in, u.o.output == "-")
		err = b.read(ctx, b.spool.add)
		stop()
		if err == nil {
			err = b.spool.flush(ctx)
		}
		if err == nil {
			_, err = b.spool.sort(ctx)
		}
		if err != nil {
			return err
		}
		u.lines[i] = b.lines
		u.o.warnUnseparated(u.s, b.lines, b.separated)
	}
	return nil
}

// again reads all keys again with another hasher.
func (u *universe) again(ctx context.Context, h hashing.Hasher) error {
	for _, files := range u.files {
		if len(files) == 0 || slices.Contains(files, "-") {
			return fmt.Errorf("%w: standard input cannot be read again with another seed", exact.ErrBoth)
		}
	}
	return u.read(ctx, h)
}

// build builds the filter.
func (u *universe) build(ctx context.Context, h hashing.Hasher) (*exact.Filter, error) {
	scratch, err := file.NewScratch(folderOf(followed(u.o.output)))
	if err != nil {
		return nil, err
	}
	defer scratch.Close() //nolint:errcheck // it is of no use any more
	c := exact.Config{Overlap: u.o.overlap, Hasher: h, Scratch: scratch, Memory: int(min(max(u.o.maxMemory.value/2, leastMemory), math.MaxInt))}
	if u.o.changed("rate") {
		c.ErrorRate = u.o.rate.value
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	set := func(i int) exact.Source {
		if u.o.group != "" {
			return u.groups(ctx, i, fail)
		}
		return func(h hashing.Hasher) iter.Seq2[int, uint64] {
			if !h.Equal(u.hasher) {
				if err := u.again(ctx, h); err != nil {
					fail(err)
					return func(func(int, uint64) bool) {}
				}
			}
			return func(yield func(int, uint64) bool) {
				for x := range u.spools[i].all(fail) {
					if !yield(0, x) {
						return
					}
				}
			}
		}
	}
	f, err := c.BuildFrom(ctx, set(0), set(1))
	if err != nil && context.Cause(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	return f, err
}
