package fuse

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
)

// Scratch is a place for what does not fit into memory: an *os.File, or the
// Scratch of package codec/file, which leaves nothing behind. What was in it
// before is not looked at, and what is in it afterwards means nothing. It needs
// room for 8 bytes for each hash, and for the filter.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
}

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
// Config.Build with the same number of shards. If Config does not say it, that
// is what Build would take, or more, so that a shard can be built in the memory
// allowed.
//
// It reads the stream once and keeps it in the scratch; then shard by shard is
// built and kept there, too, until all are known. The error wraps ErrParameter,
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
	p, err := s.config.check()
	if err != nil {
		return 0, err
	}
	if p.Memory, err = shards.Allowed(p.Scratch, p.Memory); err != nil {
		return 0, err
	}
	made := shards.NewProgress(p.Progress)
	spill := shards.NewSpill(p.Scratch, p.Memory/4)
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
	longest, err := p.cut(&a, spill)
	if err != nil {
		return a, nil, err
	}
	workers := int(min(uint64(p.workers), 1<<a.bits, max(1, uint64(p.Memory)/p.need(max(longest, 1)))))
	benches := make([]bench, workers)
	a.shards = make([]shard[T], 1<<a.bits)
	runs := make([][]shards.Run, 1<<a.bits)
	err = shards.Each(ctx, len(a.shards), workers, func(worker, i int) error {
		b := &benches[worker]
		if b.hashes == nil {
			b.hashes = memory.Words(int(longest))
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

// cut chooses the number of shards: that of a build in memory, or more, until
// the longest fits. It returns the keys in the longest.
func (p *plan[T]) cut(a *array[T], spill *shards.Spill) (longest uint64, err error) {
	a.bits = p.bits(spill.Total())
	if a.bits > spill.Bits() {
		return 0, fmt.Errorf("%w: with %d bytes of memory a stream is cut into 2^%d shards at most, not 2^%d",
			bloomery.ErrTooLarge, p.Memory, spill.Bits(), a.bits)
	}
	for {
		longest = spill.MaxLen(a.bits)
		need := p.need(longest)
		// Two at a time, better: the number of shards must not depend on that
		// of the workers.
		last := p.Shards > 0 || a.bits == spill.Bits()
		if 2*need <= uint64(p.Memory) || last && need <= uint64(p.Memory) {
			return longest, nil
		}
		if last {
			return 0, fmt.Errorf("%w: a shard of %d keys takes %d bytes to build, of %d allowed",
				bloomery.ErrTooLarge, longest, need, p.Memory)
		}
		a.bits++
	}
}

// bench is what a worker of a Stream keeps from shard to shard.
type bench struct {
	worker
	hashes []uint64
	table  []uint64
}

// zero returns n zero words.
func (b *bench) zero(n int) []uint64 {
	if cap(b.table) < n {
		b.table = memory.Words(n)
		return b.table
	}
	b.table = b.table[:n]
	clear(b.table)
	return b.table
}
