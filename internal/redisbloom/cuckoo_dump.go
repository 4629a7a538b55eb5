package redisbloom

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery/internal/memory"
)

const cuckooHeaderBytes = 38

// CuckooHeader is a decoded and checked header of a dump: what a filter will
// be.
type CuckooHeader struct {
	items     uint64
	buckets   uint64
	deletes   uint64
	filters   uint64
	bytes     uint64 // memory of the filter
	bucket    uint16
	maxKicks  uint16
	expansion uint16
}

// ParseCuckooHeader decodes and checks the header that CF.SCANDUMP gives first.
// It allocates nothing. The error is ErrHeaderLength, ErrHeader or ErrTooLarge.
func ParseCuckooHeader(data []byte) (CuckooHeader, error) {
	if len(data) != cuckooHeaderBytes {
		return CuckooHeader{}, ErrHeaderLength
	}
	le := binary.LittleEndian
	h := CuckooHeader{
		items:     le.Uint64(data),
		buckets:   le.Uint64(data[8:]),
		deletes:   le.Uint64(data[16:]),
		filters:   le.Uint64(data[24:]),
		bucket:    le.Uint16(data[32:]),
		maxKicks:  le.Uint16(data[34:]),
		expansion: le.Uint16(data[36:]),
	}
	if bits.OnesCount64(h.buckets) != 1 || h.filters == 0 || h.bucket == 0 || h.bucket > maxBucket || h.maxKicks == 0 {
		return CuckooHeader{}, ErrHeader
	}
	if h.expansion == 0 && h.filters > 1 {
		return CuckooHeader{}, ErrHeader // it could not have grown
	}
	if !h.measure() {
		return CuckooHeader{}, ErrTooLarge
	}
	return h, nil
}

// measure sets h.bytes. It reports false if the filter is larger than this
// package allows.
func (h *CuckooHeader) measure() bool {
	if h.filters > maxFilters {
		return false
	}
	h.bytes = overhead(h.filters)
	n := h.buckets
	for i := range h.filters {
		if i > 0 {
			var ok bool
			if n, ok = power(n, uint64(h.expansion), 1); !ok {
				return false
			}
		}
		hi, lo := bits.Mul64(n, uint64(h.bucket))
		if hi != 0 || lo > maxBytes || h.bytes > maxBytes-lo {
			return false
		}
		h.bytes += lo
	}
	return true
}

// Bytes returns how much memory New would allocate.
func (h CuckooHeader) Bytes() uint64 { return h.bytes }

// CuckooShape is what the work on a cuckoo filter depends on.
type CuckooShape struct {
	Filters                              uint64
	Items                                uint64
	Slots, Newest                        uint64 // of all sub-filters, and of the newest
	BucketSize, MaxIterations, Expansion uint16
}

// Shape returns the shape of the filter that the header describes.
func (h CuckooHeader) Shape() CuckooShape {
	n, _ := power(h.buckets, uint64(h.expansion), max(h.filters, 1)-1)
	return CuckooShape{h.filters, h.items, h.slots(), n * uint64(h.bucket), h.bucket, h.maxKicks, h.expansion}
}

// Shape returns the shape of a new filter of these parameters, the zero value if there
// is none.
func (p CuckooParams) Shape() CuckooShape {
	h, err := p.header()
	if err != nil {
		return CuckooShape{}
	}
	return h.Shape()
}

// Shape returns the shape of the filter.
func (c *Cuckoo) Shape() CuckooShape {
	s := CuckooShape{
		Filters: uint64(len(c.subs)), Items: c.items, Slots: c.slots,
		BucketSize: c.bucket, MaxIterations: c.maxKicks, Expansion: c.expansion,
	}
	if len(c.subs) > 0 {
		s.Newest = uint64(len(c.subs[len(c.subs)-1].data))
	}
	return s
}

// slots returns the number of slots of all sub-filters.
func (h CuckooHeader) slots() uint64 { return h.bytes - overhead(h.filters) }

// New returns the filter that the header describes, with all slots empty: they
// come with the chunks that follow. A nil m means the Go heap. The error wraps
// bloomery.ErrTooLarge or is that of Alloc; what was allocated until then is
// freed.
func (h CuckooHeader) New(m *memory.Arena) (*Cuckoo, error) {
	c, err := h.make(m)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: load: %w", err)
	}
	return c, nil
}

