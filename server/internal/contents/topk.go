package contents

// TOPK as contents.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// topK is a TOPK as contents. It is one pointer: an interface holds it without an
// allocation.
type topK struct{ *redisbloom.TopK }

var (
	_ Contents = topK{}
	_ Detailed = topK{}
)

// IsTopK reports whether contents are a TOPK.
func IsTopK(c Contents) bool { return Is[topK](c) }

// TopK returns the TOPK of a part, nil if it is of another kind. It belongs to the
// lock of p.
func (p *Part) TopK() *redisbloom.TopK {
	c, _ := p.contents.(topK)
	return c.TopK
}

func (topK) Kind() catalog.Kind { return catalog.TopK }

// Growth returns 0: what the items of a record may take is set aside by their
// length, which is not known here.
func (topK) Growth(int) (most uint64, sure bool) { return 0, true }

func (t topK) Freeze() (Frozen, error) { return t.TopK.Freeze() }

func (t topK) Stats() bloomery.Stats {
	s := t.TopK.Stats()
	return bloomery.Stats{
		Kind: "topk", Capacity: uint64(t.K()), Items: uint64(s.Items), Exact: true,
		Bits: 8 * t.CellBytes(), Bytes: s.Bytes, Saturation: s.Saturation,
	}
}

// Details shows the parameters, and the count from which on an item is kept.
func (t topK) Details() []Detail {
	return []Detail{
		{Name: "k", Whole: int64(t.K())},
		{Name: "width", Whole: int64(t.Width())},
		{Name: "depth", Whole: int64(t.Depth())},
		{Name: "decay", Decimal: t.Decay(), Is: IsDecimal},
		{Name: "least_count", Whole: int64(t.TopK.Stats().Least)},
	}
}

// ScanDump returns the cells as one chunk; the rest is in the header.
func (t topK) ScanDump(iter int64) (next int64, chunk []byte) {
	return scanOne(t.Cells(), iter)
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
	return topK{t}, err
}

func loadTopK(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewTopKLoader(first, size, m)
	return loader[*redisbloom.TopK]{l, func(v *redisbloom.TopK) (Contents, error) { return topK{v}, nil }}, err
}
