package redisbloom

// What DUMP answers for a filter or a sketch, and RESTORE takes: Redis's frame around
// the facts of the header, in another order, and the arrays.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/rdb"
)

// The types of RedisBloom's values, and the version of the encoding of those that have
// one.
const (
	BloomType    = "MBbloom--"
	CuckooType   = "MBbloomCF"
	CountMinType = "CMSk-TYPE"
	TopKType     = "TopK-TYPE"
	TDigestType  = "TDIS-TYPE"

	FilterVersion = 4 // of BloomType and CuckooType
)

// MaxItem bounds an item of a TopK in a dump.
const MaxItem = 256 << 10

// WriteBloomValue encodes a Bloom filter from the header of its dump: the same facts
// in another order.
func WriteBloomValue(w *rdb.Writer, h []byte) {
	le := binary.LittleEndian
	w.Uint(le.Uint64(h))
	w.Uint(uint64(le.Uint32(h[8:])))
	w.Uint(uint64(le.Uint32(h[12:])))
	w.Uint(uint64(le.Uint32(h[16:])))
	for l := h[20:]; len(l) > 0; l = l[53:] {
		w.Uint(le.Uint64(l[44:]))
		w.Double(math.Float64frombits(le.Uint64(l[24:])))
		w.Uint(uint64(le.Uint32(l[40:])))
		w.Double(math.Float64frombits(le.Uint64(l[32:])))
		w.Uint(le.Uint64(l[8:]))
		w.Uint(uint64(l[52]))
		w.Hole(int(le.Uint64(l)))
		w.Uint(le.Uint64(l[16:]))
	}
}

// ReadBloomValue reads what WriteBloomValue wrote.
func ReadBloomValue(r *rdb.Reader) (header []byte, data [][]byte) {
	le := binary.LittleEndian
	h := le.AppendUint64(nil, r.Uint())
	layers := r.Uint()
	h = le.AppendUint32(h, uint32(layers))
	h = le.AppendUint32(h, uint32(r.Uint()))
	h = le.AppendUint32(h, uint32(r.Uint()))
	for ; layers > 0 && !r.Bad; layers-- {
		capacity, rate, hashes, bpe, bits, n2 := r.Uint(), r.Double(), r.Uint(), r.Double(), r.Uint(), r.Uint()
		layer, size := r.Data(), r.Uint()
		h = le.AppendUint64(h, uint64(len(layer)))
		h = le.AppendUint64(h, bits)
		h = le.AppendUint64(h, size)
		h = le.AppendUint64(h, math.Float64bits(rate))
		h = le.AppendUint64(h, math.Float64bits(bpe))
		h = le.AppendUint32(h, uint32(hashes))
		h = le.AppendUint64(h, capacity)
		h = append(h, byte(n2))
		r.Bad = r.Bad || hashes > math.MaxUint32 || n2 > math.MaxUint8
		data = append(data, layer)
	}
	_, err := ParseBloomHeader(h)
	r.Bad = r.Bad || err != nil
	return h, data
}

// The fields of the header of a dump, and where they are.
const (
	atItems     = 0
	atBuckets   = 8
	atDeletes   = 16
	atFilters   = 24
	atBucket    = 32
	atKicks     = 34
	atExpansion = 36
)

// WriteCuckooValue encodes a cuckoo filter from the header of its dump: the same facts
// in another order.
func WriteCuckooValue(w *rdb.Writer, h []byte) {
	le := binary.LittleEndian
	filters, buckets := le.Uint64(h[atFilters:]), le.Uint64(h[atBuckets:])
	bucket, expansion := uint64(le.Uint16(h[atBucket:])), uint64(le.Uint16(h[atExpansion:]))
	w.Uint(filters)
	w.Uint(buckets)
	w.Uint(le.Uint64(h[atItems:]))
	w.Uint(le.Uint64(h[atDeletes:]))
	w.Uint(bucket)
	w.Uint(uint64(le.Uint16(h[atKicks:])))
	w.Uint(expansion)
	for range filters {
		w.Uint(buckets)
		w.Hole(int(buckets * bucket))
		buckets *= expansion
	}
}

