package ribbon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// BuildMap returns a Map from the keys with these hashes, which must be well
// mixed, to the values beside them, of valueBits bits each. Absent keys get a
// value with probability p; with p = 1 all do, and only values take space.
//
// It takes about 300 ns for each key and CPU, and beside its arguments 12 bytes
// for each key, and 36 for each that is in a shard under way. Errors wrap
// ErrParameter, as a *ConflictError does, or ErrTooLarge.
func BuildMap(hashes []uint64, values []uint32, valueBits int, p float64) (*Map, error) {
	return Config{ErrorRate: p, ValueBits: valueBits}.BuildMap(context.Background(), hashes, values)
}

// ConflictError says that a key has two different values, or that two keys have
// the same hash; build with another seed in that case. It wraps ErrParameter.
type ConflictError struct {
	Hash   uint64
	Values [2]uint32
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: the key with hash %016x has the values %d and %d", bloomery.ErrParameter, e.Hash, e.Values[0], e.Values[1])
}

// Unwrap returns ErrParameter.
func (e *ConflictError) Unwrap() error { return bloomery.ErrParameter }

// pair is a key of a map.
type pair struct {
	hash  uint64
	value uint32
}

// checkMap is check for maps.
func (c Config) checkMap() (plan, error) {
	if c.ValueBits < 1 || c.ValueBits > sizing.MaxRibbonColumns {
		return plan{}, fmt.Errorf("%w: values of %d bits, not of 1 to %d", bloomery.ErrParameter, c.ValueBits, sizing.MaxRibbonColumns)
	}
	none := c.ErrorRate == 1 // no fingerprint: RibbonSize knows no such rate
	rated := c
	if none {
		rated.ErrorRate = 0.5
	}
	p, err := rated.check()
	if err != nil {
		return p, err
	}
	if p.ErrorRate = c.ErrorRate; none {
		p.size.Columns, p.ErrorRate = 0, 0 // the header says that none was asked for
	}
	p.field = field{bits: c.ValueBits, prints: p.size.Columns}
	p.size.Columns += c.ValueBits
	columns := p.size.Columns
	if p.size.Share > 0 {
		columns++
	}
	if columns > sizing.MaxRibbonColumns {
		return p, fmt.Errorf("%w: values of %d bits at error rate %g take %d columns, there are %d",
			bloomery.ErrParameter, c.ValueBits, c.ErrorRate, columns, sizing.MaxRibbonColumns)
	}
	return p, nil
}

// BuildMap is the function BuildMap. When ctx is cancelled, it returns its error,
// at the latest when the shards that are under way are done.
func (c Config) BuildMap(ctx context.Context, hashes []uint64, values []uint32) (*Map, error) {
	m, err := c.buildMap(ctx, hashes, values)
	if err != nil {
		return nil, fmt.Errorf("ribbon: build map: %w", err)
	}
	return m, nil
}

