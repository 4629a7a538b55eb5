// How add, build and create write filters of other systems.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/hashing"
)

// foreignAdder is a filter of another system that takes keys.
type foreignAdder interface{ Add(key []byte) bool }

// addForeign adds lines to a filter of another system and replaces its file. It
// reports false if the file is none.
func (o *addOptions) addForeign(ctx context.Context, s *shell, name string, files []string, start time.Time) (done bool, err error) {
	if err := notPiped(name); err != nil {
		return false, nil //nolint:nilerr // others say so
	}
	if head, err := headBytes(name); err != nil || o.format == "" && !mayBeForeign(head) {
		return false, nil //nolint:nilerr // others say so
	}
	unlock, err := s.lockExisting(ctx, name)
	if err != nil {
		return false, err
	}
	defer unlock()
	f, err := o.openForeignToAsk(ctx, name, &o.keyFlags)
	if err != nil || f == nil {
		return err != nil, err
	}
	if o.multiset {
		return true, errNoCounts(f.name)
	}
	if _, ok := f.foreignFilter.(foreignAdder); !ok || f.write == nil {
		return true, about(name, fmt.Errorf("%w: no key can be added to %s", bloomery.ErrIncompatible, f.is))
	}
	in, err := o.input(s, files)
	if err != nil {
		return true, err
	}
	before, exact := itemsOf(f.foreignFilter)
	read := foreignReader{in: in, key: o.compared}
	stop := s.progress("add", in, false)
	defer stop()
	if err := read.addTo(ctx, f.foreignFilter); err != nil {
		return true, err
	}
	stop()
	o.warnUnseparated(s, read.lines, read.separated)
	b := buildOptions{force: o.force, existing: name}
	if err := b.fits(s, f.foreignFilter, surely(f.foreignFilter, before, exact, read.added)); err != nil {
		return true, about(name, err)
	}
	return true, s.saveForeign(ctx, outputFlags{name, true}, f.foreignFormat, f.foreignFilter, &read, start)
}

// saveForeign writes a filter as another system reads it, and reports it.
func (s *shell) saveForeign(ctx context.Context, to outputFlags, format foreignFormat, f foreignFilter, read *foreignReader, start time.Time) error {
	data, err := format.write(f)
	if err != nil {
		return about("", err)
	}
	if err := s.writeBytes(ctx, to, data); err != nil {
		return err
	}
	return s.summaryOf(to.output, format.name, statsOf(f), read.lines, read.added, wordNew, start)
}

// foreignReader reads lines for a filter of another system, which hashes them itself.
type foreignReader struct {
	in  *lines.Input
	key lines.Key

	lines     uint64
	added     uint64
	separated bool // a line has the delimiter of the key
}

// each hands on the keys of all lines, in their order.
func (r *foreignReader) each(ctx context.Context, take func(keys [][]byte)) error {
	type worked struct {
		keys      lines.Keys
		of        [][]byte
		separated bool
	}
	return lines.Process(ctx, r.in, runtime.GOMAXPROCS(0), func(b *lines.Batch, w *worked) error {
		w.separated, w.of = r.key.Separates(b.Records), w.keys.Of(&r.key, b)
		return nil
	}, func(_ *lines.Batch, w *worked) error {
		r.lines += uint64(len(w.of))
		r.separated = r.separated || w.separated
		take(w.of)
		return nil
	})
}

// addTo adds the keys of all lines to a filter.
func (r *foreignReader) addTo(ctx context.Context, f foreignFilter) error {
	to, ok := f.(foreignAdder)
	if !ok {
		return fmt.Errorf("%w: a %s filter never changes", bloomery.ErrIncompatible, f.Stats().Kind)
	}
	return r.each(ctx, func(keys [][]byte) {
		for _, key := range keys {
			if to.Add(key) {
				r.added++
			}
		}
	})
}

// notForForeign are the flags of build that say how our own filters are made.
var notForForeign = []string{"kind", "seed", "hash", "transport", "foldable", "headroom", "estimate", "multiset", "max-memory", "max", "hashed"}

// foreignTarget returns the format that build or create is to write.
func (o *buildOptions) foreignTarget(s *shell) (foreignFormat, error) {
	f, err := formatNamed("format", o.format, isWritten)
	if err != nil {
		return f, err
	}
	for _, flag := range notForForeign {
		if o.changed(flag) {
			return f, fmt.Errorf("--%s is for bloomery filters: leave it out with --format %s", flag, o.format)
		}
	}
	if o.file != "" && !f.keyed {
		return f, fmt.Errorf("--format %s has no key: leave --key-file out", o.format)
	}
	if o.output == "-" && s.jsonToStdout() {
		return f, errJSONOutput
	}
	return f, nil
}

