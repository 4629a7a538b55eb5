package exact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/sizing"
)

// ErrBoth means that a key is both in and out. It wraps ErrParameter.
var ErrBoth = fmt.Errorf("%w: a key is both in and out", bloomery.ErrParameter)

// MaxGroups is the most groups that a filter has.
const MaxGroups = 1 << 24

// checkEvery is after how many hashes a build looks whether it was cancelled and
// reports its progress.
const checkEvery = 1 << 16

// Build returns a filter of the keys with the hashes in, which never takes one of
// those with the hashes out for one of them. Hashes must be well mixed, and are
// left as they are. Duplicates are allowed.
//
// It takes about 1 µs for each key that is in and 50 ns for each that is out. The
// error wraps ErrBoth if a hash is in both sets: a key is, or two keys have the
// same hash, and then another seed helps; or ErrTooLarge.
func Build(in, out []uint64) (*Filter, error) { return Config{}.Build(context.Background(), in, out) }

// Group is a part of the universe with a rate of its own: an issuer, a day.
type Group struct {
	In, Out []uint64 // hashes of the keys that are in, and of those that are out
}

// Build is the function Build. When ctx is cancelled, it returns its error.
func (c Config) Build(ctx context.Context, in, out []uint64) (*Filter, error) {
	return c.fromHashes(ctx, "Build", []Group{{in, out}})
}

// BuildGroups is Build for keys in groups, which are known by their places in the
// slice. A filter of several groups answers by Filter.ContainsIn. The hashes are
// those of groups and keys together: an issuer with its serial number, not the
// number alone, which two issuers may have given.
func (c Config) BuildGroups(ctx context.Context, groups []Group) (*Filter, error) {
	return c.fromHashes(ctx, "BuildGroups", groups)
}

func (c Config) fromHashes(ctx context.Context, method string, groups []Group) (*Filter, error) {
	if c.Scratch != nil || c.Memory != 0 {
		err := fields.Only(c, method, "ErrorRate", "Overlap", "Width", "Shards", "Hasher", "Alloc", "Workers", "Progress")
		return nil, fmt.Errorf("exact: build: %w", err)
	}
	all := func(hashes func(*Group) []uint64) Source {
		return func(hashing.Hasher) iter.Seq2[int, uint64] {
			return func(yield func(int, uint64) bool) {
				for i := range groups {
					for _, h := range hashes(&groups[i]) {
						if !yield(i, h) {
							return
						}
					}
				}
			}
		}
	}
	b := build{Config: c, ctx: ctx, groups: len(groups)}
	b.in = all(func(g *Group) []uint64 { return g.In })
	b.out = all(func(g *Group) []uint64 { return g.Out })
	f, err := b.filter()
	if err != nil {
		return nil, fmt.Errorf("exact: build: %w", err)
	}
	return f, nil
}

// Source returns the keys of a set: their groups, from 0 on, and their hashes by h.
// It is called several times, and must return the same keys each time. A source
// that ends because something has failed must cancel the context with the cause
// before it does (context.WithCancelCause): else what came is taken for the whole
// set.
type Source func(h hashing.Hasher) iter.Seq2[int, uint64]

// BuildFrom is Build for sets that may be larger than memory. in is read three
// times, and once more for each rate if there are groups; out is read twice. What
// is made of them waits in the scratch; the filter itself is in memory.
//
// If a hash is in both sets, it begins again with another seed, so that two keys
// with the same hash cost time and no error; if there is one again, a key is in
// both sets, and the error wraps ErrBoth. A secret key or a function has no other
// seed: then the first such hash is an error. Other errors wrap ErrParameter,
// ErrTooLarge (more memory is needed), ErrCorrupt (the scratch gave back other
// bytes than it got), or are those of the context or of the scratch.
func (c Config) BuildFrom(ctx context.Context, in, out Source) (*Filter, error) {
	f, err := c.buildFrom(ctx, in, out)
	if err != nil {
		return nil, fmt.Errorf("exact: build: %w", err)
	}
	return f, nil
}

