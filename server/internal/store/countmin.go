package store

// Records of CMSs.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// CountMinIncr adds to the counts of items: see AppendIncrement.
type CountMinIncr struct{ Items []byte }

func (*CountMinIncr) op() Op                            { return OpCountMinIncr }
func (o *CountMinIncr) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Items) }

func (o *CountMinIncr) append(b []byte, r *Record) []byte {
	return wire.AppendBytes(appendTarget(b, r), o.Items)
}

// AppendIncrement appends an item to the Items of CountMinIncr: how much to add,
// and the item's hashes for a sketch of that depth.
func AppendIncrement(b []byte, n uint64, item []byte, depth uint64) []byte {
	return redisbloom.AppendCountMinHashes(binary.AppendUvarint(b, n), item, depth)
}

// change changes nothing if the record is not for a sketch of this depth.
func (o *CountMinIncr) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	c := p.CountMin()
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

func (o *CountMinChunk) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	c := p.CountMin()
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