func (c Config) buildMap(ctx context.Context, hashes []uint64, values []uint32) (*Map, error) {
	if c.Scratch != nil || c.Memory != 0 {
		return nil, fields.Only(c, "BuildMap", "ErrorRate", "ValueBits", "Largest", "Width", "Shards", "Hasher", "Alloc", "Workers", "Progress")
	}
	p, err := c.checkMap()
	if err != nil {
		return nil, err
	}
	if len(hashes) != len(values) {
		return nil, fmt.Errorf("%w: %d hashes and %d values", bloomery.ErrParameter, len(hashes), len(values))
	}
	n := uint64(len(hashes))
	bits := p.bits(n)
	if need, limit := 12*n+p.need(n>>bits), memory.Limit(); need > limit {
		return nil, fmt.Errorf("%w: the build takes %d bytes, there are %d bytes of memory", bloomery.ErrTooLarge, need, limit)
	}
	keys, beside, ends := partitionPairs(hashes, values, bits)
	made := shards.NewProgress(p.Progress)
	made.Read(n)
	all := make([]built, 1<<bits)
	workers := min(p.workers, len(all))
	fillings := make([]*filling, workers)
	err = shards.Each(ctx, len(all), workers, func(worker, i int) (err error) {
		if fillings[worker] == nil {
			fillings[worker] = newFilling(&p)
		}
		from, to := ends[i], ends[i+1]
		if all[i], err = fillings[worker].buildMap(keys[from:to], beside[from:to], p.Largest); err != nil {
			return err
		}
		all[i].words = slices.Clone(all[i].words)
		made.Built(uint64(to - from))
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := p.table(bits)
	if err := t.assemble(all, c.Alloc); err != nil {
		return nil, err
	}
	return &Map{mapping{t}}, nil
}

// partitionPairs is shards.Partition for hashes and their values.
func partitionPairs(hashes []uint64, values []uint32, b uint) (keys []uint64, beside []uint32, ends []int) {
	keys, beside, ends = memory.Words(len(hashes)), make([]uint32, len(hashes)), make([]int, 1<<b+1)
	for _, h := range hashes {
		ends[bloomery.Route(h, b)+1]++
	}
	for i := range 1 << b {
		ends[i+1] += ends[i]
	}
	at := slices.Clone(ends)
	for i, h := range hashes {
		part := bloomery.Route(h, b)
		keys[at[part]], beside[at[part]] = h, values[i]
		at[part]++
	}
	return keys, beside, ends
}

// buildMap is build for a map: the hashes have these values, and both are
// overwritten. Of several values of one hash the largest is taken, or they are
// an error.
func (f *filling) buildMap(hashes []uint64, values []uint32, largest bool) (built, error) {
	for i, v := range values {
		if v>>(f.field.bits-1)>>1 != 0 {
			return built{}, fmt.Errorf("%w: the key with hash %016x has the value %d, which has more than %d bits", bloomery.ErrParameter, hashes[i], v, f.field.bits)
		}
	}
	f.values = values
	f.sort(hashes)
	n := 0
	for i, h := range hashes {
		switch {
		case n == 0 || h != hashes[n-1]:
			hashes[n], values[n] = h, values[i]
			n++
		case values[i] == values[n-1]:
		case largest:
			values[n-1] = max(values[n-1], values[i])
		default:
			return built{}, &ConflictError{h, [2]uint32{min(values[n-1], values[i]), max(values[n-1], values[i])}}
		}
	}
	return f.buildOf(hashes[:n]), nil
}

// sort sorts hashes, and their values with them.
func (f *filling) sort(hashes []uint64) {
	if f.values == nil {
		shards.Sort(hashes)
		return
	}
	f.pairs = slices.Grow(f.pairs[:0], len(hashes))
	for i, h := range hashes {
		f.pairs = append(f.pairs, pair{h, f.values[i]})
	}
	slices.SortFunc(f.pairs, func(a, b pair) int { return cmp.Compare(a.hash, b.hash) })
	for i, p := range f.pairs {
		hashes[i], f.values[i] = p.hash, p.value
	}
}

// MapStream builds a Map from a stream of keys that may be larger than memory,
// and writes its encoding, as a Stream does for a Filter.
//
// Safe for one goroutine at a time.
type MapStream struct {
	ctx    context.Context // io.WriterTo has no room for it
	config Config
	pairs  iter.Seq2[uint64, uint32]
}

// StreamMap returns a MapStream of hashes and their values. What Config.Stream
// says of the stream and of ctx holds here, too.
func (c Config) StreamMap(ctx context.Context, pairs iter.Seq2[uint64, uint32]) *MapStream {
	return &MapStream{ctx, c, pairs}
}

// WriteTo builds the map and writes its encoding, which is that of
// Config.BuildMap with the same number of shards, see Stream.WriteTo. The scratch
// needs room for 16 bytes for each pair, duplicates included.
func (s *MapStream) WriteTo(w io.Writer) (int64, error) {
	n, err := s.writeTo(w)
	if err != nil {
		return n, fmt.Errorf("ribbon: stream map: %w", err)
	}
	return n, nil
}

func (s *MapStream) writeTo(w io.Writer) (int64, error) {
	err := fields.Only(s.config, "StreamMap", "ErrorRate", "ValueBits", "Largest", "Width", "Shards", "Hasher", "Workers", "Progress", "Scratch", "Memory")
	if err != nil {
		return 0, err
	}
	p, err := s.config.checkMap()
	if err != nil {
		return 0, err
	}
	if s.pairs == nil {
		return 0, errors.New("the sequence of pairs is nil")
	}
	if p.Memory, err = shards.Allowed(p.Scratch, p.Memory); err != nil {
		return 0, err
	}
	made := shards.NewProgress(p.Progress)
	spill := shards.NewSpill(p.Scratch, p.Memory/spillShare, p.bits(0))
	spill.KeepDuplicates = true
	if err := spill.AddPairs(s.ctx, s.pairs, made.Read); err != nil {
		return 0, err
	}
	return p.write(s.ctx, w, spill, made)
}
