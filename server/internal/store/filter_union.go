package store

// Union of filters in use.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
)

// WholeUnion as the Position of OpFilterUnion means that Value is the encoding of a
// filter: for those of one small array.
const WholeUnion = -1

// Array returns the array of bits of a part whose union with another is the or of
// both arrays, nil if the part is of another kind or small. It belongs to the lock
// of p.
func (p *Part) Array() []byte {
	if c, ok := p.contents.(*filter); ok {
		return c.array()
	}
	return nil
}

func (c *filter) array() []byte {
	if c.own == nil || len(c.own.list) != 1 {
		return nil
	}
	switch c.f.(type) {
	case *bloomfilter.Filter, *bloomfilter.Standard, *bloomfilter.Partitioned, *bloomfilter.Split:
		return c.own.list[0]
	}
	return nil
}

// union adds the keys of a filter of the same shape, or of a piece of its array.
func (c *filter) union(r *Record, res *Result) {
	defer func() {
		if res.Changed {
			c.news.estimate(c.f, littleBytes)
		}
	}()
	if r.Position == WholeUnion {
		c.uniteWhole(r, res)
		return
	}
	array := c.array()
	if array == nil || r.Position < 0 || r.Position > int64(len(array)-len(r.Value)) {
		res.Err = fmt.Errorf("store: union: %w: %d bytes at %d of an array of %d", bloomery.ErrIncompatible, len(r.Value), r.Position, len(array))
		return
	}
	res.Changed = orBytes(array[r.Position:], r.Value)
	res.Done = len(r.Value)
}

// orBytes sets in dst all bits that are set in src and reports whether that
// changed it.
func orBytes(dst, src []byte) bool {
	news := uint64(0)
	le := binary.LittleEndian
	for ; len(src) >= 8; dst, src = dst[8:], src[8:] {
		a, b := le.Uint64(dst), le.Uint64(src)
		news |= b &^ a
		le.PutUint64(dst, a|b)
	}
	for i, b := range src {
		news |= uint64(b &^ dst[i])
		dst[i] |= b
	}
	return news != 0
}

// uniteWhole adds the keys of a filter that the record holds.
func (c *filter) uniteWhole(r *Record, res *Result) {
	h, ok := c.f.(hasherOwner)
	if !ok {
		res.Err = ErrType
		return
	}
	config := bloomfilter.Config{Hasher: h.Hasher()}
	switch f := c.f.(type) {
	case *bloomfilter.Filter:
		res.Err = unite(f.Union, config.Decode, r.Value)
	case *bloomfilter.Standard:
		res.Err = unite(f.Union, config.DecodeStandard, r.Value)
	case *bloomfilter.Partitioned:
		res.Err = unite(f.Union, config.DecodePartitioned, r.Value)
	case *bloomfilter.Split:
		res.Err = unite(f.Union, config.DecodeSplit, r.Value)
	default:
		res.Err = ErrType
	}
	res.Changed = res.Err == nil
}

func unite[F any](union func(F) error, decode func([]byte) (F, error), data []byte) error {
	o, err := decode(data)
	if err != nil {
		return err
	}
	return union(o)
}
