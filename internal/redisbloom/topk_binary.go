package redisbloom

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// The binary form of a TopK:
//
//	header   k u32 · width u32 · depth u32 · 0 u32 · decay f64 · state of the
//	         generator u64 · bytes of the slots u64
//	slots    fingerprint u32 · count u32 · length + 1 u64, 0 for no name · item
//	cells    fingerprint u32 · count u32
const (
	topKMagic       = "blmrTK"
	topKHeaderBytes = 40
	slotHeaderBytes = 16
	cellsArray      = 1  // the number of the cells among the arrays of a snapshot
	dumpSlotBytes   = 24 // of a slot in RedisBloom's dump
)

var (
	_ encoding.BinaryAppender    = (*TopK)(nil)
	_ encoding.BinaryMarshaler   = (*TopK)(nil)
	_ encoding.BinaryUnmarshaler = (*TopK)(nil)
)

// TopKDump is a TopK as RedisBloom dumps it, field by field in the order of the
// dump.
type TopKDump struct {
	K, Width, Depth uint64
	Decay           float64
	// Cells are the rows one after another, each cell a fingerprint and a
	// count of 32 bits in little-endian order.
	Cells []byte
	// Slots are the k slots of the heap, 24 bytes each: fingerprint, length of
	// the item, 8 bytes that have no meaning, count, 4 bytes of padding.
	Slots []byte
	// Items are the k items, each with a zero byte behind it; that of an empty
	// slot is the zero byte alone.
	Items [][]byte
}

// Dump returns the sketch as RedisBloom dumps it. It has neither the state of
// the generator nor, once it is loaded, what follows the first zero byte of an
// item. Cells aliases the sketch and is valid until it changes.
func (t *TopK) Dump() TopKDump {
	d := TopKDump{
		K: uint64(t.heap.n), Width: t.columns.width, Depth: uint64(t.depth), Decay: t.decay,
		Cells: t.cells, Slots: make([]byte, 0, dumpSlotBytes*t.heap.n), Items: make([][]byte, 0, t.heap.n),
	}
	le := binary.LittleEndian
	for s := range t.heap.all() {
		d.Slots = le.AppendUint32(d.Slots, s.fp)
		d.Slots = le.AppendUint32(d.Slots, uint32(len(s.item)))
		d.Slots = le.AppendUint64(d.Slots, 0)
		d.Slots = le.AppendUint64(d.Slots, uint64(s.count))
		d.Items = append(d.Items, append(append(make([]byte, 0, len(s.item)+1), s.item...), 0))
	}
	return d
}

// Bytes returns how much memory New would allocate, or its error. It allocates
// nothing.
func (d TopKDump) Bytes() (uint64, error) {
	if max(d.K, d.Width, d.Depth) > math.MaxUint32 {
		return 0, fmt.Errorf("redisbloom: load: %w: %d items, %d by %d cells", bloomery.ErrCorrupt, d.K, d.Width, d.Depth)
	}
	total, err := d.params().Bytes()
	if err != nil {
		return 0, fmt.Errorf("redisbloom: load: %w: %w", bloomery.ErrCorrupt, err)
	}
	if uint64(len(d.Cells)) != d.Width*d.Depth*topKCellBytes || uint64(len(d.Slots)) != d.K*dumpSlotBytes || uint64(len(d.Items)) != d.K {
		return 0, fmt.Errorf("redisbloom: load: %w: %d bytes of cells, %d of slots, %d items", bloomery.ErrCorrupt,
			len(d.Cells), len(d.Slots), len(d.Items))
	}
	for _, item := range d.Items {
		if len(item) == 0 || item[len(item)-1] != 0 {
			return 0, fmt.Errorf("redisbloom: load: %w: item without an end", bloomery.ErrCorrupt)
		}
		total += uint64(len(item))
	}
	return total, nil
}

func (d TopKDump) params() TopKParams {
	return TopKParams{K: uint32(d.K), Width: uint32(d.Width), Depth: uint32(d.Depth), Decay: d.Decay}
}

