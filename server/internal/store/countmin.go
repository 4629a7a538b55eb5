package store

// CMS as contents of a part.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// MaxDepth bounds the rows of a CMS: a record holds a hash for each of them.
const MaxDepth = 1 << 16

// countMin is a CMS as contents.
type countMin struct {
	*redisbloom.CountMin
	depth uint64 // also of a sketch that is gone
}

var (
	_ Contents = countMin{}
	_ Detailed = countMin{}
)

// CountMin returns the CMS of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) CountMin() *redisbloom.CountMin {
	c, _ := p.contents.(countMin)
	return c.CountMin
}

// Depth returns the rows of the CMS of a part. It never changes and needs no lock.
func (p *Part) Depth() uint64 {
	c, _ := p.contents.(countMin)
	return c.depth
}

// Rows returns how many rows of a sketch hash an item. It takes the lock of p.
func (p *Part) Rows() int {
	p.RLock()
	defer p.RUnlock()
	switch c := p.contents.(type) {
	case countMin:
		return int(c.depth)
	case topK:
		return int(c.Depth())
	}
	return 1
}

func (countMin) Kind() catalog.Kind { return catalog.CountMin }

// Growth returns 0: all counters are there from the beginning.
func (countMin) Growth(int) (most uint64, sure bool) { return 0, true }

func (c countMin) Freeze() (Frozen, error) { return c.CountMin.Freeze() }

func (c countMin) Stats() bloomery.Stats {
	return bloomery.Stats{
		Kind: "cms", Items: c.Total(), Exact: true, Bits: 32 * c.Width() * c.Depth(), Bytes: c.Bytes(),
	}
}

// Details says what bounds the counts: one is too high by more than error_bound
// times count with at most this probability.
func (c countMin) Details() []Detail {
	s := c.CountMin.Stats()
	return []Detail{
		{Name: "width", Whole: int64(c.Width())},
		{Name: "depth", Whole: int64(c.Depth())},
		{Name: "count", Whole: int64(c.Total())},
		{Name: "error_bound", Decimal: s.Rate, Is: IsDecimal},
		{Name: "error_probability", Decimal: s.Probability, Is: IsDecimal},
	}
}

// ScanDump returns the counters as one chunk.
func (c countMin) ScanDump(iter int64) (next int64, chunk []byte) {
	return scanOne(c.Dump().Cells, iter)
}

// scanOne is ScanDump of contents with one array.
func scanOne(array []byte, iter int64) (next int64, chunk []byte) {
	if iter < 1 || iter > int64(len(array)) {
		return 0, nil
	}
	return int64(len(array)) + 1, array[iter-1:]
}

// CountMinIncr adds to the counts of items: see AppendIncrement.
type CountMinIncr struct{ Items []byte }

func (*CountMinIncr) op() Op                            { return OpCountMinIncr }
func (o *CountMinIncr) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Items) }

// AppendIncrement appends an item to the Items of CountMinIncr: how much to add,
// and the item's hashes for a sketch of that depth.
func AppendIncrement(b []byte, n uint64, item []byte, depth uint64) []byte {
	return redisbloom.AppendCountMinHashes(binary.AppendUvarint(b, n), item, depth)
}

// change changes nothing if the record is not for a sketch of this depth.
func (o *CountMinIncr) change(_ *State, p *Part, _ *Record, res *Result) int64 {
	c := p.contents.(countMin)
	size := c.HashBytes()
	res.Counts = res.Counts[:0]
	for pass := range 2 {
		for rest := o.Items; len(rest) > 0; rest = rest[size:] {
			n, used := binary.Uvarint(rest)
			if used <= 0 || len(rest)-used < size {
				res.Err = errPayload(o)
				return 0
			}
			rest = rest[used:]
			if pass == 1 {
				res.Counts = append(res.Counts, c.IncrHashes(rest[:size], n))
				res.Changed = res.Changed || n > 0
			}
		}
	}
	res.Done = len(res.Counts)
	return 0
}

func errPayload(b Body) error {
	return fmt.Errorf("store: apply: %w: value of operation %d", bloomery.ErrCorrupt, b.op())
}

// CountMinChunk overwrites counters.
type CountMinChunk struct {
	Position int64 // of the byte behind them, plus one
	Cells    []byte
	Total    uint64 // the new sum of all counts plus one, 0 if it stays as it is
}

func (*CountMinChunk) op() Op { return OpCountMinChunk }
func (o *CountMinChunk) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Cells).varint(&o.Position).uvarint(&o.Total)
}

func (o *CountMinChunk) change(_ *State, p *Part, _ *Record, res *Result) int64 {
	c := p.contents.(countMin)
	count := c.Total()
	if o.Total > 0 {
		count = o.Total - 1
	}
	start := o.Position - int64(len(o.Cells)) - 1
	if start < 0 {
		res.Err = redisbloom.ErrChunkPosition
		return 0
	}
	res.Err = c.Load(uint64(start), o.Cells, count)
	res.Changed = res.Err == nil
	return 0
}

func countMinBytes(header []byte) (uint64, error) {
	p, _, err := redisbloom.ParseCountMinHeader(header)
	if err != nil {
		return 0, err
	}
	if p.Depth > MaxDepth {
		return 0, fmt.Errorf("store: create: %w: %d rows", bloomery.ErrTooLarge, p.Depth)
	}
	return p.Bytes()
}

func newCountMin(header []byte, m *memory.Arena) (Contents, error) {
	if _, err := countMinBytes(header); err != nil {
		return nil, err
	}
	p, count, _ := redisbloom.ParseCountMinHeader(header)
	p.Memory = m
	c, err := redisbloom.NewCountMin(p)
	if err != nil {
		return nil, err
	}
	return countMin{c, p.Depth}, c.Load(0, nil, count)
}

// countMinLoader is a Loader of a CMS.
type countMinLoader struct {
	*redisbloom.Loader[*redisbloom.CountMin]
}

func loadCountMin(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewCountMinLoader(first, size, m)
	return countMinLoader{l}, err
}

func (l countMinLoader) Done() (Contents, error) {
	c, err := l.Loader.Done()
	if err != nil {
		return nil, err
	}
	return countMin{c, c.Depth()}, nil
}