// ReadCuckooValue reads what WriteCuckooValue wrote.
func ReadCuckooValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	le := binary.LittleEndian
	filters, buckets, items, deletes := r.Uint(), r.Uint(), r.Uint(), r.Uint()
	bucket, kicks, expansion := r.Uint(), r.Uint(), r.Uint()
	r.Bad = r.Bad || max(bucket, kicks, expansion) > math.MaxUint16
	h := le.AppendUint64(nil, items)
	h = le.AppendUint64(h, buckets)
	h = le.AppendUint64(h, deletes)
	h = le.AppendUint64(h, filters)
	h = le.AppendUint16(h, uint16(bucket))
	h = le.AppendUint16(h, uint16(kicks))
	h = le.AppendUint16(h, uint16(expansion))
	_, err := ParseCuckooHeader(h)
	r.Bad = r.Bad || err != nil
	for n := buckets; filters > 0 && !r.Bad; filters-- {
		count, data := r.Uint(), r.Data()
		r.Bad = r.Bad || count != n || uint64(len(data)) != n*bucket
		layers = append(layers, data)
		n *= expansion
	}
	return h, layers
}

// WriteCountMinValue encodes a sketch from its header: width, depth, count; then the
// counters.
func WriteCountMinValue(w *rdb.Writer, h []byte) {
	le := binary.LittleEndian
	width, depth := le.Uint64(h), le.Uint64(h[8:])
	w.Uint(width)
	w.Uint(depth)
	w.Uint(le.Uint64(h[16:]))
	w.Hole(int(4 * width * depth))
}

// ReadCountMinValue reads what WriteCountMinValue wrote.
func ReadCountMinValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	d := readCountMin(r)
	return AppendCountMinHeader(nil, CountMinParams{Width: d.Width, Depth: d.Depth}, d.Count), [][]byte{d.Cells}
}

func readCountMin(r *rdb.Reader) CountMinDump {
	d := CountMinDump{Width: r.Uint(), Depth: r.Uint(), Count: r.Uint(), Cells: r.Data()}
	_, err := d.Bytes()
	r.Bad = r.Bad || err != nil
	return d
}

// dumpSlotCount is where the count stands in a slot of RedisBloom's dump, behind the
// fingerprint, the length of the item and a pointer.
const dumpSlotCount = 16

// WriteTopKValue encodes a sketch from its header: parameters and slots.
func WriteTopKValue(w *rdb.Writer, h []byte) {
	p, _ := ParseTopKHeader(h) // it is our own
	w.Uint(uint64(p.K))
	w.Uint(uint64(p.Width))
	w.Uint(uint64(p.Depth))
	w.Double(p.Decay)
	w.Hole(int(8 * uint64(p.Width) * uint64(p.Depth)))
	slots := make([]byte, 0, dumpSlotBytes*int(p.K))
	le := binary.LittleEndian
	for s, item := range topKSlots(h) {
		slots = le.AppendUint32(slots, s[0])
		slots = le.AppendUint32(slots, uint32(len(item)))
		slots = le.AppendUint64(slots, 0)
		slots = le.AppendUint64(slots, uint64(s[1]))
	}
	w.Data(slots)
	for _, item := range topKSlots(h) {
		w.Data(append(bytes.Clone(item), 0))
	}
}

// ReadTopKValue reads what WriteTopKValue wrote: layers are the cells, and then slots,
// with the number of the first of them in front. Of an item only what stands before its
// first zero byte is known, and of none its length.
func ReadTopKValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	d := readTopK(r)
	if r.Bad {
		return nil, nil
	}
	layers = append(layers, d.Cells)
	const most = 64 << 10
	var piece []byte
	for i, item := range d.Items {
		if len(piece) == 0 {
			piece = binary.LittleEndian.AppendUint32(nil, uint32(i))
		}
		if item = item[:bytes.IndexByte(item, 0)]; len(item) == 0 {
			item = nil
		}
		s := d.Slots[i*dumpSlotBytes:]
		piece = AppendTopKSlot(piece, binary.LittleEndian.Uint32(s), binary.LittleEndian.Uint32(s[dumpSlotCount:]), item)
		if len(piece) > most || i+1 == len(d.Items) {
			layers, piece = append(layers, piece), nil
		}
	}
	return AppendTopKHeader(nil, d.params()), layers
}