// New returns the sketch that was dumped; its generator starts anew. A nil m
// means the Go heap. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrTooLarge, or is that of Alloc.
func (d TopKDump) New(m *memory.Arena) (*TopK, error) {
	if _, err := d.Bytes(); err != nil {
		return nil, err
	}
	p := d.params()
	p.Memory = m
	t, err := NewTopK(p)
	if err != nil {
		return nil, err
	}
	copy(t.cells, d.Cells)
	for i, item := range d.Items {
		s := d.Slots[i*dumpSlotBytes:]
		item = item[:bytes.IndexByte(item, 0)]
		v := slot{fp: binary.LittleEndian.Uint32(s), count: binary.LittleEndian.Uint32(s[16:])}
		if len(item) > 0 {
			v.item = bytes.Clone(item)
		}
		t.heap.set(i, v)
	}
	return t, nil
}

// AppendHeader appends to dst the sketch without its cells: the header of the
// binary form, and the slots behind it.
func (t *TopK) AppendHeader(dst []byte) []byte {
	return t.heap.append(append(dst, t.prefix()[prefixBytes:]...))
}

// Header returns what makes AppendHeader of the sketch as it is now, while that changes.
func (t *TopK) Header() func() []byte {
	prefix, heap := t.prefix()[prefixBytes:], t.heap.fork()
	return func() []byte { return heap.append(slices.Grow(prefix, heap.size())) }
}

// topKSlots returns an iterator over the slots in a header that AppendHeader made, as
// RedisBloom dumps them: fingerprint, count, and the item, nil if there is none.
// It ends early if the header is cut short.
func topKSlots(header []byte) iter.Seq2[[2]uint32, []byte] {
	return func(yield func([2]uint32, []byte) bool) {
		for data := header[min(topKHeaderBytes, len(header)):]; len(data) >= slotHeaderBytes; {
			s, rest, ok := nextSlot(data)
			if !ok || !yield([2]uint32{s.fp, s.count}, s.item) {
				return
			}
			data = rest
		}
	}
}

// ParseTopKHeader reads the header that AppendHeader made, without the slots: the
// parameters of a sketch, with the state of its generator as Seed. The error wraps
// bloomery.ErrCorrupt.
func ParseTopKHeader(header []byte) (TopKParams, error) {
	if len(header) < topKHeaderBytes {
		return TopKParams{}, fmt.Errorf("redisbloom: load: %w: header of %d bytes", bloomery.ErrCorrupt, len(header))
	}
	le := binary.LittleEndian
	p := TopKParams{
		K: le.Uint32(header), Width: le.Uint32(header[4:]), Depth: le.Uint32(header[8:]),
		Decay: math.Float64frombits(le.Uint64(header[16:])), Seed: le.Uint64(header[24:]),
	}
	if _, err := p.Bytes(); err != nil || le.Uint32(header[12:]) != 0 {
		return p, fmt.Errorf("redisbloom: load: %w: %d items, %d by %d cells, decay %v", bloomery.ErrCorrupt, p.K, p.Width, p.Depth, p.Decay)
	}
	return p, nil
}

// AppendTopKHeader appends the header of an empty sketch of p to dst.
func AppendTopKHeader(dst []byte, p TopKParams) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, p.K)
	dst = le.AppendUint32(dst, p.Width)
	dst = le.AppendUint32(dst, p.Depth)
	dst = le.AppendUint32(dst, 0)
	dst = le.AppendUint64(dst, math.Float64bits(p.Decay))
	dst = le.AppendUint64(dst, p.Seed)
	return le.AppendUint64(dst, uint64(p.K)*slotHeaderBytes)
}

// Load overwrites the cells from a byte of the dump on. The error is
// ErrChunkLength, and then nothing has changed.
func (t *TopK) Load(off uint64, cells []byte) error {
	if off > uint64(len(t.cells)) || uint64(len(cells)) > uint64(len(t.cells))-off {
		return ErrChunkLength
	}
	if t.frozen != nil {
		t.frozen.save(cellsArray, t.cells, int(off), len(cells))
	}
	copy(t.cells[off:], cells)
	return nil
}

