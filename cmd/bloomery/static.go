package main

import (
	"context"
	"fmt"
	"io"
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

// static builds a filter that never changes.
func (b *builder) static(ctx context.Context, n uint64) (bloomery.Hashed, error) {
	hashes := make([]uint64, 0, n)
	err := b.spool.each(ctx, func(hs []uint64) error {
		hashes = append(hashes, hs...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f, err := b.kind.Build(hashes, b.rate, b.hasher)
	return f, about("", err)
}

// streamed returns what builds a static filter of more hashes than fit into
// memory and writes it.
func (b *builder) streamed(ctx context.Context) (io.WriterTo, error) {
	s := &stream{b: b}
	switch b.kind.Name {
	case "fuse8":
		s.with = fuseStream[uint8](ctx, s)
	case "fuse16":
		s.with = fuseStream[uint16](ctx, s)
	case "fuse32":
		s.with = fuseStream[uint32](ctx, s)
	case "ribbon":
		s.with = func(scratch *file.Scratch, memory int) io.WriterTo {
			return ribbon.Config{ErrorRate: b.rate, Hasher: b.hasher, Scratch: scratch, Memory: memory}.Stream(ctx, b.spool.all(&s.failed))
		}
	default:
		return nil, hinted{
			fmt.Errorf("%w: %d lines, and --max-memory for fewer", bloomery.ErrTooLarge, b.lines),
			"give more with --max-memory",
		}
	}
	return s, nil
}

func fuseStream[T fuse.Fingerprint](ctx context.Context, s *stream) func(*file.Scratch, int) io.WriterTo {
	return func(scratch *file.Scratch, memory int) io.WriterTo {
		c := fuse.Config[T]{ErrorRate: s.b.rate, Hasher: s.b.hasher, Scratch: scratch, Memory: memory}
		return c.Stream(ctx, s.b.spool.all(&s.failed))
	}
}

// fuseFor returns the name of the smallest fuse filter with an error rate, for
// who asks for fuse without saying how wide.
func fuseFor(rate float64) (string, error) {
	width, err := sizing.FuseWidth(rate)
	return fmt.Sprint("fuse", width), about("", err)
}

// stream is a static filter on its way from one temporary file through another
// to its place.
type stream struct {
	b      *builder
	with   func(scratch *file.Scratch, memory int) io.WriterTo
	failed error // of the reading of what was spooled
}

// leastMemory is what a stream needs in any case.
const leastMemory = 1 << 20

// WriteTo implements io.WriterTo.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	scratch, err := file.NewScratch(s.b.spool.folder)
	if err != nil {
		return 0, err
	}
	defer scratch.Close() //nolint:errcheck // it is of no use any more
	memory := int(min(max(s.b.memory, leastMemory), math.MaxInt))
	n, err := s.with(scratch, memory).WriteTo(w)
	if s.failed != nil {
		err = s.failed
	}
	return n, err
}
