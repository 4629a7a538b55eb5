package cms

// What the CMS commands share, and how a CMS is encoded.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the CMS commands share.
var family = &engine.Family{
	Kind:       catalog.CountMin,
	WriteValue: writeValue, ReadValue: readValue,
	Create: store.OpCountMin, Chunk: store.OpCountMinChunk,
}

// writeValue encodes a sketch from its header: width, depth, count; then the
// counters.
func writeValue(w *rdb.Writer, h []byte) {
	le := binary.LittleEndian
	width, depth := le.Uint64(h), le.Uint64(h[8:])
	w.Uint(width)
	w.Uint(depth)
	w.Uint(le.Uint64(h[16:]))
	w.Hole(int(4 * width * depth))
}

// readValue reads what writeValue wrote.
func readValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	width, depth, count := r.Uint(), r.Uint(), r.Uint()
	cells := r.Data()
	_, err := redisbloom.CountMinDump{Width: width, Depth: depth, Count: count, Cells: cells}.Bytes()
	r.Bad = r.Bad || err != nil
	return headerOf(width, depth, count), [][]byte{cells}
}

// headerOf returns the header of a sketch.
func headerOf(width, depth, count uint64) []byte {
	h := binary.LittleEndian.AppendUint64(nil, width)
	h = binary.LittleEndian.AppendUint64(h, depth)
	return binary.LittleEndian.AppendUint64(h, count)
}