// emptyForeign returns an empty filter of a format for -n keys. It warns if the format has
// none that is large enough.
func (o *buildOptions) emptyForeign(s *shell, format foreignFormat) (foreignFilter, error) {
	switch {
	case format.create == nil:
		return nil, hinted{errors.New(format.is + " never changes"), "build it from all keys: bloomery build --format " + format.name}
	case o.keys.text == "":
		return nil, hinted{fmt.Errorf("--format %s: give the number of keys with -n", format.name), "without it keys would have to be kept until all are counted"}
	}
	n := max(o.keys.value, 1)
	f, err := format.create(n, o.rate.value)
	if err != nil {
		return nil, about("", err)
	}
	if full := rateWhenFull(f, n); full > farOverRate*o.rate.value {
		s.warn("the format does not allow %s for %s: when the filter is full, its false positive rate is %s",
			rateText(o.rate.value), plural(n, "key"), rateText(full))
	}
	return f, nil
}

// farOverRate is how many times the rate asked for is more than the rounding of sizes.
const farOverRate = 2

// rateWhenFull is the rate of the textbook's formula for a filter with n keys, or 0 if it
// has no such bits.
func rateWhenFull(f foreignFilter, n uint64) float64 {
	b, ok := f.(*foreign.Bloom)
	if !ok {
		return 0
	}
	l := b.Layout()
	return math.Pow(-math.Expm1(-float64(n)*float64(l.Probes)/float64(l.Bits)), float64(l.Probes))
}

// buildForeign makes a filter of another system from lines.
func (o *buildOptions) buildForeign(ctx context.Context, s *shell, args []string) error {
	start := time.Now()
	format, err := o.foreignTarget(s)
	if err != nil {
		return err
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	if err := errors.Join(notInput(o.output, files), s.checkOutput(o.output, o.overwrite)); err != nil {
		return err
	}
	in, err := o.input(s, files)
	if err != nil {
		return err
	}
	read := foreignReader{in: in, key: o.compared}
	stop := s.progress("build", in, o.output == "-")
	defer stop()
	var f foreignFilter
	if format.build != nil {
		f, err = o.buildAtOnce(ctx, format, &read)
	} else if f, err = o.emptyForeign(s, format); err == nil {
		err = read.addTo(ctx, f)
	}
	if err != nil {
		return err
	}
	stop()
	o.warnUnseparated(s, read.lines, read.separated)
	if err := o.fits(s, f, read.added); err != nil {
		return err
	}
	return s.saveForeign(ctx, o.outputFlags, format, f, &read, start)
}

// buildAtOnce makes a filter that never changes from the hashes of all lines.
func (o *buildOptions) buildAtOnce(ctx context.Context, format foreignFormat, read *foreignReader) (foreignFilter, error) {
	key, err := o.key()
	switch {
	case err != nil:
		return nil, err
	case key == nil:
		return nil, errForeignKey(format.is)
	case o.keys.text != "" || o.changed("rate"):
		return nil, fmt.Errorf("--format %s has a rate of its own and counts its keys: leave -n and -p out", format.name)
	}
	hasher := hashing.Keyed(*key)
	var hashes []uint64
	err = read.each(ctx, func(keys [][]byte) {
		for _, key := range keys {
			hashes = append(hashes, hasher.Hash(key))
		}
	})
	if err != nil {
		return nil, err
	}
	f, err := format.build(hashes, *key)
	if err != nil {
		return nil, about("", err)
	}
	read.added = f.Stats().Items
	return f, nil
}

// createForeign writes an empty filter of another system.
func (o *buildOptions) createForeign(ctx context.Context, s *shell, name string) error {
	o.output = name
	format, err := o.foreignTarget(s)
	if err != nil {
		return err
	}
	if err := s.checkOutput(name, o.overwrite); err != nil {
		return err
	}
	f, err := o.emptyForeign(s, format)
	if err != nil {
		return err
	}
	data, err := format.write(f)
	if err != nil {
		return about("", err)
	}
	if err := s.writeBytes(ctx, outputFlags{name, o.overwrite}, data); err != nil {
		return err
	}
	return s.created(name, format.name, statsOf(f), max(o.keys.value, 1), o.rate.value)
}
