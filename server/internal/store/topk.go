package store

// Records of TOPKs.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// MaxItem bounds an item of a TOPK: its records hold the items.
const MaxItem = redisbloom.MaxItem

// TopKIncr adds to the counts of items: see AppendCounted.
type TopKIncr struct{ Items []byte }

func (*TopKIncr) op() Op                            { return OpTopKIncr }
func (o *TopKIncr) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Items) }

func (o *TopKIncr) append(b []byte, r *Record) []byte {
	return wire.AppendBytes(appendTarget(b, r), o.Items)
}

// AppendCounted appends an item to the Items of TopKIncr, and how much to add to
// its count.
func AppendCounted(b []byte, n uint32, item []byte) []byte {
	b = binary.AppendUvarint(b, uint64(n))
	return wire.AppendBytes(b, item)
}

// change changes nothing if the record cannot be read.
func (o *TopKIncr) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	t := p.TopK()
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

func (o *TopKChunk) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	t := p.TopK()
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
