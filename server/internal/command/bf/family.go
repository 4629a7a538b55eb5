package bf

// What the BF commands share, and how a BF is encoded.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the BF commands share.
var family = &engine.Family{
	Kind:   catalog.Bloom,
	Narrow: func(p *store.Part) bool { return p.Bloom().Narrow() },
	Hash:   hash,
	Contains: func(w *engine.Workspace, p *store.Part, found []bool, first int) {
		p.Bloom().ContainsDigests(found, w.Digests[first:first+len(found)])
	},
	Record: func(w *engine.Workspace, r *store.Record, first, n int) {
		r.Digests = w.Digests[first : first+n]
	},
	WriteValue: writeValue, ReadValue: readValue,
	Create: store.OpBloomDump, Chunk: store.OpBloomChunk, Version: 4,
}

func hash(w *engine.Workspace, items [][]byte, narrow bool) (first int) {
	first = len(w.Digests)
	if narrow {
		for _, item := range items {
			w.Digests = append(w.Digests, redisbloom.BloomDigest32(item))
		}
		return first
	}
	for _, item := range items {
		w.Digests = append(w.Digests, redisbloom.BloomDigest(item))
	}
	return first
}

// writeValue encodes a Bloom filter from the header of its dump: the same facts
// in another order.
func writeValue(w *rdb.Writer, h []byte) {
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

// readValue reads what writeValue wrote.
func readValue(r *rdb.Reader) (header []byte, data [][]byte) {
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
	_, err := redisbloom.ParseBloomHeader(h)
	r.Bad = r.Bad || err != nil
	return h, data
}