func (c Config) buildFrom(ctx context.Context, in, out Source) (*Filter, error) {
	switch {
	case in == nil || out == nil:
		return nil, fmt.Errorf("%w: there is no source", bloomery.ErrParameter)
	case c.Scratch == nil:
		return nil, fmt.Errorf("%w: there is no Scratch", bloomery.ErrParameter)
	}
	b := build{Config: c, ctx: ctx, in: in, out: out, groups: 1}
	f, err := b.filter()
	if !errors.Is(err, ErrBoth) || c.Hasher.Kind() != hashing.XXH3 {
		return f, err
	}
	b.Hasher = hashing.Seeded(c.Hasher.Check() + 1)
	return b.filter()
}

// build is a filter on its way.
type build struct {
	Config
	ctx     context.Context // of one call
	in, out Source
	groups  int // there are at least so many
	read    uint64
	filters []*ribbon.Filter // by number
	bits    *ribbon.Map
}

// count is how many keys of a group there are, duplicates included.
type count struct{ in, out uint64 }

// filter builds the filter with the present hasher.
func (b *build) filter() (*Filter, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if b.groups < 1 || b.groups > MaxGroups {
		return nil, fmt.Errorf("%w: %d groups are not 1 to %d", bloomery.ErrParameter, b.groups, MaxGroups)
	}
	b.read, b.filters, b.bits = 0, nil, nil
	counts, err := b.counts()
	if err != nil {
		return nil, err
	}
	classes, rates := b.classes(counts)
	for i, rate := range rates {
		if err := b.first(i, rate, classes); err != nil {
			return nil, err
		}
	}
	if err := b.second(classes); err != nil {
		return nil, err
	}
	f, err := b.assemble(classes, counts)
	if err == nil && b.Progress != nil {
		b.Progress(b.read, b.read)
	}
	return f, err
}

// counts reads both sets for the first time.
func (b *build) counts() ([]count, error) {
	counts := make([]count, b.groups)
	for _, set := range []struct {
		source Source
		of     func(*count) *uint64
	}{
		{b.in, func(c *count) *uint64 { return &c.in }},
		{b.out, func(c *count) *uint64 { return &c.out }},
	} {
		for g := range b.all(set.source, true) {
			if g < 0 || g >= MaxGroups {
				return nil, fmt.Errorf("%w: group %d is not 0 to %d", bloomery.ErrParameter, g, MaxGroups-1)
			}
			if g >= len(counts) {
				counts = append(counts, make([]count, g+1-len(counts))...)
			}
			*set.of(&counts[g])++
		}
		if err := context.Cause(b.ctx); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// all returns the keys of a set, until the context is cancelled. first says that
// they are read for the first time, which is what Progress shows.
func (b *build) all(set Source, first bool) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		n := 0
		for g, h := range set(b.Hasher) {
			if n++; n%checkEvery == 0 {
				if b.ctx.Err() != nil {
					return
				}
				if first && b.Progress != nil {
					b.Progress(b.read+uint64(n), 0)
				}
			}
			if !yield(g, h) {
				return
			}
		}
		if first {
			b.read += uint64(n)
		}
	}
}

// classes returns what each group does with its keys, and the rates of the filters.
func (b *build) classes(counts []count) (classes []byte, rates []float64) {
	classes = make([]byte, len(counts))
	for g, c := range counts {
		if b.Overlap { // most likely all that are in have come as out, too
			c.out -= min(c.out, c.in)
		}
		rate := sizing.ExactRate(c.in, c.out, b.ErrorRate)
		switch {
		case c.in == 0:
			classes[g] = noneIn
			continue
		case counts[g].out == 0 && b.ErrorRate == 0:
			classes[g] = allIn
			continue
		case rate >= noRate:
			classes[g] = byBit
			continue
		}
		i := slices.Index(rates, rate)
		if i < 0 {
			i = len(rates)
			rates = append(rates, rate)
		}
		classes[g] = byte(i)
	}
	return classes, rates
}

