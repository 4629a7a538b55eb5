package redisbloom

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/bloomery/bloomery/internal/memory"
)

const (
	chunkBytes       = 16 << 20 // the longest chunk of a dump
	bloomHeaderBytes = 20
	layerHeaderBytes = 53
)

// BloomHeader is a decoded and checked header of a dump: what a filter will be.
type BloomHeader struct {
	items   uint64
	options uint32
	growth  uint32
	data    uint64 // bytes of all layers
	layers  []layerHeader
}

type layerHeader struct {
	shape
	size uint64
}

// ParseBloomHeader decodes and checks the header that BF.SCANDUMP gives first.
// It allocates less than twice the length of data, whatever the header claims.
// The error is ErrHeaderLength, ErrHeader or ErrTooLarge.
//
// Headers of very old versions are taken too: layers of a power of two of bits,
// and 32-bit hashes. Layers that such a filter grows later are sized like new
// ones.
func ParseBloomHeader(data []byte) (BloomHeader, error) {
	if len(data) < bloomHeaderBytes {
		return BloomHeader{}, ErrHeaderLength
	}
	le := binary.LittleEndian
	h := BloomHeader{items: le.Uint64(data), options: le.Uint32(data[12:]), growth: le.Uint32(data[16:])}
	n := uint64(le.Uint32(data[8:]))
	if uint64(len(data)) != bloomHeaderBytes+n*layerHeaderBytes {
		return BloomHeader{}, ErrHeaderLength
	}
	if n == 0 || h.options&^optKnown != 0 {
		return BloomHeader{}, ErrHeader
	}
	h.layers = make([]layerHeader, n)
	var items uint64
	for i := range h.layers {
		l, err := parseLayer(data[bloomHeaderBytes+i*layerHeaderBytes:])
		if err != nil {
			return BloomHeader{}, err
		}
		if h.data += l.bytes; h.data > maxBytes {
			return BloomHeader{}, ErrTooLarge
		}
		items += l.size
		h.layers[i] = l
	}
	if items != h.items {
		return BloomHeader{}, ErrHeader
	}
	return h, nil
}

func parseLayer(p []byte) (layerHeader, error) {
	le := binary.LittleEndian
	l := layerHeader{
		shape: shape{
			bytes:    le.Uint64(p),
			err:      math.Float64frombits(le.Uint64(p[24:])),
			bpe:      math.Float64frombits(le.Uint64(p[32:])),
			hashes:   le.Uint32(p[40:]),
			capacity: le.Uint64(p[44:]),
			n2:       p[52],
		},
		size: le.Uint64(p[16:]),
	}
	nbits := le.Uint64(p[8:])
	switch {
	case l.bytes == 0, nbits/8 != l.bytes, nbits%8 != 0:
		return l, ErrHeader
	case !(l.err > 0 && l.err < 1), !(l.bpe > 0):
		return l, ErrHeader
	case l.hashes > maxHashes, float64(l.hashes) != math.Ceil(hashesPer*l.bpe):
		return l, ErrHeader
	case l.n2 > 63, l.n2 > 0 && 1<<l.n2 > nbits:
		return l, ErrHeader
	case l.bytes > maxBytes:
		return l, ErrTooLarge
	}
	return l, nil
}

// Bytes returns how much memory New would allocate.
func (h BloomHeader) Bytes() uint64 {
	n := bloomBytes + h.data
	if older := len(h.layers) - 1; older > 0 {
		n += olderBytes + uint64(older)*layerBytes
	}
	return n
}

// Layers yields the layers that the header describes, and those that the filter gets if
// n items are added that are all new.
func (h BloomHeader) Layers(n int) iter.Seq[Layer] {
	return func(yield func(Layer) bool) {
		for i := range h.layers {
			if !yield(h.layers[i].describe()) {
				return
			}
		}
		if last := len(h.layers) - 1; last >= 0 {
			b := Bloom{options: h.options, growth: h.growth, newest: h.layers[last].layer(nil)}
			b.newest.size = h.layers[last].size
			b.Grown(n)(yield)
		}
	}
}

// New returns the filter that the header describes, with all bits clear: they
// come with the chunks that follow. A nil m means the Go heap. The error wraps
// bloomery.ErrTooLarge or is that of Alloc; what was allocated until then is
// freed.
func (h BloomHeader) New(m *memory.Arena) (*Bloom, error) {
	b := &Bloom{items: h.items, options: h.options, growth: h.growth, memory: m}
	if last := len(h.layers) - 1; last > 0 {
		older := make([]layer, last)
		b.older = &older
	}
	for i, lh := range h.layers {
		data, err := m.Bytes(lh.bytes, h.Bytes())
		if err != nil {
			drop(m, nil, b.Arrays())
			return nil, fmt.Errorf("redisbloom: load: %w", err)
		}
		l := b.layer(i)
		*l = lh.layer(data)
		l.size = lh.size
	}
	return b, nil
}

// AppendHeader appends the header of a dump to dst.
func (b *Bloom) AppendHeader(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, b.items)
	dst = le.AppendUint32(dst, uint32(b.Layers()))
	dst = le.AppendUint32(dst, b.options)
	dst = le.AppendUint32(dst, b.growth)
	for i := range b.Layers() {
		l := b.layer(i)
		dst = le.AppendUint64(dst, uint64(len(l.data)))
		dst = le.AppendUint64(dst, uint64(len(l.data))*8)
		dst = le.AppendUint64(dst, l.size)
		dst = le.AppendUint64(dst, math.Float64bits(l.err))
		dst = le.AppendUint64(dst, math.Float64bits(l.bpe))
		dst = le.AppendUint32(dst, l.hashes)
		dst = le.AppendUint64(dst, l.capacity)
		dst = append(dst, l.n2)
	}
	return dst
}

// ScanDump returns one step of a dump as BF.SCANDUMP does: the header for 0,
// then chunks of at most 16 MiB, each with the iter that continues it. At the
// end, and for an iter that is none, next is 0 and data is empty. Chunks alias
// the filter: they are valid until it changes.
func (b *Bloom) ScanDump(iter int64) (next int64, data []byte) {
	if iter < 0 || b.zero() {
		return 0, nil
	}
	if iter == 0 {
		return 1, b.AppendHeader(nil)
	}
	off := uint64(iter - 1)
	for layer := range b.Arrays() {
		n := uint64(len(layer))
		if off < n {
			data = layer[off:min(n, off+chunkBytes)]
			return iter + int64(len(data)), data
		}
		off -= n
	}
	return 0, nil
}

// LoadChunk stores a chunk of a dump under the iter that came with it, as
// BF.LOADCHUNK does for a key that exists. The error is ErrChunkPosition,
// ErrChunkOffset or ErrChunkLength, and then nothing has changed.
func (b *Bloom) LoadChunk(iter int64, data []byte) error {
	if iter <= 0 || iter < int64(len(data)) {
		return ErrChunkPosition
	}
	off := iter - int64(len(data)) - 1
	if off < 0 {
		return ErrChunkOffset
	}
	return b.loadAt(uint64(off), data)
}

// loadAt stores data at offset off of the layers laid end to end.
func (b *Bloom) loadAt(off uint64, data []byte) error {
	for i := range b.Layers() {
		l := b.layer(i)
		n := uint64(len(l.data))
		if off >= n {
			off -= n
			continue
		}
		if uint64(len(data)) > n-off {
			return ErrChunkLength
		}
		if b.frozen != nil {
			b.frozen.save(i, l.data, int(off), len(data))
		}
		copy(l.data[off:], data)
		return nil
	}
	return ErrChunkOffset
}
