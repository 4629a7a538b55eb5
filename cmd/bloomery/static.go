// Static kinds, which are built from all keys at once.

package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/sizing"
)

// staticShare is the part of --max-memory that hashes of a static kind may
// take: building needs the rest.
const staticShare = 4

// The part of --max-memory that a stream may take: the program itself needs the rest.
const streamShare, streamOf = 5, 8

// static builds a filter that never changes.
func (b *builder) static(ctx context.Context, n uint64) (bloomery.Hashed, error) {
	b.steps.step("building the filter of %s", plural(n, "key"))
	hashes := make([]uint64, 0, n)
	err := b.spool.each(ctx, func(hs []uint64) error {
		hashes = append(hashes, hs...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f, err := abandon(ctx, func() (bloomery.Hashed, error) { return b.kind.Build(hashes, b.rate, b.hasher) })
	return f, about("", err)
}

// streamed returns what builds a static filter of more hashes than fit into
// memory and writes it.
func (b *builder) streamed(ctx context.Context) (io.WriterTo, error) {
	s := &stream{ctx: ctx, b: b}
	switch b.kind.Name {
	case "fuse8":
		s.with = fuseStream[uint8](b)
	case "fuse16":
		s.with = fuseStream[uint16](b)
	case "fuse32":
		s.with = fuseStream[uint32](b)
	case "ribbon":
		s.with = func(ctx context.Context, hashes iter.Seq[uint64], scratch *file.Scratch, memory int) io.WriterTo {
			return ribbon.Config{ErrorRate: b.rate, Hasher: b.hasher, Scratch: scratch, Memory: memory}.Stream(ctx, hashes)
		}
	default:
		return nil, hinted{
			fmt.Errorf("%w: %d lines, and --max-memory for fewer", bloomery.ErrTooLarge, b.lines),
			"give more with --max-memory",
		}
	}
	return s, nil
}

// streamer returns what builds a filter from hashes and writes it.
type streamer func(ctx context.Context, hashes iter.Seq[uint64], scratch *file.Scratch, memory int) io.WriterTo

func fuseStream[T fuse.Fingerprint](b *builder) streamer {
	return func(ctx context.Context, hashes iter.Seq[uint64], scratch *file.Scratch, memory int) io.WriterTo {
		return fuse.Config[T]{ErrorRate: b.rate, Hasher: b.hasher, Scratch: scratch, Memory: memory}.Stream(ctx, hashes)
	}
}

// fuseFor returns the name of the smallest fuse filter with a false positive rate, for
// who asks for fuse without saying how wide.
func fuseFor(rate float64) (string, error) {
	size, err := sizing.FuseSize(0, rate, 3)
	return fmt.Sprint("fuse", size.Width), about("", err)
}

// stream is a static filter on its way from one temporary file through another
// to its place.
type stream struct {
	ctx  context.Context // io.WriterTo has no room for it
	b    *builder
	with streamer
}

// leastMemory is what a stream needs in any case.
const leastMemory = 1 << 20

// WriteTo implements io.WriterTo.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	s.b.steps.step("building and writing the filter of %s", plural(s.b.lines, "line"))
	scratch, err := file.NewScratch(s.b.spool.folder)
	if err != nil {
		return 0, err
	}
	defer scratch.Close() //nolint:errcheck // it is of no use any more
	memory := int(min(max(s.b.memory/streamOf*streamShare, leastMemory), math.MaxInt))
	ctx, fail := context.WithCancelCause(s.ctx) // when what was spooled cannot be read
	defer fail(nil)
	return s.with(ctx, s.b.spool.all(fail), scratch, memory).WriteTo(w)
}