func (h CuckooHeader) make(m *memory.Arena) (*Cuckoo, error) {
	if err := memory.Fits(overhead(h.filters)); err != nil {
		return nil, err
	}
	c := &Cuckoo{
		items:     h.items,
		deletes:   h.deletes,
		buckets:   h.buckets,
		subs:      make([]sub, h.filters),
		memory:    m,
		bucket:    h.bucket,
		maxKicks:  h.maxKicks,
		expansion: h.expansion,
	}
	if h.filters >= fullFrom {
		c.full = new(fullTable)
	}
	n := h.buckets
	for i := range c.subs {
		if i > 0 {
			n *= uint64(h.expansion)
		}
		data, err := m.Bytes(n*uint64(h.bucket), h.bytes)
		if err != nil {
			drop(m, nil, c.Arrays())
			return nil, err
		}
		c.subs[i] = sub{data, n}
		c.slots += uint64(len(data))
	}
	return c, nil
}

// AppendHeader appends the header of a dump to dst.
func (c *Cuckoo) AppendHeader(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, c.items)
	dst = le.AppendUint64(dst, c.buckets)
	dst = le.AppendUint64(dst, c.deletes)
	dst = le.AppendUint64(dst, uint64(len(c.subs)))
	dst = le.AppendUint16(dst, c.bucket)
	dst = le.AppendUint16(dst, c.maxKicks)
	return le.AppendUint16(dst, c.expansion)
}

// ScanDump returns one step of a dump as CF.SCANDUMP does: the header for 0,
// then chunks, each with the iter that continues it. A sub-filter of at most
// 16 MiB comes whole, wherever iter points inside it; a larger one in chunks of
// 16 MiB. At the end, past it and for the header of a filter without items next
// is 0 and data is nil. A negative iter is ErrChunkPosition. Chunks alias the
// filter: they are valid until it changes.
func (c *Cuckoo) ScanDump(iter int64) (next int64, data []byte, err error) {
	if iter < 0 {
		return 0, nil, ErrChunkPosition
	}
	if iter == 0 && c.items == 0 {
		return 0, nil, nil
	}
	if iter == 0 {
		return 1, c.AppendHeader(nil), nil
	}
	k, off := c.find(uint64(iter - 1))
	if k < 0 {
		return 0, nil, nil
	}
	data = c.subs[k].data
	if len(data) > chunkBytes {
		data = data[off:]
		data = data[:min(len(data), chunkBytes)]
	}
	return iter + int64(len(data)), data, nil
}

// find returns the sub-filter at offset off of the sub-filters laid end to end,
// and the offset inside it. Past the end k is -1.
func (c *Cuckoo) find(off uint64) (k int, at uint64) {
	if off >= c.slots {
		return -1, 0
	}
	if c.expansion == 1 { // all of one size, and there may be many
		n := uint64(len(c.subs[0].data))
		return int(off / n), off % n
	}
	for k := range c.subs {
		n := uint64(len(c.subs[k].data))
		if off < n {
			return k, off
		}
		off -= n
	}
	return -1, 0
}

// LoadChunk stores a chunk of a dump under the iter that came with it, as
// CF.LOADCHUNK does. The error is ErrChunkPosition, ErrChunkOffset or
// ErrChunkLength, and then nothing has changed; RedisBloom words them all alike.
func (c *Cuckoo) LoadChunk(iter int64, data []byte) error {
	if len(data) == 0 || iter <= int64(len(data)) {
		return ErrChunkPosition
	}
	return c.loadAt(uint64(iter-int64(len(data))-1), data)
}

// loadAt stores data at offset off of the sub-filters laid end to end.
func (c *Cuckoo) loadAt(off uint64, data []byte) error {
	k, at := c.find(off)
	if k < 0 {
		return ErrChunkOffset
	}
	if uint64(len(data)) > uint64(len(c.subs[k].data))-at {
		return ErrChunkLength
	}
	if c.frozen != nil {
		c.frozen.save(k, c.subs[k].data, int(at), len(data))
	}
	copy(c.subs[k].data[at:], data)
	c.full.clear()
	c.sweep = nil
	return nil
}