func readTopK(r *rdb.Reader) TopKDump {
	d := TopKDump{K: r.Uint(), Width: r.Uint(), Depth: r.Uint(), Decay: r.Double(), Cells: r.Data(), Slots: r.Data()}
	if r.Bad || d.K > uint64(len(d.Slots))/dumpSlotBytes { // before anything is made of so many
		r.Bad = true
		return d
	}
	d.Items = make([][]byte, 0, d.K)
	for range d.K {
		item := r.Data()
		r.Bad = r.Bad || len(item) > MaxItem
		d.Items = append(d.Items, item)
	}
	_, err := d.Bytes()
	r.Bad = r.Bad || err != nil
	return d
}

// WriteTDigestValue encodes a digest from its header, which is all of it.
func WriteTDigestValue(w *rdb.Writer, h []byte) {
	t, err := DecodeTDigest(h, nil)
	if err != nil { // it is our own
		return
	}
	t.Dump().write(w)
}

func (d TDigestDump) write(w *rdb.Writer) {
	for _, v := range []float64{d.Compression, d.Min, d.Max} {
		w.Double(v)
	}
	for _, n := range []uint64{d.Capacity, d.Merged, d.Unmerged, d.Compressions} {
		w.Uint(n)
	}
	w.Double(d.MergedWeight)
	w.Double(d.UnmergedWeight)
	for _, v := range d.Means {
		w.Double(v)
	}
	for _, v := range d.Weights {
		w.Double(v)
	}
}

// ReadTDigestValue reads what WriteTDigestValue wrote. A digest of one value has it in
// its header only, as least and largest.
func ReadTDigestValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	d := readTDigest(r)
	if r.Bad {
		return nil, nil
	}
	le := binary.LittleEndian
	nodes := make([]byte, 0, 16*len(d.Means))
	for i := range d.Means {
		nodes = le.AppendUint64(nodes, math.Float64bits(d.Means[i]))
		nodes = le.AppendUint64(nodes, uint64(d.Weights[i]))
	}
	return d.Header(), [][]byte{nodes}
}

func readTDigest(r *rdb.Reader) TDigestDump {
	d := TDigestDump{
		Compression: r.Double(), Min: r.Double(), Max: r.Double(),
		Capacity: r.Uint(), Merged: r.Uint(), Unmerged: r.Uint(), Compressions: r.Uint(),
		MergedWeight: r.Double(), UnmergedWeight: r.Double(),
	}
	r.Bad = r.Bad || d.Merged > d.Capacity
	for _, numbers := range []*[]float64{&d.Means, &d.Weights} {
		for range d.Merged {
			if r.Bad {
				return d
			}
			*numbers = append(*numbers, r.Double())
		}
	}
	_, err := d.Bytes()
	r.Bad = r.Bad || err != nil
	return d
}

// Payload returns the filter as DUMP answers it.
func (b *Bloom) Payload() []byte {
	return dumped(BloomType, FilterVersion, b.Bytes(), func(w *rdb.Writer) {
		WriteBloomValue(w, b.AppendHeader(nil))
	}, b.Arrays())
}

// Payload returns the filter as DUMP answers it.
func (c *Cuckoo) Payload() []byte {
	return dumped(CuckooType, FilterVersion, c.Bytes(), func(w *rdb.Writer) {
		WriteCuckooValue(w, c.AppendHeader(nil))
	}, c.Arrays())
}

// Payload returns the sketch as DUMP answers it.
func (c *CountMin) Payload() []byte {
	return dumped(CountMinType, 0, c.Bytes(), func(w *rdb.Writer) { WriteCountMinValue(w, c.AppendHeader(nil)) }, c.Arrays())
}

// Payload returns the sketch as DUMP answers it.
func (t *TopK) Payload() []byte {
	return dumped(TopKType, 0, t.Bytes(), func(w *rdb.Writer) { WriteTopKValue(w, t.AppendHeader(nil)) }, t.Arrays())
}

// Payload compresses the digest and returns it as DUMP answers it.
func (t *TDigest) Payload() []byte {
	return dumped(TDigestType, 0, t.Bytes(), t.Dump().write, func(func([]byte) bool) {})
}

