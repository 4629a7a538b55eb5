package ribbon

import (
	"context"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
)

// Build returns a filter with error rate p that holds the keys with these
// hashes, which must be well mixed, and which it leaves as they are. Duplicates
// are allowed. There is no set of hashes that it fails for.
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
	f, err := c.build(ctx, hashes)
	if err != nil {
		return nil, fmt.Errorf("ribbon: build: %w", err)
	}
	return f, nil
}

func (c Config) build(ctx context.Context, hashes []uint64) (*Filter, error) {
	p, err := c.check()
	if err != nil {
		return nil, err
	}
	n := uint64(len(hashes))
	b := p.bits(n)
	if need, limit := 8*n+p.need(n>>b), memory.Limit(); need > limit {
		return nil, fmt.Errorf("%w: the build takes %d bytes, there are %d bytes of memory", bloomery.ErrTooLarge, need, limit)
	}
	parts := memory.Words(len(hashes))
	ends := shards.Partition(parts, hashes, b)
	made := shards.NewProgress(p.Progress)
	made.Read(n)
	all := make([]built, 1<<b)
	workers := min(p.workers, len(all)) // more would have nothing to do
	fillings := make([]*filling, workers)
	err = shards.Each(ctx, len(all), workers, func(worker, i int) error {
		if fillings[worker] == nil {
			fillings[worker] = newFilling(&p)
		}
		part := parts[ends[i]:ends[i+1]]
		all[i] = fillings[worker].build(part)
		all[i].words = slices.Clone(all[i].words)
		made.Built(uint64(len(part)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := p.table(b)
	t.assemble(all)
	return &Filter{t}, nil
}

// assemble makes the table of its shards. They are copied into one array,
// which gets huge pages where a shard alone is too small for them.
func (t *table) assemble(all []built) {
	dir := directory(all)
	total := len(dir)
	for i := range all {
		total += len(all[i].words)
	}
	t.words = memory.Words(total)
	rest := t.words[copy(t.words, dir):]
	t.shards = make([]shard, len(all))
	for i := range all {
		n := copy(rest, all[i].words)
		all[i].words, rest = rest[:n:n], rest[n:]
		t.keys += uint64(all[i].keys)
		t.shards[i] = all[i].open(t.w, t.r)
	}
	t.weigh()
}
