package redisbloom

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

const (
	countMinMagic       = "blmrCM"
	countMinHeaderBytes = 24
)

var (
	_ encoding.BinaryAppender    = (*CountMin)(nil)
	_ encoding.BinaryMarshaler   = (*CountMin)(nil)
	_ encoding.BinaryUnmarshaler = (*CountMin)(nil)
)

// CountMinDump is a CountMin as RedisBloom dumps it, field by field in the
// order of the dump.
type CountMinDump struct {
	Width, Depth uint64
	Count        uint64
	// Cells are the rows one after another, in little-endian order.
	Cells []byte
}

// Dump returns the sketch as RedisBloom dumps it. Cells aliases the sketch and
// is valid until it changes.
func (c *CountMin) Dump() CountMinDump {
	return CountMinDump{Width: c.columns.width, Depth: c.depth, Count: c.count, Cells: c.cells}
}

// Bytes returns how much memory New would allocate, or its error. It allocates
// nothing.
func (d CountMinDump) Bytes() (uint64, error) {
	total, err := CountMinParams{Width: d.Width, Depth: d.Depth}.Bytes()
	if err != nil {
		return 0, fmt.Errorf("redisbloom: load: %w: %w", bloomery.ErrCorrupt, err)
	}
	if uint64(len(d.Cells)) != total-countMinBytes {
		return 0, fmt.Errorf("redisbloom: load: %w: %d bytes for %d by %d counters", bloomery.ErrCorrupt, len(d.Cells), d.Width, d.Depth)
	}
	return total, nil
}

// New returns the sketch that was dumped. A nil m means the Go heap. The error
// wraps bloomery.ErrCorrupt or bloomery.ErrTooLarge, or is that of Alloc.
func (d CountMinDump) New(m *memory.Arena) (*CountMin, error) {
	if _, err := d.Bytes(); err != nil {
		return nil, err
	}
	c, err := NewCountMin(CountMinParams{Width: d.Width, Depth: d.Depth, Memory: m})
	if err != nil {
		return nil, err
	}
	c.count = d.Count
	copy(c.cells, d.Cells)
	return c, nil
}

// AppendHeader appends to dst what a dump holds besides the counters: width,
// depth and sum of all increments, each a uint64 in little-endian order.
func (c *CountMin) AppendHeader(dst []byte) []byte {
	return AppendCountMinHeader(dst, CountMinParams{Width: c.columns.width, Depth: c.depth}, c.count)
}

// AppendCountMinHeader appends the header of a sketch of these parameters and this sum
// of all increments.
func AppendCountMinHeader(dst []byte, p CountMinParams, count uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.Width)
	dst = binary.LittleEndian.AppendUint64(dst, p.Depth)
	return binary.LittleEndian.AppendUint64(dst, count)
}

// CountMinHeader returns a header that AppendHeader made, with another sum of all
// increments.
func CountMinHeader(header []byte, count uint64) []byte {
	h := append([]byte(nil), header...)
	binary.LittleEndian.PutUint64(h[16:], count)
	return h
}

// ParseCountMinHeader reads what AppendHeader wrote: the parameters of a sketch
// and the sum of all its increments. The error wraps bloomery.ErrCorrupt.
func ParseCountMinHeader(header []byte) (p CountMinParams, count uint64, err error) {
	if len(header) != countMinHeaderBytes {
		return p, 0, fmt.Errorf("redisbloom: load: %w: header of %d bytes", bloomery.ErrCorrupt, len(header))
	}
	le := binary.LittleEndian
	p.Width, p.Depth = le.Uint64(header), le.Uint64(header[8:])
	if _, err := p.Bytes(); err != nil {
		return p, 0, fmt.Errorf("redisbloom: load: %w: %w", bloomery.ErrCorrupt, err)
	}
	return p, le.Uint64(header[16:]), nil
}

