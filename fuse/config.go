package fuse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// Fingerprint is what a slot of the array holds. Its bits decide on the false
// positive rate: 0.39% for 8, 0.0015% for 16, 2.3e-10 for 32.
type Fingerprint interface {
	uint8 | uint16 | uint32
}

// Config describes a filter to build. Its zero value is ready to use.
//
// A field that a method does not use must be zero: the error wraps ErrParameter if
// it is set.
type Config[T Fingerprint] struct {
	_ struct{}

	// ErrorRate is the rate that Stats returns as Asked. It must not be below
	// the rate that T gives, which 0 stands for.
	ErrorRate float64
	// Arity is the number of slots of a key: 3, which 0 stands for, or 4, which
	// saves 4% of the memory and costs a fourth memory access.
	Arity int
	// Shards is the number of shards, a power of two up to 2^20. 0 stands for
	// one up to 134 million keys, then as many as keep shards below that. More
	// shards are built by more goroutines, but take a little more memory, and
	// lookups, which have to choose one, 1.3 times as long.
	Shards int
	// Hasher hashes the keys that the filter is asked for; the hashes that it
	// is built from must be its own. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the arrays: at least the given number of bytes,
	// all zero, starting at a multiple of 8, better of 64. Nil means the Go
	// heap, with huge pages on Linux from 4 MiB. It is called by one goroutine
	// at a time. The memory must stay as long as the filter is used;
	// UnmarshalBinary uses the Go heap, and a Stream has no arrays in memory.
	Alloc func(bytes int) ([]byte, error)

	// Workers is the number of goroutines that build shards; 0 stands for
	// GOMAXPROCS. The filter does not depend on it.
	Workers int
	// Progress, if not nil, is called now and then, by one goroutine at a
	// time, with the number of hashes that were read and of those that are in
	// finished shards. At the end they are equal.
	Progress func(read, built uint64)

	// Scratch is where a Stream keeps what does not fit into memory: the Scratch of
	// package codec/file, which leaves nothing behind, or an *os.File. It needs room
	// for 8 bytes for each hash, and for the filter. What was in it before is not
	// looked at, and what is in it afterwards means nothing.
	Scratch interface {
		io.ReaderAt
		io.WriterAt
	}
	// Memory is how many bytes the buffers of a Stream may take, at least
	// 1 MiB; 0 stands for 1 GiB.
	Memory int
}

// plan is a Config that was checked.
type plan[T Fingerprint] struct {
	Config[T]
	arity   int
	rate    float64
	workers int
}

// check returns the plan of a Config.
func (c Config[T]) check() (plan[T], error) {
	p := plan[T]{Config: c, arity: c.Arity, rate: c.ErrorRate, workers: c.Workers}
	least := sizing.Fuse{Width: width[T]()}.Rate()
	if c.Arity == 0 {
		p.arity = 3
	}
	if c.ErrorRate == 0 {
		p.rate = least
	}
	if c.Workers == 0 {
		p.workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case p.arity != 3 && p.arity != 4:
		return p, fmt.Errorf("%w: arity %d is neither 3 nor 4", bloomery.ErrParameter, c.Arity)
	case c.Shards < 0 || c.Shards&(c.Shards-1) != 0 || c.Shards > 1<<shards.MaxBits:
		return p, fmt.Errorf("%w: %d shards are not a power of two up to 2^%d", bloomery.ErrParameter, c.Shards, shards.MaxBits)
	case p.workers < 1:
		return p, fmt.Errorf("%w: %d workers", bloomery.ErrParameter, c.Workers)
	case !(p.rate > 0 && p.rate < 1):
		return p, fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	case p.rate < least:
		return p, tooLow(p.rate, width[T]())
	}
	return p, nil
}

// tooLow is the error for a rate that fingerprints are too narrow for. It
// names those that are not.
func tooLow(p float64, have int) error {
	need, err := sizing.FuseSize(0, p, 3)
	if err != nil {
		return errors.Unwrap(err)
	}
	return fmt.Errorf("%w: error rate %v is below the %.2g of %d-bit fingerprints: take %d bits",
		bloomery.ErrParameter, p, sizing.Fuse{Width: have}.Rate(), have, need.Width)
}

// bits returns the binary logarithm of the number of shards for n keys.
func (p *plan[T]) bits(n uint64) uint {
	if p.Shards > 0 {
		return uint(bits.TrailingZeros(uint(p.Shards)))
	}
	size, _ := sizing.FuseSize(n, p.rate, p.arity) // both were checked
	return size.Shards
}

