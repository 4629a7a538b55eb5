package contents

// CMS as contents.

import (
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

// IsCountMin reports whether contents are a CMS.
func IsCountMin(c Contents) bool { return Is[countMin](c) }

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

func loadCountMin(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewCountMinLoader(first, size, m)
	return loader[*redisbloom.CountMin]{l, func(v *redisbloom.CountMin) (Contents, error) { return countMin{v, v.Depth()}, nil }}, err
}
