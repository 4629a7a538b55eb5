package contents

// Union of filters in use.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
)

// WholeUnion as the offset of Union means that the data is the encoding of a
// filter: for those of one small array.
const WholeUnion = -1

// Array returns the array of bits of a part whose union with another is the or of
// both arrays, nil if the part is of another kind or small. It belongs to the lock
// of p.
func (p *Part) Array() []byte {
	if c, ok := p.contents.(*Filter); ok && c.own != nil && c.own.bytes >= keepFrom {
		return c.array()
	}
	return nil
}

func (c *Filter) array() []byte {
	if c.own == nil || len(c.own.list) != 1 {
		return nil
	}
	switch c.f.(type) {
	case *bloomfilter.Filter, *bloomfilter.Standard, *bloomfilter.Partitioned, *bloomfilter.Split:
		return c.own.list[0]
	}
	return nil
}

// Union adds the keys of a filter of the same shape, or of a piece of its array, which begins at
// an offset.
func (c *Filter) Union(offset int64, data []byte, res *Outcome) {
	if c.sourced() {
		res.Err = ErrSourced
		return
	}
	defer func() {
		if res.Changed {
			c.news.estimate(c.f, littleBytes)
		}
	}()
	if offset == WholeUnion {
		c.own.detach()
		c.uniteWhole(data, res)
		for _, f := range c.aside.coming() {
			f.uniteWhole(data, &Outcome{})
		}
		return
	}
	array := c.array()
	if array == nil || offset < 0 || offset > int64(len(array)-len(data)) {
		res.Err = fmt.Errorf("store: union: %w: %d bytes at %d of an array of %d", bloomery.ErrIncompatible, len(data), offset, len(array))
		return
	}
	c.own.beforeWords(int(offset)/8, (int(offset)+len(data)+7)/8)
	res.Changed = orBytes(array[offset:], data)
	for _, f := range c.aside.coming() {
		orBytes(f.array()[offset:], data)
	}
	res.Done = len(data)
}

// orBytes sets in dst all bits that are set in src and reports whether that changed it. Four words at a time take half as
// long as one.
func orBytes(dst, src []byte) bool {
	news := uint64(0)
	le := binary.LittleEndian
	for ; len(src) >= 32 && len(dst) >= 32; dst, src = dst[32:], src[32:] {
		a0, a1, a2, a3 := le.Uint64(dst), le.Uint64(dst[8:]), le.Uint64(dst[16:]), le.Uint64(dst[24:])
		b0, b1, b2, b3 := le.Uint64(src), le.Uint64(src[8:]), le.Uint64(src[16:]), le.Uint64(src[24:])
		news |= b0&^a0 | b1&^a1 | b2&^a2 | b3&^a3
		le.PutUint64(dst, a0|b0)
		le.PutUint64(dst[8:], a1|b1)
		le.PutUint64(dst[16:], a2|b2)
		le.PutUint64(dst[24:], a3|b3)
	}
	for i, b := range src {
		news |= uint64(b &^ dst[i])
		dst[i] |= b
	}
	return news != 0
}

// uniteWhole adds the keys of a filter that the record holds.
func (c *Filter) uniteWhole(data []byte, res *Outcome) {
	h, ok := c.f.(hasherOwner)
	if !ok {
		res.Err = ErrType
		return
	}
	config := bloomfilter.Config{Hasher: h.Hasher()}
	switch f := c.f.(type) {
	case *bloomfilter.Filter:
		res.Err = unite(f.Union, config.Decode, data)
	case *bloomfilter.Standard:
		res.Err = unite(f.Union, config.DecodeStandard, data)
	case *bloomfilter.Partitioned:
		res.Err = unite(f.Union, config.DecodePartitioned, data)
	case *bloomfilter.Split:
		res.Err = unite(f.Union, config.DecodeSplit, data)
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