// first builds the filter with number i, of all groups that have it.
func (b *build) first(i int, rate float64, classes []byte) error {
	keys := func(yield func(uint64) bool) {
		for g, h := range b.all(b.in, false) {
			if g < len(classes) && int(classes[g]) == i && !yield(h) {
				return
			}
		}
	}
	f, err := b.ribbon(rate, keys)
	b.filters = append(b.filters, f)
	return err
}

// ribbon returns a ribbon filter.
func (b *build) ribbon(rate float64, keys iter.Seq[uint64]) (*ribbon.Filter, error) {
	if b.Scratch != nil {
		var data bytes.Buffer
		if _, err := b.stage(rate).Stream(b.ctx, keys).WriteTo(&data); err != nil {
			return nil, err
		}
		return ribbon.Config{}.Decode(data.Bytes())
	}
	hashes := slices.Collect(keys)
	if err := context.Cause(b.ctx); err != nil {
		return nil, err
	}
	return b.stage(rate).Build(b.ctx, hashes)
}

// second builds the map of one bit for each key that gets there.
func (b *build) second(classes []byte) error {
	if !slices.ContainsFunc(classes, func(c byte) bool { return c != allIn && c != noneIn }) {
		return nil
	}
	bits, err := b.retrieval(func(yield func(uint64, uint32) bool) {
		for g, h := range b.all(b.in, false) {
			if g < len(classes) && classes[g] < allIn && !yield(h, 1) {
				return
			}
		}
		for g, h := range b.all(b.out, false) {
			if b.passes(classes, g, h) && !yield(h, 0) {
				return
			}
		}
	})
	b.bits = bits
	return both(err)
}

// both returns the error of a map in which a key has two values.
func both(err error) error {
	if two, ok := errors.AsType[*ribbon.ConflictError](err); ok {
		return fmt.Errorf("%w, or two keys have the same hash, %016x", ErrBoth, two.Hash)
	}
	return err
}

// passes reports whether a key that is out gets to the second stage.
func (b *build) passes(classes []byte, g int, h uint64) bool {
	if g >= len(classes) {
		return false
	}
	switch c := classes[g]; c {
	case allIn, noneIn:
		return false
	case byBit:
		return true
	default:
		return b.filters[c].ContainsHash(h)
	}
}

// retrieval returns a map of one bit.
func (b *build) retrieval(pairs iter.Seq2[uint64, uint32]) (*ribbon.Map, error) {
	c := b.stage(noRate)
	c.ValueBits, c.Largest = 1, b.Overlap
	if b.Scratch != nil {
		var data bytes.Buffer
		if _, err := c.StreamMap(b.ctx, pairs).WriteTo(&data); err != nil {
			return nil, err
		}
		return ribbon.Config{}.DecodeMap(data.Bytes())
	}
	var hashes []uint64
	var values []uint32
	for h, v := range pairs {
		hashes, values = append(hashes, h), append(values, v)
	}
	if err := context.Cause(b.ctx); err != nil {
		return nil, err
	}
	return c.BuildMap(b.ctx, hashes, values)
}

// keys returns how many keys are in: the filters know, and groups without one are
// counted.
func (b *build) keys(classes []byte, counts []count) (n uint64, err error) {
	for _, f := range b.filters {
		n += f.Stats().Items
	}
	loose := uint64(0)
	for g, class := range classes {
		if class == byBit || class == allIn {
			loose += counts[g].in
		}
	}
	if b.Scratch != nil || loose == 0 {
		return n + loose, nil
	}
	hashes := make([]uint64, 0, loose) // in memory duplicates can be left out
	for g, h := range b.all(b.in, false) {
		if classes[g] == byBit || classes[g] == allIn {
			hashes = append(hashes, h)
		}
	}
	return n + uint64(len(shards.Dedupe(hashes))), context.Cause(b.ctx)
}
