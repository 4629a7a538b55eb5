package follow

// Filters of several parts, which are one copy to their users.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// maxParts is the largest number of parts of a filter.
const maxParts = 1 << 12

// parted is a view of parts, among which bloomery.Route chooses. Its encoding is that of a
// compose.Striped.
type parted struct {
	bits   uint
	hasher hashing.Hasher
	views  []bloomery.View
	data   []byte
	given  hashing.Hasher // what the parts were opened with
}

var _ bloomery.View = (*parted)(nil)

// join returns one encoding of all parts: the part itself, or stripes.
func join(parts [][]byte) ([]byte, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	return envelope.Stripes(parts)
}

// split undoes join.
func split(data []byte) ([][]byte, error) {
	if isDump(data) {
		return [][]byte{data}, nil
	}
	h, err := envelope.ParseHeader(data)
	if err != nil || h.Kind != envelope.KindStriped {
		return [][]byte{data}, err
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		return nil, err
	}
	n := int(h.Extra)
	if n < 1 || n > maxParts || bits.OnesCount(uint(n)) != 1 || len(sealed.Payload) < envelope.Lines(8*n) {
		return nil, fmt.Errorf("%w: %d stripes", bloomery.ErrCorrupt, n)
	}
	parts, rest := make([][]byte, n), sealed.Payload[envelope.Lines(8*n):]
	for i := range parts {
		size := binary.LittleEndian.Uint64(sealed.Payload[8*i:])
		if size > uint64(len(rest)) || envelope.Lines(int(size)) > len(rest) {
			return nil, fmt.Errorf("%w: stripe %d of %d bytes", bloomery.ErrCorrupt, i, size)
		}
		parts[i], rest = rest[:size:size], rest[envelope.Lines(int(size)):]
	}
	return parts, nil
}

// view returns a view of an encoding, of stripes too.
func view(c codec.Config, data []byte) (bloomery.View, error) {
	parts, err := split(data)
	if err != nil {
		return nil, err
	}
	if isDump(data) {
		return viewDump(c.Limits, data)
	}
	if len(parts) == 1 {
		return c.View(data)
	}
	v := &parted{bits: uint(bits.TrailingZeros(uint(len(parts)))), data: data, given: c.Hasher}
	for i, p := range parts {
		part, err := c.View(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		v.views = append(v.views, part)
	}
	owner, ok := v.views[0].(interface{ Hasher() hashing.Hasher })
	if !ok {
		return nil, fmt.Errorf("%w: a %T has no hasher", bloomery.ErrIncompatible, v.views[0])
	}
	v.hasher = owner.Hasher()
	return v, nil
}

func (v *parted) of(h uint64) bloomery.View { return v.views[bloomery.Route(h, v.bits)] }

func (v *parted) Hash(key []byte) uint64         { return v.hasher.Hash(key) }
func (v *parted) Contains(key []byte) bool       { return v.ContainsHash(v.Hash(key)) }
func (v *parted) ContainsString(s string) bool   { return v.ContainsHash(v.hasher.HashString(s)) }
func (v *parted) ContainsHash(h uint64) bool     { return v.of(h).ContainsHash(h) }
func (v *parted) String() string                 { return v.Stats().String() }
func (v *parted) MarshalBinary() ([]byte, error) { return bytes.Clone(v.data), nil }

func (v *parted) AppendBinary(b []byte) ([]byte, error) { return append(b, v.data...), nil }

func (v *parted) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	for i, h := range hs {
		dst[i] = v.ContainsHash(h)
	}
}

func (v *parted) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = v.Contains(key)
	}
}

func (v *parted) ContainsStrings(dst []bool, keys []string) {
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = v.ContainsString(key)
	}
}

// Stats describes all parts together: rates are means, as keys are spread evenly.
func (v *parted) Stats() bloomery.Stats {
	sum := v.views[0].Stats()
	n := float64(len(v.views))
	sum.Predicted, sum.Saturation = sum.Predicted/n, sum.Saturation/n
	for _, part := range v.views[1:] {
		s := part.Stats()
		sum.Items += s.Items
		sum.Capacity += s.Capacity
		sum.Bits += s.Bits
		sum.Bytes += s.Bytes
		sum.Predicted += s.Predicted / n
		sum.Saturation += s.Saturation / n
		sum.Exact = sum.Exact && s.Exact
	}
	return sum
}

func (v *parted) Verify() error {
	for i, part := range v.views {
		if err := part.Verify(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

// Clone returns a compose.Striped.
func (v *parted) Clone() (bloomery.Hashed, error) {
	return codec.Config{Hasher: v.given}.Open(v.data)
}

func (v *parted) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(v.data)
	return int64(n), err
}
