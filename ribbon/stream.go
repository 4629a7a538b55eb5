package ribbon

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

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
	return p.write(s.ctx, w, spill, made)
}

// write builds what a spill holds and writes the encoding.
func (p *plan) write(ctx context.Context, w io.Writer, spill *shards.Spill, made *shards.Progress) (int64, error) {
	t, runs, err := p.buildAll(ctx, spill, made)
	if err != nil {
		return 0, err
	}
	return envelope.WriteSeq(w, t.header(), spill.Payload(t.words, runs))
}

// buildAll builds all shards of a spill and stores them in the scratch. The
// table that it returns has a directory and no shards.
func (p *plan) buildAll(ctx context.Context, spill *shards.Spill, made *shards.Progress) (table, [][]shards.Run, error) {
	each := uint64(p.field.listWords()) // words of a key in the spill
	b, longest, left, err := spill.Cut(ctx, shards.Demand{
		Bits:  func(n uint64) uint { return p.bits(n / each) },
		Need:  func(n uint64) uint64 { return p.need(n / each) },
		Fixed: p.Shards > 0, Each: each, Memory: uint64(p.Memory - p.Memory/spillShare),
	})
	if err != nil {
		return table{}, nil, err
	}
	made.Built(spill.Dropped())
	workers := int(min(uint64(p.workers), 1<<b, max(1, left/p.need(longest/each))))
	fillings := make([]*filling, workers)
	hashes := make([][]uint64, workers)
	all := make([]built, 1<<b)
	runs := make([][]shards.Run, 1<<b)
	err = shards.Each(ctx, len(all), workers, func(worker, i int) error {
		if fillings[worker] == nil {
			fillings[worker] = newFilling(p)
			fillings[worker].reserve(int(longest/each), p.size)
			hashes[worker] = memory.Words(int(longest))
		}
		part, err := spill.Load(hashes[worker][:0], i, b)
		if err != nil {
			return err
		}
		if all[i], err = fillings[worker].buildSpilled(part, p.Largest); err != nil {
			return err
		}
		runs[i], err = spill.Store(all[i].words)
		made.Built(uint64(len(part)) / each)
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

// buildSpilled makes a shard of the words that a spill gave back: hashes, and in a
// map the value of each behind it. They are overwritten.
func (f *filling) buildSpilled(words []uint64, largest bool) (built, error) {
	if f.field.bits == 0 {
		return f.build(words), nil
	}
	n := len(words) / 2
	values := slices.Grow(f.spilled[:0], n)[:n]
	for i := range values {
		words[i], values[i] = words[2*i], uint32(words[2*i+1])
	}
	f.spilled = values
	return f.buildMap(words[:n], values, largest)
}
