package ribbon

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
type Stream struct {
	ctx    context.Context // io.WriterTo has no room for it
	config Config
	hashes iter.Seq[uint64]
}

// Stream returns a Stream of hashes, which may come twice. Nothing is done, or
// checked, before WriteTo. The stream is read once, by each WriteTo. One that
// ends because its source has failed must cancel ctx with the cause before it
// does (context.WithCancelCause): else what came is taken for the whole set.
func (c Config) Stream(ctx context.Context, hashes iter.Seq[uint64]) *Stream {
	return &Stream{ctx, c, hashes}
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
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	n, err := s.writeTo(w)
	if err != nil {
		return n, fmt.Errorf("ribbon: stream: %w", err)
	}
	return n, nil
}

func (s *Stream) writeTo(w io.Writer) (int64, error) {
	err := fields.Only(s.config, "Stream", "ErrorRate", "Width", "Shards", "Hasher", "Workers", "Progress", "Scratch", "Memory")
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
	t, runs, err := p.buildAll(s.ctx, spill, made)
	if err != nil {
		return 0, err
	}
	return envelope.WriteSeq(w, t.header(), spill.Payload(t.words, runs))
}

// buildAll builds all shards of a spill and stores them in the scratch. The
// table that it returns has a directory and no shards.
func (p *plan) buildAll(ctx context.Context, spill *shards.Spill, made *shards.Progress) (table, [][]shards.Run, error) {
	b, longest, left, err := spill.Cut(ctx, shards.Demand{
		Bits: p.bits, Fixed: p.Shards > 0, Need: p.need, Memory: uint64(p.Memory - p.Memory/spillShare),
	})
	if err != nil {
		return table{}, nil, err
	}
	made.Built(spill.Dropped())
	workers := int(min(uint64(p.workers), 1<<b, max(1, left/p.need(longest))))
	fillings := make([]*filling, workers)
	hashes := make([][]uint64, workers)
	all := make([]built, 1<<b)
	runs := make([][]shards.Run, 1<<b)
	err = shards.Each(ctx, len(all), workers, func(worker, i int) error {
		if fillings[worker] == nil {
			fillings[worker] = newFilling(p)
			fillings[worker].reserve(int(longest), p.size)
			hashes[worker] = memory.Words(int(longest))
		}
		part, err := spill.Load(hashes[worker][:0], i, b)
		if err != nil {
			return err
		}
		all[i] = fillings[worker].build(part)
		runs[i], err = spill.Store(all[i].words)
		made.Built(uint64(len(part)))
		return err
	})
	if err != nil {
		return table{}, nil, err
	}
	t := p.table(b)
	t.words = directory(all)
	for i := range all {
		t.keys += uint64(all[i].keys)
		t.stored += uint64(len(all[i].words))
	}
	return t, runs, nil
}