// Cells returns the cells: rows of fingerprint and count.
func (t *TopK) Cells() []byte { return t.cells }

// CellBytes returns the length of the cells.
func (t *TopK) CellBytes() uint64 { return uint64(len(t.cells)) }

// LoadSlots overwrites slots, from the one at first on, with slots as AppendTopKSlot
// makes them. The error is ErrChunkLength, and then nothing has changed.
func (t *TopK) LoadSlots(first uint32, data []byte) error {
	var slots []slot
	for len(data) > 0 {
		s, rest, ok := nextSlot(data)
		if !ok || uint64(first)+uint64(len(slots)) >= uint64(t.heap.n) {
			return ErrChunkLength
		}
		s.item = bytes.Clone(s.item)
		slots, data = append(slots, s), rest
	}
	for i, s := range slots {
		t.heap.set(int(first)+i, s)
	}
	return nil
}

// AppendTopKSlot appends a slot to dst: fingerprint, count and item, nil for none.
func AppendTopKSlot(dst []byte, fp, count uint32, item []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, fp)
	dst = binary.LittleEndian.AppendUint32(dst, count)
	length := uint64(0)
	if item != nil {
		length = uint64(len(item)) + 1
	}
	dst = binary.LittleEndian.AppendUint64(dst, length)
	return append(dst, item...)
}

// nextSlot reads the slot at the start of data. Its item is a part of data.
func nextSlot(data []byte) (s slot, rest []byte, ok bool) {
	if len(data) < slotHeaderBytes {
		return s, nil, false
	}
	s = slot{fp: binary.LittleEndian.Uint32(data), count: binary.LittleEndian.Uint32(data[4:])}
	n := binary.LittleEndian.Uint64(data[8:])
	data = data[slotHeaderBytes:]
	if n == 0 {
		return s, data, true
	}
	if n--; n > uint64(len(data)) {
		return s, nil, false
	}
	s.item = data[:n:n]
	return s, data[n:], true
}

// MarshalBinary returns the binary form of the sketch. The error wraps
// bloomery.ErrParameter for a zero TopK; there is no other.
func (t *TopK) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// AppendBinary appends the binary form of the sketch to dst. Its error is that
// of MarshalBinary. For a sketch too large to be copied under a lock see Freeze.
func (t *TopK) AppendBinary(dst []byte) ([]byte, error) {
	if t.heap.n == 0 {
		return dst, errZero("marshal", "TopK")
	}
	return appendBinary(dst, t.prefix(), both(t.heap.append(nil), t.cells)), nil
}

// UnmarshalBinary replaces the sketch by one in binary form, in the Arena that
// the sketch was made with. Its error is that of DecodeTopK, and then nothing
// has changed.
func (t *TopK) UnmarshalBinary(data []byte) error {
	n, err := DecodeTopK(data, t.memory)
	if err != nil {
		return err
	}
	t.Release()
	*t = *n
	return nil
}

