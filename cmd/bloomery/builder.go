// How build and add turn lines into a filter.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/sizing"
)

// builder makes a filter of lines.
type builder struct {
	kind   codec.Kind
	rate   float64
	hasher hashing.Hasher
	hashes hashFunc
	in     *lines.Input
	steps  *steps // what the progress says, or nil
	key    lines.Key
	spool  *spool // nil if hashes need not wait
	memory int64  // for building a static filter
	// foldable makes a filter that fold makes smaller.
	foldable bool
	headroom int    // percent
	most     uint64 // keys that can come at most, for a filter that is sized in one pass; or 0
	once     bool   // the same, with the keys that fit into memory
	force    bool   // more keys than that may come

	lines     uint64 // read
	separated bool   // one of them has the delimiter of the key
	added     uint64 // keys that were new to the filter, or different ones
}

// build makes the filter for n keys, or for those that there are. It is written
// by what it returns; a filter that is too large for memory is nothing else.
func (b *builder) build(ctx context.Context, n uint64) (io.WriterTo, error) {
	if b.most > 0 {
		return written(b.unsized(ctx))
	}
	if b.spool == nil {
		return written(b.sized(ctx, n))
	}
	if b.once {
		if f, err := b.overflowing(ctx); err != nil || f != nil {
			return written(f, err)
		}
	} else if err := b.read(ctx, b.spool.add); err != nil {
		return nil, err
	}
	b.steps.step("sorting the hashes of %s", plural(b.lines, "line"))
	if err := b.spool.flush(ctx); err != nil {
		return nil, err
	}
	if b.kind.New == nil && b.spool.spill != nil {
		return b.streamed(ctx)
	}
	return written(b.spooled(ctx, n))
}

// written returns a filter as what writes it.
func written(f bloomery.Hashed, err error) (io.WriterTo, error) {
	if err != nil {
		return nil, err
	}
	w, ok := f.(io.WriterTo)
	if !ok {
		return nil, fmt.Errorf("a %s filter cannot be written to a file", f.Stats().Kind)
	}
	return w, nil
}

// sized makes a filter for n keys and adds all lines.
func (b *builder) sized(ctx context.Context, n uint64) (bloomery.Hashed, error) {
	f, err := b.create(n)
	if err != nil {
		return nil, err
	}
	add, err := adderOf(f)
	if err != nil {
		return nil, err
	}
	err = b.read(ctx, func(hs []uint64) error {
		changed, err := add(hs)
		b.added += changed
		return err
	})
	return f, full(err)
}

// create returns an empty filter for n keys and the headroom.
func (b *builder) create(n uint64) (bloomery.Hashed, error) {
	n, err := sizing.WithHeadroom(n, b.headroom)
	if err != nil {
		return nil, about("", err)
	}
	if n > 1<<62 || uint64(int(n)) != n {
		return nil, fmt.Errorf("%w: %d keys", bloomery.ErrTooLarge, n)
	}
	if b.foldable {
		return b.createFoldable(max(int(n), 1))
	}
	if b.kind.Features.Expire {
		return b.createWindow(max(int(n), 1))
	}
	f, err := b.kind.New(max(int(n), 1), b.rate, b.hasher)
	return f, about("", err)
}

// windowGenerations is how many generations a window has.
const windowGenerations = 6

// createWindow returns an empty window that keeps the rate with all n keys in one
// generation: lines have no time.
func (b *builder) createWindow(n int) (bloomery.Hashed, error) {
	f, err := compose.WindowConfig{
		Capacity: n, ErrorRate: b.rate, Hasher: b.hasher, Generations: windowGenerations, Burst: windowGenerations,
	}.New()
	if err != nil {
		return nil, about("", err)
	}
	return f, nil
}

var errFoldable = errors.New("--foldable is for the kinds bloom, standard and split")

// createFoldable returns an empty filter that fold makes smaller.
func (b *builder) createFoldable(n int) (f bloomery.Hashed, err error) {
	c := bloom.Config{Capacity: n, ErrorRate: b.rate, Hasher: b.hasher, Foldable: true}
	switch b.kind.Name {
	case "bloom":
		f, err = c.New()
	case "standard":
		f, err = c.NewStandard()
	case "split":
		f, err = c.NewSplit()
	default:
		err = errFoldable
	}
	if err != nil {
		return nil, about("", err)
	}
	return f, nil
}