// payloadExtra is what a payload takes besides arrays and headers.
const payloadExtra = 1 << 10

func dumped(name string, version, size uint64, write func(*rdb.Writer), arrays iter.Seq[[]byte]) []byte {
	w := rdb.NewWriter(rdb.ModuleID(name, version), int(size)+payloadExtra)
	write(w)
	off := 0
	for array := range arrays {
		w.Fill(off, array)
		off += len(array)
	}
	return w.Payload()
}

// OpenPayload returns what a payload of DUMP holds, in the Go heap: a *Bloom, *Cuckoo,
// *CountMin, *TopK or *TDigest. The error wraps bloomery.ErrCorrupt,
// bloomery.ErrVersion or bloomery.ErrTooLarge.
func OpenPayload(data []byte) (any, error) { return OpenPayloadWithin(data, memory.Limit()) }

// OpenPayloadWithin is OpenPayload of what takes most bytes at most.
func OpenPayloadWithin(data []byte, most uint64) (any, error) {
	if !rdb.FooterFits(data) {
		return nil, fmt.Errorf("redisbloom: open: %w: not what DUMP answered, or damaged: its version or checksum does not fit", bloomery.ErrCorrupt)
	}
	left := most
	r := rdb.NewReader(data, func(n uint64) bool {
		if n > left {
			return false
		}
		left -= n
		return memory.Fits(n) == nil
	})
	if r.Byte() != rdb.Module {
		return nil, fmt.Errorf("redisbloom: open: %w: no value of RedisBloom", bloomery.ErrVersion)
	}
	id, special := r.Length()
	for _, kind := range payloads {
		if !special && !r.Bad && id == rdb.ModuleID(kind.name, kind.version) {
			return kind.open(r)
		}
	}
	return nil, fmt.Errorf("redisbloom: open: %w: a value of another module or version", bloomery.ErrVersion)
}

var payloads = []struct {
	name    string
	version uint64
	open    func(*rdb.Reader) (any, error)
}{
	{BloomType, FilterVersion, func(r *rdb.Reader) (any, error) {
		header, layers := ReadBloomValue(r)
		return opened(r, func() (*Bloom, error) {
			h, err := ParseBloomHeader(header)
			if err != nil {
				return nil, err
			}
			b, err := h.New(nil)
			if err != nil {
				return nil, err
			}
			return b, loadAll(b.LoadChunk, layers)
		})
	}},
	{CuckooType, FilterVersion, func(r *rdb.Reader) (any, error) {
		header, layers := ReadCuckooValue(r)
		return opened(r, func() (*Cuckoo, error) {
			h, err := ParseCuckooHeader(header)
			if err != nil {
				return nil, err
			}
			c, err := h.New(nil)
			if err != nil {
				return nil, err
			}
			return c, loadAll(c.LoadChunk, layers)
		})
	}},
	{CountMinType, 0, func(r *rdb.Reader) (any, error) {
		d := readCountMin(r)
		return opened(r, func() (*CountMin, error) { return d.New(nil) })
	}},
	{TopKType, 0, func(r *rdb.Reader) (any, error) {
		d := readTopK(r)
		return opened(r, func() (*TopK, error) { return d.New(nil) })
	}},
	{TDigestType, 0, func(r *rdb.Reader) (any, error) {
		d := readTDigest(r)
		return opened(r, func() (*TDigest, error) { return d.New(nil) })
	}},
}

// opened returns what open makes of a value that was read to its end.
func opened[T any](r *rdb.Reader, open func() (T, error)) (any, error) {
	r.End()
	if r.NoRoom {
		return nil, fmt.Errorf("redisbloom: open: %w", bloomery.ErrTooLarge)
	}
	if !r.Done() {
		return nil, fmt.Errorf("redisbloom: open: %w: dump", bloomery.ErrCorrupt)
	}
	v, err := open()
	if err != nil {
		return nil, err
	}
	return v, nil
}

// loadAll loads layers that stand end to end.
func loadAll(load func(iter int64, data []byte) error, layers [][]byte) error {
	at := int64(1)
	for _, layer := range layers {
		at += int64(len(layer))
		if err := load(at, layer); err != nil {
			return err
		}
	}
	return nil
}