// need returns the bytes that building a shard of n keys takes, its array and
// hashes included.
func (p *plan[T]) need(n uint64) uint64 {
	return sizing.FuseShardSize(n, p.arity).Slots()*uint64(8+4+width[T]()/8) + 2*8*n
}

// needAll returns the bytes that building all 2^b shards in memory takes, with
// so many of them under way at once: the hashes, a copy by shards if there are
// several, the arrays, and what the shards under way need beside.
func (p *plan[T]) needAll(n uint64, b uint, workers int) uint64 {
	each := n >> b
	need := p.need(each) * uint64(workers)
	if b > 0 {
		need += 2*8*n + sizing.FuseShardSize(each, p.arity).Slots()<<b*uint64(width[T]()/8)
	}
	return need
}

// Build returns a filter that holds the keys with these hashes, which must be
// well mixed; it may reorder them. Duplicates are allowed; they are looked
// for only when the build fails without that. The filter follows from the set of hashes: their order,
// duplicates among up to 134 million, and the number of CPUs make no
// difference.
//
// It takes 30 to 100 ns for each key, and 31 bytes beside the hashes. The
// error wraps ErrTooLarge or ErrParameter: hashes that nobody mixed can be such
// that no filter holds them.
func Build[T Fingerprint](hashes []uint64) (*Filter[T], error) {
	return Config[T]{}.Build(context.Background(), hashes)
}

// Build is the function Build. When ctx is cancelled, it returns its error, at
// the latest when the shards that are under way are done.
func (c Config[T]) Build(ctx context.Context, hashes []uint64) (*Filter[T], error) {
	var b Builder[T]
	return b.Build(ctx, c, hashes)
}

// Builder builds filters one after the other and keeps its buffers, about 24
// bytes for each key of the largest shard and goroutine. The filters have
// memory of their own. The zero value is ready.
//
// Safe for one goroutine at a time.
type Builder[T Fingerprint] struct {
	workers []*worker
	parts   []uint64 // hashes by shards
}

// Build is Config.Build with the buffers of b.
func (b *Builder[T]) Build(ctx context.Context, c Config[T], hashes []uint64) (*Filter[T], error) {
	f, err := b.build(ctx, c, hashes)
	if err != nil {
		return nil, fmt.Errorf("fuse: build: %w", err)
	}
	return f, nil
}

func (b *Builder[T]) build(ctx context.Context, c Config[T], hashes []uint64) (*Filter[T], error) {
	if c.Scratch != nil || c.Memory != 0 {
		return nil, fields.Only(c, "Build", "ErrorRate", "Arity", "Shards", "Hasher", "Alloc", "Workers", "Progress")
	}
	p, err := c.check()
	if err != nil {
		return nil, err
	}
	n := uint64(len(hashes))
	a := array[T]{hasher: p.Hasher, rate: p.rate, arity: p.arity, bits: p.bits(n)}
	workers := min(p.workers, 1<<a.bits) // more would have nothing to do
	if need, limit := p.needAll(n, a.bits, workers), memory.Limit(); need > limit {
		return nil, fmt.Errorf("%w: the build takes %d bytes, there are %d bytes of memory", bloomery.ErrTooLarge, need, limit)
	}
	ends := []int{0, len(hashes)}
	if a.bits > 0 {
		if cap(b.parts) < len(hashes) {
			b.parts = memory.Words(len(hashes))
		}
		ends = shards.Partition(b.parts[:len(hashes)], hashes, a.bits)
		hashes = b.parts[:len(hashes)]
	}
	b.grow(workers)
	made := shards.NewProgress(p.Progress)
	made.Read(n)
	a.shards = make([]shard[T], 1<<a.bits)
	var one sync.Mutex // Alloc is called by one worker at a time
	alloc := func(words int) ([]uint64, error) {
		if c.Alloc == nil {
			return memory.Words(words), nil
		}
		one.Lock()
		defer one.Unlock()
		return memory.Array(words, c.Alloc)
	}
	err = shards.Each(ctx, len(a.shards), workers, func(worker, i int) (err error) {
		part := hashes[ends[i]:ends[i+1]]
		a.shards[i], err = build[T](b.workers[worker], p.arity, part, alloc)
		made.Built(uint64(len(part)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Filter[T]{a.finished()}, nil
}

// grow makes sure that there are n workers.
func (b *Builder[T]) grow(n int) {
	for len(b.workers) < n {
		b.workers = append(b.workers, new(worker))
	}
}
