package tdigest

// What the TDIGEST commands share, and how a digest is encoded.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the TDIGEST commands share.
var family = &engine.Family{
	Kind:       catalog.TDigest,
	WriteValue: writeValue, ReadValue: readValue,
	Create: store.OpTDigest, Chunk: store.OpTDigestChunk,
	Settle: func(p *store.Part) store.Op {
		if p.TDigest().Compressed() {
			return 0
		}
		return store.OpCompress
	},
}

// writeValue encodes a digest from its header, which is all of it.
func writeValue(w *rdb.Writer, h []byte) {
	t, err := redisbloom.DecodeTDigest(h, nil)
	if err != nil { // it is our own
		return
	}
	d := t.Dump()
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

// readValue reads what writeValue wrote. A digest of one value has it in its header
// only, as least and largest.
func readValue(r *rdb.Reader) (header []byte, layers [][]byte) {
	d := redisbloom.TDigestDump{
		Compression: r.Double(), Min: r.Double(), Max: r.Double(),
		Capacity: r.Uint(), Merged: r.Uint(), Unmerged: r.Uint(), Compressions: r.Uint(),
		MergedWeight: r.Double(), UnmergedWeight: r.Double(),
	}
	if d.Merged > d.Capacity {
		r.Bad = true
	}
	for range d.Merged {
		if d.Means = append(d.Means, r.Double()); r.Bad {
			return nil, nil
		}
	}
	for range d.Merged {
		if d.Weights = append(d.Weights, r.Double()); r.Bad {
			return nil, nil
		}
	}
	if _, err := d.Bytes(); r.Bad || err != nil {
		r.Bad = true
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
