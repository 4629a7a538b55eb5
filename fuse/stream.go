package fuse

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
)

// spillShare is the share of the memory that the buffers of the hashes take: a
// quarter. They are not given back before shards are built, since no one knows
// when they are collected.
const spillShare = 4

// Stream builds a filter from a stream of hashes that may be larger than
// memory, and writes its encoding. It is an io.WriterTo, as file.WriteFile of
// package codec/file takes it.
//
// Safe for one goroutine at a time.
type Stream[T Fingerprint] struct {
	ctx    context.Context // io.WriterTo has no room for it
	config Config[T]
	hashes iter.Seq[uint64]
}

// Stream returns a Stream of hashes, which may come twice. Nothing is done, or
// checked, before WriteTo. The stream is read once, by each WriteTo. One that
// ends because its source has failed must cancel ctx with the cause before it
// does (context.WithCancelCause): else what came is taken for the whole set.
func (c Config[T]) Stream(ctx context.Context, hashes iter.Seq[uint64]) *Stream[T] {
	return &Stream[T]{ctx, c, hashes}
}

// WriteTo builds the filter and writes its encoding, which is that of
// Config.Build with the same number of shards. If Config does not set it, that
// is what Build would take, or more, so that a shard can be built in the memory
// allowed. There can be 1,024 shards or Config.Shards, but no more than one for
// each 16 KiB of memory; a stream that takes more ends with ErrTooLarge.
//
// It reads the stream once and keeps it in the scratch; then shard by shard is
// built and kept there, too, until all are known. Duplicates are dropped on the
// way, most of them before they get to the scratch. The error wraps ErrParameter,
// ErrTooLarge (more memory is needed), ErrCorrupt (the scratch gave back other
// bytes than it got), or is that of the context, of the scratch or of w.
func (s *Stream[T]) WriteTo(w io.Writer) (int64, error) {
	n, err := s.writeTo(w)
	if err != nil {
		return n, fmt.Errorf("fuse: stream: %w", err)
	}
	return n, nil
}

func (s *Stream[T]) writeTo(w io.Writer) (int64, error) {
	err := fields.Only(s.config, "Stream", "ErrorRate", "Arity", "Shards", "Hasher", "Workers", "Progress", "Scratch", "Memory")
	if err != nil {
		return 0, err
	}
	p, err := s.config.check()
	if err != nil {
		return 0, err
	}
	if p.Memory, err = shards.Allowed(p.Scratch, p.Memory); err != nil {
		return 0, err
	}
	made := shards.NewProgress(p.Progress)
	spill := shards.NewSpill(p.Scratch, p.Memory/spillShare, p.bits(0))
	if err := spill.AddSeq(s.ctx, s.hashes, made.Read); err != nil {
		return 0, err
	}
	a, runs, err := p.buildAll(s.ctx, spill, made)
	if err != nil {
		return 0, err
	}
	return envelope.WriteSeq(w, a.header(), spill.Payload(a.directory(), runs))
}

// buildAll builds all shards of a spill and stores their arrays in the
// scratch. The array that it returns has none.
func (p *plan[T]) buildAll(ctx context.Context, spill *shards.Spill, made *shards.Progress) (array[T], [][]shards.Run, error) {
	a := array[T]{hasher: p.Hasher, rate: p.rate, arity: p.arity}
	b, longest, left, err := spill.Cut(ctx, shards.Demand{
		Bits: p.bits, Fixed: p.Shards > 0, Need: p.need, Memory: uint64(p.Memory - p.Memory/spillShare),
	})
	if err != nil {
		return a, nil, err
	}
	a.bits = b
	made.Built(spill.Dropped())
	workers := int(min(uint64(p.workers), 1<<a.bits, max(1, left/p.need(max(longest, 1)))))
	benches := make([]bench, workers)
	a.shards = make([]shard[T], 1<<a.bits)
	runs := make([][]shards.Run, 1<<a.bits)
	err = shards.Each(ctx, len(a.shards), workers, func(worker, i int) error {
		b := &benches[worker]
		if b.hashes == nil {
			slots := int(shapeFor(longest, p.arity, 0).Slots())
			b.reserve(slots, int(longest), slots*width[T]()/64)
		}
		hashes, err := spill.Load(b.hashes[:0], i, a.bits)
		if err != nil {
			return err
		}
		s, err := build[T](&b.worker, p.arity, hashes, b.zero)
		if err != nil {
			return err
		}
		runs[i], err = spill.Store(packed(s.table))
		s.table = nil
		a.shards[i] = s
		made.Built(uint64(len(hashes)))
		return err
	})
	if err != nil {
		return a, nil, err
	}
	return a.finished(), runs, nil
}

// bench is what a worker of a Stream keeps from shard to shard.
type bench struct {
	worker
	hashes []uint64
	table  []uint64
}

// reserve makes the buffers for a shard of n hashes: buffers that grow from
// shard to shard would leave others behind them.
func (b *bench) reserve(slots, n, tableWords int) {
	b.hashes = memory.Words(n)
	b.near = memory.Words(n)
	b.words = memory.Words(slots)
	b.order = words32(slots + spareOrder)
	b.table = memory.Words(tableWords)
}

// zero returns n zero words.
func (b *bench) zero(n int) ([]uint64, error) {
	if cap(b.table) < n {
		b.table = memory.Words(n)
		return b.table, nil
	}
	b.table = b.table[:n]
	clear(b.table)
	return b.table, nil
}
