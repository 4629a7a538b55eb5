package contents

// TOPK as contents.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// TopK is a TOPK as contents. It is one pointer: an interface holds it without an
// allocation.
type TopK struct{ *redisbloom.TopK }

var (
	_ Contents = TopK{}
	_ Detailed = TopK{}
)

// TopK returns the TOPK of a part, nil if it is of another kind. It belongs to the
// lock of p.
func (p *Part) TopK() *redisbloom.TopK {
	c, _ := p.contents.(TopK)
	return c.TopK
}

func (TopK) Kind() catalog.Kind { return catalog.TopK }

// Growth returns 0: what the items of a record may take is set aside by their
// length, which is not known here.
func (TopK) Growth(int) (most uint64, sure bool) { return 0, true }

func (t TopK) Freeze() (Frozen, error) { return t.TopK.Freeze() }

func (t TopK) Stats() bloomery.Stats {
	s := t.TopK.Stats()
	return bloomery.Stats{
		Kind: "topk", Capacity: uint64(t.K()), Items: uint64(s.Items), Exact: true,
		Bits: 8 * t.CellBytes(), Bytes: s.Bytes, Saturation: s.Saturation,
	}
}

// Details shows the parameters, and the count from which on an item is kept.
func (t TopK) Details() []Detail {
	return []Detail{
		{Name: "k", Whole: int64(t.K())},
		{Name: "width", Whole: int64(t.Width())},
		{Name: "depth", Whole: int64(t.Depth())},
		{Name: "decay", Decimal: t.Decay(), Is: IsDecimal},
		{Name: "least_count", Whole: int64(t.TopK.Stats().Least)},
	}
}

// ScanDump returns the cells as one chunk; the rest is in the header.
func (t TopK) ScanDump(iter int64) (next int64, chunk []byte) {
	return scanOne(t.Dump().Cells, iter)
}

func topKBytes(header []byte) (uint64, error) {
	p, err := redisbloom.ParseTopKHeader(header)
	if err != nil {
		return 0, err
	}
	return p.Bytes()
}

func newTopK(header []byte, m *memory.Arena) (Contents, error) {
	p, err := redisbloom.ParseTopKHeader(header)
	if err != nil {
		return nil, err
	}
	p.Memory = m
	t, err := redisbloom.NewTopK(p)
	return TopK{t}, err
}

func loadTopK(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewTopKLoader(first, size, m)
	return loader[*redisbloom.TopK]{l, func(v *redisbloom.TopK) (Contents, error) { return TopK{v}, nil }}, err
}
