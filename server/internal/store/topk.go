package store

// TOPK as contents of a part.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// MaxItem bounds an item of a TOPK: its records hold the items.
const MaxItem = redisbloom.MaxItem

// topK is a TOPK as contents. It is one pointer: an interface holds it without an
// allocation.
type topK struct{ *redisbloom.TopK }

var (
	_ Contents = topK{}
	_ Detailed = topK{}
)

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
	return scanOne(t.Dump().Cells, iter)
}

// TopKIncr adds to the counts of items: see AppendCounted.
type TopKIncr struct{ Items []byte }

func (*TopKIncr) op() Op                            { return OpTopKIncr }
func (o *TopKIncr) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Items) }

// AppendCounted appends an item to the Items of TopKIncr, and how much to add to
// its count.
func AppendCounted(b []byte, n uint32, item []byte) []byte {
	b = binary.AppendUvarint(b, uint64(n))
	return wire.AppendBytes(b, item)
}

// change changes nothing if the record cannot be read.
func (o *TopKIncr) change(_ *State, p *Part, _ *Record, res *Result) (grown int64) {
	t := p.contents.(topK)
	before := t.Bytes()
	res.Expelled = res.Expelled[:0]
	for pass := range 2 {
		d := wire.Reader{Rest: o.Items}
		for len(d.Rest) > 0 {
			n, item := d.Uvarint(), d.Bytes()
			if d.Bad || n > redisbloom.MaxIncrement {
				res.Err = errPayload(o)
				return 0
			}
			if pass == 1 {
				expelled, _, _ := t.Incr(item, int64(n))
				res.Expelled = append(res.Expelled, expelled)
				res.Changed = true
			}
		}
	}
	res.Done = len(res.Expelled)
	return int64(t.Bytes()) - int64(before)
}

// TopKChunk stores a piece of a dump: cells, or behind them slots, with the number of
// the first in front.
type TopKChunk struct {
	Position int64 // of the byte behind the piece, plus one
	Data     []byte
}

func (*TopKChunk) op() Op { return OpTopKChunk }
func (o *TopKChunk) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Data).varint(&o.Position)
}

func (o *TopKChunk) change(_ *State, p *Part, _ *Record, res *Result) (grown int64) {
	t := p.contents.(topK)
	before, start := t.Bytes(), o.Position-int64(len(o.Data))-1
	switch {
	case start < 0 || uint64(start) >= t.CellBytes() && len(o.Data) < 4:
		res.Err = redisbloom.ErrChunkPosition
	case uint64(start) < t.CellBytes():
		res.Err = t.Load(uint64(start), o.Data)
	default:
		res.Err = t.LoadSlots(binary.LittleEndian.Uint32(o.Data), o.Data[4:])
	}
	res.Changed = res.Err == nil
	return int64(t.Bytes()) - int64(before)
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

// topKLoader is a Loader of a TOPK.
type topKLoader struct {
	*redisbloom.Loader[*redisbloom.TopK]
}

func loadTopK(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewTopKLoader(first, size, m)
	return topKLoader{l}, err
}

func (l topKLoader) Done() (Contents, error) {
	t, err := l.Loader.Done()
	return topK{t}, err
}
