package topk

// What the TOPK commands share, and how a TOPK is encoded.

import (
	"bytes"
	"encoding/binary"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the TOPK commands share.
var family = &engine.Family{
	Kind:       catalog.TopK,
	WriteValue: writeValue, ReadValue: readValue,
	Create: store.OpTopK, Chunk: store.OpTopKChunk, Grows: true,
}

// Of a slot in RedisBloom's dump: fingerprint, length of the item, a pointer, count,
// padding.
const (
	slotBytes = 24
	atCount   = 16
)

// writeValue encodes a sketch from its header: parameters and slots.
func writeValue(w *rdb.Writer, h []byte) {
	p, _ := redisbloom.ParseTopKHeader(h) // it is our own
	w.Uint(uint64(p.K))
	w.Uint(uint64(p.Width))
	w.Uint(uint64(p.Depth))
	w.Double(p.Decay)
	w.Hole(int(8 * uint64(p.Width) * uint64(p.Depth)))
	slots := make([]byte, 0, slotBytes*int(p.K))
	le := binary.LittleEndian
	for s, item := range redisbloom.TopKSlots(h) {
		slots = le.AppendUint32(slots, s[0])
		slots = le.AppendUint32(slots, uint32(len(item)))
		slots = le.AppendUint64(slots, 0)
		slots = le.AppendUint64(slots, uint64(s[1]))
	}
	w.Data(slots)
	for _, item := range redisbloom.TopKSlots(h) {
		w.Data(append(bytes.Clone(item), 0))
	}
}

// readValue reads what writeValue wrote: layers are the cells, and then slots, with
// the number of the first of them in front. Of an item only what stands before its
// first zero byte is known, and of none its length.
func readValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	d := redisbloom.TopKDump{K: r.Uint(), Width: r.Uint(), Depth: r.Uint(), Decay: r.Double(), Cells: r.Data(), Slots: r.Data()}
	if r.Bad || d.K > uint64(len(d.Slots))/slotBytes { // before anything is made of so many
		r.Bad = true
		return nil, nil
	}
	d.Items = make([][]byte, 0, d.K)
	for range d.K {
		d.Items = append(d.Items, r.Data())
	}
	if _, err := d.Bytes(); r.Bad || err != nil {
		r.Bad = true
		return nil, nil
	}
	layers = append(layers, d.Cells)
	const most = 64 << 10
	var piece []byte
	for i, item := range d.Items {
		if len(item) > store.MaxItem {
			r.Bad = true
			return nil, nil
		}
		if len(piece) == 0 {
			piece = binary.LittleEndian.AppendUint32(nil, uint32(i))
		}
		if item = item[:bytes.IndexByte(item, 0)]; len(item) == 0 {
			item = nil
		}
		s := d.Slots[i*slotBytes:]
		piece = redisbloom.AppendTopKSlot(piece, binary.LittleEndian.Uint32(s), binary.LittleEndian.Uint32(s[atCount:]), item)
		if len(piece) > most || i+1 == len(d.Items) {
			layers, piece = append(layers, piece), nil
		}
	}
	p := redisbloom.TopKParams{K: uint32(d.K), Width: uint32(d.Width), Depth: uint32(d.Depth), Decay: d.Decay}
	return redisbloom.AppendTopKHeader(nil, p), layers
}
