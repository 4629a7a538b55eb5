package ribbon

import (
	"context"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// Build returns a filter with false positive rate p that holds the keys with
// these hashes, which must be well mixed, and which it leaves as they are.
// Duplicates are allowed. There is no set of hashes that it fails for.
//
// It takes about 200 ns for each key and CPU, and beside the hashes 8 bytes for
// each key, and 12 for each that is in a shard under way. Errors wrap
// ErrParameter (p is not between 2^-32 and 1) or ErrTooLarge.
func Build(hashes []uint64, p float64) (*Filter, error) {
	return Config{ErrorRate: p}.Build(context.Background(), hashes)
}

// Build is the function Build. When ctx is cancelled, it returns its error, at
// the latest when the shards that are under way are done.
func (c Config) Build(ctx context.Context, hashes []uint64) (*Filter, error) {
	var b Builder
	return b.Build(ctx, c, hashes)
}

// Builder builds filters one after the other and keeps its buffers, 8 bytes for
// each key and some 12 for each of the largest shard and goroutine. The filters
// have memory of their own. The zero value is ready.
//
// Safe for one goroutine at a time.
type Builder struct {
	parts    []uint64 // hashes by shards
	size     sizing.Ribbon
	fillings []*filling // for that size
}

// Build is Config.Build with the buffers of b.
func (b *Builder) Build(ctx context.Context, c Config, hashes []uint64) (*Filter, error) {
	f, err := b.build(ctx, c, hashes)
	if err != nil {
		return nil, fmt.Errorf("ribbon: build: %w", err)
	}
	return f, nil
}

func (b *Builder) build(ctx context.Context, c Config, hashes []uint64) (*Filter, error) {
	if c.Scratch != nil || c.Memory != 0 || c.ValueBits != 0 || c.Largest {
		return nil, fields.Only(c, "Build", "ErrorRate", "Width", "Shards", "Hasher", "Alloc", "Workers", "Progress")
	}
	p, err := c.check()
	if err != nil {
		return nil, err
	}
	n := uint64(len(hashes))
	bits := p.bits(n)
	if need, limit := 8*n+p.need(n>>bits), memory.Limit(); need > limit {
		return nil, fmt.Errorf("%w: the build takes %d bytes, there are %d bytes of memory", bloomery.ErrTooLarge, need, limit)
	}
	if cap(b.parts) < len(hashes) {
		b.parts = memory.Words(len(hashes))
	}
	parts := b.parts[:len(hashes)]
	ends := shards.Partition(parts, hashes, bits)
	made := shards.NewProgress(p.Progress)
	made.Read(n)
	all := make([]built, 1<<bits)
	workers := min(p.workers, len(all)) // more would have nothing to do
	b.grow(workers, &p)
	err = shards.Each(ctx, len(all), workers, func(worker, i int) error {
		part := parts[ends[i]:ends[i+1]]
		all[i] = b.fillings[worker].build(part)
		all[i].words = slices.Clone(all[i].words)
		made.Built(uint64(len(part)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := p.table(bits)
	if err := t.assemble(all, c.Alloc); err != nil {
		return nil, err
	}
	return &Filter{t}, nil
}

// grow makes sure that there are n fillings for the plan.
func (b *Builder) grow(n int, p *plan) {
	if b.size != p.size {
		b.size, b.fillings = p.size, nil
	}
	for len(b.fillings) < n {
		b.fillings = append(b.fillings, newFilling(p))
	}
}

// assemble makes the table of its shards. They are copied into one array,
// which gets huge pages where a shard alone is too small for them.
func (f *table) assemble(all []built, alloc memory.Alloc) (err error) {
	dir := directory(all)
	total := len(dir)
	for i := range all {
		total += len(all[i].words)
	}
	if f.words, err = memory.Array(total, alloc); err != nil {
		return err
	}
	rest := f.words[copy(f.words, dir):]
	f.shards = make([]shard, len(all))
	for i := range all {
		n := copy(rest, all[i].words)
		all[i].words, rest = rest[:n:n], rest[n:]
		f.keys += uint64(all[i].keys)
		f.shards[i] = all[i].open(f)
	}
	f.weigh()
	return nil
}