// DecodeTopK returns a sketch in binary form. A nil m means the Go heap. The
// error wraps bloomery.ErrCorrupt, bloomery.ErrVersion or bloomery.ErrTooLarge,
// or is that of Alloc. It allocates no more than twice the length of data.
func DecodeTopK(data []byte, m *memory.Arena) (*TopK, error) {
	header, rest, err := openBinary(topKMagic, data)
	if err != nil {
		return nil, err
	}
	t, slots, err := newTopKOf(header, uint64(len(rest)), m)
	if err != nil {
		return nil, err
	}
	copy(t.cells, rest[slots:])
	if err := t.setSlots(rest[:slots]); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// NewTopKLoader starts to load a sketch: see [Loader].
func NewTopKLoader(first []byte, size int64, m *memory.Arena) (*Loader[*TopK], error) {
	var slots []byte
	l, err := newLoader(topKMagic, first, size, func(header []byte, bytes uint64) (*TopK, [][]byte, error) {
		t, n, err := newTopKOf(header, bytes, m)
		if err != nil {
			return nil, nil, err
		}
		slots = make([]byte, n)
		return t, [][]byte{slots, t.cells}, nil
	})
	if err != nil {
		return nil, err
	}
	l.finish = func() error { return l.filter.setSlots(slots) }
	return l, nil
}

// Freeze begins a snapshot. The error is ErrFrozen if the last one was not
// closed, or wraps bloomery.ErrParameter for a zero TopK.
func (t *TopK) Freeze() (*Frozen, error) {
	if t.heap.n == 0 {
		return nil, errZero("freeze", "TopK")
	}
	if t.frozen != nil {
		return nil, ErrFrozen
	}
	heap, slots := t.heap.fork(), lazyArray(t.heap.size())
	z, err := freeze(&t.frozen, t.memory, t.prefix(), [][]byte{slots, t.cells})
	z.fill = heap.filler(slots)
	z.mapped = append(z.mapped, slots)
	z.keep(len(slots))
	return z, err
}

// both returns an iterator over two arrays.
func both(a, b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if yield(a) {
			yield(b)
		}
	}
}

// prefix returns the binary form up to the slots.
func (t *TopK) prefix() []byte {
	b := appendPrefix(make([]byte, 0, prefixBytes+topKHeaderBytes), topKMagic, topKHeaderBytes)
	b = AppendTopKHeader(b, TopKParams{K: t.K(), Width: t.Width(), Depth: t.depth, Decay: t.decay, Seed: t.state})
	return binary.LittleEndian.AppendUint64(b[:len(b)-8], uint64(t.heap.size()))
}

// newTopKOf returns the sketch of a header, with empty slots and cells, and the
// bytes of the slots. Both together have so many bytes.
func newTopKOf(header []byte, size uint64, m *memory.Arena) (t *TopK, slots uint64, err error) {
	p, err := ParseTopKHeader(header)
	if err != nil {
		return nil, 0, err
	}
	slots = binary.LittleEndian.Uint64(header[32:])
	cells := uint64(p.Width) * uint64(p.Depth) * topKCellBytes
	if len(header) != topKHeaderBytes || slots < uint64(p.K)*slotHeaderBytes || slots > size || size-slots != cells {
		return nil, 0, fmt.Errorf("redisbloom: load: %w: %d bytes for %d items, %d by %d cells", bloomery.ErrCorrupt,
			size, p.K, p.Width, p.Depth)
	}
	p.Memory = m
	t, err = NewTopK(p)
	return t, slots, err
}

// size returns how many bytes append appends.
func (h *slots) size() int { return int(h.held) + h.n*slotHeaderBytes }

// append appends the slots with their items to dst.
func (h *slots) append(dst []byte) []byte {
	for s := range h.all() {
		dst = AppendTopKSlot(dst, s.fp, s.count, s.item)
	}
	return dst
}

// filler returns what fills dst with what append appends, from where it has stopped up to a byte or more.
func (h *slots) filler(dst []byte) func(to int) {
	next := 0
	at := dst[:0]
	return func(to int) {
		for ; len(at) < to; next++ {
			s := h.at(next)
			at = AppendTopKSlot(at, s.fp, s.count, s.item)
		}
	}
}

// setSlots reads what append wrote.
func (t *TopK) setSlots(data []byte) error {
	for i := range t.heap.n {
		s, rest, ok := nextSlot(data)
		if !ok {
			return errSlots(i)
		}
		if s.item != nil {
			s.item = append(make([]byte, 0, len(s.item)), s.item...)
		}
		t.heap.set(i, s)
		data = rest
	}
	if len(data) > 0 {
		return errSlots(t.heap.n)
	}
	return nil
}

func errSlots(i int) error {
	return fmt.Errorf("redisbloom: load: %w: slot %d", bloomery.ErrCorrupt, i)
}