// read hands on the hashes of all lines, in their order.
func (b *builder) read(ctx context.Context, take func(hs []uint64) error) error {
	return lines.Process(ctx, b.in, runtime.GOMAXPROCS(0), b.hash, func(_ *lines.Batch, h *hashed) error {
		b.lines += uint64(len(h.hashes))
		b.separated = b.separated || h.separated
		return take(h.hashes)
	})
}

// distinct hands on the hashes of all lines, each once.
func (b *builder) distinct(ctx context.Context, take func(hs []uint64) error) error {
	if err := b.read(ctx, b.spool.add); err != nil {
		return err
	}
	if err := b.spool.flush(ctx); err != nil {
		return err
	}
	if _, err := b.spool.sort(ctx); err != nil {
		return err
	}
	return b.spool.each(ctx, take)
}

// hash hashes a batch.
func (b *builder) hash(batch *lines.Batch, h *hashed) error {
	return h.of(batch, &b.key, b.hashes)
}

// hashed are the hashes of the keys of a batch.
type hashed struct {
	hashes    []uint64
	keys      lines.Keys
	separated bool // a record has the delimiter
}

// of hashes the keys of a batch.
func (h *hashed) of(b *lines.Batch, k *lines.Key, hashes hashFunc) error {
	h.hashes = slices.Grow(h.hashes[:0], len(b.Records))[:len(b.Records)]
	h.separated = k.Separates(b.Records)
	err := hashes(h.hashes, h.keys.Of(k, b))
	if wrong, ok := errors.AsType[*notDigest](err); ok {
		return fmt.Errorf("%s: %w", b.Where(wrong.record), err)
	}
	return err
}

// asSet reports whether lines that come again must be dropped before they get
// to a kind: it would take them for another occurrence, each with its room.
func asSet(k codec.Kind, multiset bool) bool {
	return k.Features.Insert && !k.Features.Forget && !multiset
}

// spooled makes the filter of what was spooled, for n keys, or if that is 0 for
// as many as there are.
func (b *builder) spooled(ctx context.Context, n uint64) (bloomery.Hashed, error) {
	distinct, err := b.spool.sort(ctx)
	if err != nil {
		return nil, err
	}
	b.added = distinct
	if b.spool.repeat {
		b.added = b.lines
	}
	if b.kind.New == nil {
		return b.static(ctx, distinct)
	}
	b.steps.step("adding %s", plural(b.added, "key"))
	if n > 0 {
		return b.fill(ctx, n)
	}
	f, err := b.fill(ctx, distinct)
	if errors.Is(err, bloomery.ErrFull) && b.spool.repeat && distinct < b.lines {
		return b.fill(ctx, b.lines) // a kind where every occurrence takes its room
	}
	return f, err
}

// fill makes a filter for n keys of what was spooled.
func (b *builder) fill(ctx context.Context, n uint64) (bloomery.Hashed, error) {
	f, err := b.create(n)
	if err != nil {
		return nil, err
	}
	add, err := adderOf(f)
	if err != nil {
		return nil, err
	}
	return f, full(b.spool.each(ctx, func(hs []uint64) error {
		_, err := add(hs)
		return err
	}))
}

// adderOf returns the function that puts hashes into a filter and returns how
// many of them were new to it; all, if the filter does not report that.
func adderOf(f bloomery.Hashed) (func(hs []uint64) (uint64, error), error) {
	switch f := f.(type) {
	case bloomery.Adder:
		var changed []bool
		return func(hs []uint64) (n uint64, _ error) {
			changed = slices.Grow(changed[:0], len(hs))[:len(hs)]
			f.AddHashes(changed, hs)
			for _, c := range changed {
				if c {
					n++
				}
			}
			return n, nil
		}, nil
	case bloomery.Inserter:
		return func(hs []uint64) (uint64, error) {
			for i, h := range hs {
				if err := f.InsertHash(h); err != nil {
					return uint64(i), err
				}
			}
			return uint64(len(hs)), nil
		}, nil
	}
	return nil, fmt.Errorf("%s filter never changes: build it again from all keys", aKind(f.Stats().Kind))
}

// full adds what to do about a filter that has no more room.
func full(err error) error {
	if !errors.Is(err, bloomery.ErrFull) {
		return err
	}
	return hinted{about("", err), "build it from all keys with a larger -n, or without -n: then they are counted"}
}

// fullOfOne is full for lines that are inserted as often as they come.
func fullOfOne(err error, multiset bool) error {
	if h, ok := errors.AsType[hinted](err); ok && multiset && errors.Is(err, bloomery.ErrFull) {
		return hinted{h.error, "each occurrence of a line takes room: leave --multiset out, or take a kind that counts further"}
	}
	return err
}
