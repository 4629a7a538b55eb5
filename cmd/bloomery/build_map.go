// build --kind map: a small value for each key, from two columns.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/sizing"
)

// mapKind is the kind whose keys have values.
const mapKind = "map"

// buildMap makes a map of the lines of files: a column is the value of the key in
// the others.
func (o *buildOptions) buildMap(ctx context.Context, s *shell, args []string) error {
	start := time.Now()
	h, err := o.hasher()
	if err != nil {
		return err
	}
	files, err := o.checkStatic(s, args)
	if err != nil {
		return err
	}
	if o.valueBits < 0 || o.valueBits > mostValueBits {
		return fmt.Errorf("--value-bits %d: values have 1 to %d bits", o.valueBits, mostValueBits)
	}
	o.warnOfHash(s)
	if o.columns == "" && !o.given("columns") {
		o.columns = "1"
	}
	in, err := o.input(s, files)
	if err != nil {
		return err
	}
	p := &pairs{o: o, in: in, hashes: plainHashes(h)}
	if o.text != "" {
		p.hashes = o.digests()
	}
	if err := o.second(in, "value", o.value); err != nil {
		return err
	}
	stop := s.progress("build", in, o.output == "-")
	defer stop()
	w, err := p.build(ctx, h)
	stop()
	if err == nil {
		o.warnUnseparated(s, p.lines, p.separated)
		err = s.save(ctx, o.outputFlags, o.form(), w)
	}
	if err != nil {
		return o.aboutMap(err)
	}
	if m, ok := w.(*ribbon.Map); ok {
		return s.summary(o.output, m, p.lines, m.Stats().Items, wordNew, start)
	}
	return o.streamed(ctx, s, &builder{kind: codec.Kind{Name: mapKind}, hasher: h, lines: p.lines}, start)
}

// aboutMap returns an error of a build for people.
func (o *buildOptions) aboutMap(err error) error {
	if two, ok := errors.AsType[*ribbon.ConflictError](err); ok {
		return hinted{
			fmt.Errorf("%w: a key has the values %d and %d", bloomery.ErrParameter, two.Values[0], two.Values[1]),
			"with --largest it gets the larger one",
		}
	}
	if errors.Is(err, bloomery.ErrParameter) {
		return hinted{about("", err), "a value and the bits of the rate have 32 bits together: take a higher -p, or smaller values"}
	}
	return about("", err)
}

// pairs are keys with their values, from lines.
type pairs struct {
	o      *buildOptions
	in     *lines.Input
	hashes hashFunc

	lines     uint64
	separated bool
}

// mostValueBits is how many bits a value has at most: it has 32 with those of the rate, which
// takes one at least.
const mostValueBits = sizing.MaxRibbonColumns - 1

// pairBytes is what a key takes while it waits in memory, and builds: a map that
// takes more than --max-memory is built from a temporary file.
const pairBytes = 12 + 12 + 36

// build returns the map, or what builds and writes it.
func (p *pairs) build(ctx context.Context, h hashing.Hasher) (io.WriterTo, error) {
	c := ribbon.Config{ErrorRate: p.o.rate.value, ValueBits: p.o.valueBits, Largest: p.o.largest, Hasher: h}
	if c.ValueBits > 0 {
		return &mapStream{ctx, p, c}, nil
	}
	var keys []uint64
	var values []uint32
	var most uint32
	err := p.each(ctx, func(h uint64, v uint32) error {
		if int64(len(keys)) >= p.o.maxMemory.value/pairBytes {
			return hinted{
				fmt.Errorf("%w: more keys than --max-memory %s has room for", bloomery.ErrTooLarge, p.o.maxMemory.text),
				"give --value-bits: then what does not fit into memory waits in a temporary file",
			}
		}
		keys, values, most = append(keys, h), append(values, v), max(most, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.ValueBits = max(1, bits.Len32(most))
	return abandon(ctx, func() (io.WriterTo, error) {
		m, err := c.BuildMap(ctx, keys, values)
		if err != nil {
			return nil, err
		}
		return m, nil
	})
}

// each hands on all keys with their values.
func (p *pairs) each(ctx context.Context, take func(h uint64, v uint32) error) error {
	type read struct {
		hashed
		texts  lines.Keys
		values []uint32
	}
	return lines.Process(ctx, p.in, runtime.GOMAXPROCS(0), func(b *lines.Batch, r *read) error {
		if err := r.of(b, &p.o.compared, p.hashes); err != nil {
			return err
		}
		r.values = slices.Grow(r.values[:0], len(b.Records))[:len(b.Records)]
		for i, text := range r.texts.Of(b.Second(), b) {
			v, err := strconv.ParseUint(string(text), 10, mostValueBits)
			if err != nil {
				return fmt.Errorf("%s: column %s, %q, is not a value: a whole number from 0 to %s", b.Where(i), p.o.value, text[:min(len(text), longestShown)], grouped(1<<mostValueBits-1))
			}
			if n := bits.Len64(v); p.o.valueBits > 0 && n > p.o.valueBits {
				return fmt.Errorf("%s: the value %d has %d bits, --value-bits is %d", b.Where(i), v, n, p.o.valueBits)
			}
			r.values[i] = uint32(v)
		}
		return nil
	}, func(_ *lines.Batch, r *read) error {
		p.lines += uint64(len(r.hashes))
		p.separated = p.separated || r.separated
		for i, h := range r.hashes {
			if err := take(h, r.values[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// mapStream builds a map by way of a temporary file.
type mapStream struct {
	ctx    context.Context // io.WriterTo has no room for it
	p      *pairs
	config ribbon.Config
}

// errEnough ends the reading when nobody takes more.
var errEnough = errors.New("enough")

// WriteTo implements io.WriterTo.
func (m *mapStream) WriteTo(w io.Writer) (int64, error) {
	scratch, err := file.NewScratch(folderOf(followed(m.p.o.output)))
	if err != nil {
		return 0, err
	}
	defer scratch.Close() //nolint:errcheck // it is of no use any more
	ctx, fail := context.WithCancelCause(m.ctx)
	defer fail(nil)
	c := m.config
	c.Scratch, c.Memory = scratch, int(min(m.p.o.maxMemory.value, math.MaxInt))
	n, err := c.StreamMap(ctx, m.pairs(ctx, fail)).WriteTo(w)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return n, err
}

// pairs returns the keys with their values; fail gets an error that ends them.
func (m *mapStream) pairs(ctx context.Context, fail func(error)) iter.Seq2[uint64, uint32] {
	return func(yield func(uint64, uint32) bool) {
		err := m.p.each(ctx, func(h uint64, v uint32) error {
			if !yield(h, v) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			fail(err)
		}
	}
}
