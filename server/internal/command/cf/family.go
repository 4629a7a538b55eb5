package cf

// What the CF commands share, and how a CF is encoded.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the CF commands share.
var family = &engine.Family{
	Kind:   catalog.Cuckoo,
	Narrow: func(*store.Part) bool { return false },
	Hash: func(w *engine.Workspace, items [][]byte, _ bool) (first int) {
		first = len(w.Hashes)
		for _, item := range items {
			w.Hashes = append(w.Hashes, redisbloom.CuckooDigest(item))
		}
		return first
	},
	Contains: func(w *engine.Workspace, p *store.Part, found []bool, first int) {
		p.Cuckoo().ContainsDigests(found, w.Hashes[first:first+len(found)])
	},
	Record: func(w *engine.Workspace, r *store.Record, first, n int) {
		r.Hashes = w.Hashes[first : first+n]
	},
	WriteValue: writeValue, ReadValue: readValue,
	Create: store.OpCuckooDump, Chunk: store.OpCuckooChunk, Version: 4,
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

// writeValue encodes a cuckoo filter from the header of its dump: the same facts
// in another order.
func writeValue(w *rdb.Writer, h []byte) {
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

// readValue reads what writeValue wrote.
func readValue(r *rdb.Reader) (header []byte, layers [][]byte) {
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
	_, err := redisbloom.ParseCuckooHeader(h)
	r.Bad = r.Bad || err != nil
	for n := buckets; filters > 0 && !r.Bad; filters-- {
		count, data := r.Uint(), r.Data()
		r.Bad = r.Bad || count != n || uint64(len(data)) != n*bucket
		layers = append(layers, data)
		n *= expansion
	}
	return h, layers
}