// Load overwrites the counters from a byte of the dump on, and sets the sum of
// all increments. The error is ErrChunkLength, and then nothing has changed.
func (c *CountMin) Load(off uint64, cells []byte, count uint64) error {
	if off > uint64(len(c.cells)) || uint64(len(cells)) > uint64(len(c.cells))-off {
		return ErrChunkLength
	}
	if c.frozen != nil {
		c.frozen.save(0, c.cells, int(off), len(cells))
	}
	copy(c.cells[off:], cells)
	c.count = count
	return nil
}

// MarshalBinary returns the binary form of the sketch. The error wraps
// bloomery.ErrParameter for a zero CountMin; there is no other.
func (c *CountMin) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// AppendBinary appends the binary form of the sketch to dst. Its error is that
// of MarshalBinary. For a sketch too large to be copied under a lock see Freeze.
func (c *CountMin) AppendBinary(dst []byte) ([]byte, error) {
	if c.depth == 0 {
		return dst, errZero("marshal", "CountMin")
	}
	return appendBinary(dst, c.prefix(), c.Arrays()), nil
}

// UnmarshalBinary replaces the sketch by one in binary form, in the Arena that
// the sketch was made with. Its error is that of DecodeCountMin, and then
// nothing has changed.
func (c *CountMin) UnmarshalBinary(data []byte) error {
	n, err := DecodeCountMin(data, c.memory)
	if err != nil {
		return err
	}
	c.Release()
	*c = *n
	return nil
}

// DecodeCountMin returns a sketch in binary form. A nil m means the Go heap.
// The error wraps bloomery.ErrCorrupt, bloomery.ErrVersion or
// bloomery.ErrTooLarge, or is that of Alloc. It allocates no more than the
// sketch that data holds.
func DecodeCountMin(data []byte, m *memory.Arena) (*CountMin, error) {
	header, rest, err := openBinary(countMinMagic, data)
	if err != nil {
		return nil, err
	}
	c, err := newCountMinOf(header, uint64(len(rest)), m)
	if err != nil {
		return nil, err
	}
	copy(c.cells, rest)
	return c, nil
}

// NewCountMinLoader starts to load a sketch: see [Loader].
func NewCountMinLoader(first []byte, size int64, m *memory.Arena) (*Loader[*CountMin], error) {
	return newLoader(countMinMagic, first, size, func(header []byte, bytes uint64) (*CountMin, [][]byte, error) {
		c, err := newCountMinOf(header, bytes, m)
		if err != nil {
			return nil, nil, err
		}
		return c, slices.Collect(c.Arrays()), nil
	})
}

// Freeze begins a snapshot. The error is ErrFrozen if the last one was not
// closed, or wraps bloomery.ErrParameter for a zero CountMin.
func (c *CountMin) Freeze() (*Frozen, error) {
	if c.depth == 0 {
		return nil, errZero("freeze", "CountMin")
	}
	return freeze(&c.frozen, c.memory, c.prefix(), slices.Collect(c.Arrays()))
}

// prefix returns the binary form up to the cells.
func (c *CountMin) prefix() []byte {
	b := appendPrefix(make([]byte, 0, prefixBytes+countMinHeaderBytes), countMinMagic, countMinHeaderBytes)
	return c.AppendHeader(b)
}

// newCountMinOf returns the sketch of a header, with bytes of cells to come.
func newCountMinOf(header []byte, bytes uint64, m *memory.Arena) (*CountMin, error) {
	p, count, err := ParseCountMinHeader(header)
	if err != nil {
		return nil, err
	}
	if total, _ := p.Bytes(); total-countMinBytes != bytes {
		return nil, fmt.Errorf("redisbloom: load: %w: %d bytes for %d by %d counters", bloomery.ErrCorrupt, bytes, p.Width, p.Depth)
	}
	p.Memory = m
	c, err := NewCountMin(p)
	if err != nil {
		return nil, err
	}
	c.count = count
	return c, nil
}
