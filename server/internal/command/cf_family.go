package command

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// cuckooFamily is what the CF commands share.
var cuckooFamily = &family{
	kind:        catalog.Cuckoo,
	narrow:      func(*store.Part) bool { return false },
	hash:        hashCuckoo,
	contains:    containsCuckoo,
	appendValue: appendCuckooValue, readValue: readCuckooValue,
	create: store.OpCuckooDump, chunk: store.OpCuckooChunk,
}

func hashCuckoo(w *Workspace, c *Call, _ bool) {
	c.first = len(w.hashes)
	for _, item := range c.items {
		w.hashes = append(w.hashes, redisbloom.CuckooDigest(item))
	}
}

func containsCuckoo(w *Workspace, p *store.Part, found []bool, first int) {
	p.Cuckoo().ContainsDigests(found, w.hashes[first:first+len(found)])
}

func appendCuckooValue(b []byte, p *store.Part) []byte {
	f := p.Cuckoo()
	b = appendUint(b, uint64(f.Filters()))
	b = appendUint(b, f.Buckets())
	b = appendUint(b, f.Items())
	b = appendUint(b, f.Deletes())
	b = appendUint(b, uint64(f.BucketSize()))
	b = appendUint(b, uint64(f.MaxIterations()))
	b = appendUint(b, uint64(f.Expansion()))
	iter, buckets := int64(1), f.Buckets()
	for range f.Filters() {
		b = appendUint(b, buckets)
		b, iter = appendLayer(b, p, iter, buckets*uint64(f.BucketSize()))
		buckets *= uint64(f.Expansion())
	}
	return b
}

// readCuckooValue reads what appendCuckooValue wrote.
func readCuckooValue(r *rdbReader) restored {
	le := binary.LittleEndian
	v := restored{kind: catalog.Cuckoo}
	filters, buckets, items, deletes := r.uint(), r.uint(), r.uint(), r.uint()
	bucket, kicks, expansion := r.uint(), r.uint(), r.uint()
	r.bad = r.bad || max(bucket, kicks, expansion) > math.MaxUint16
	h := le.AppendUint64(nil, items)
	h = le.AppendUint64(h, buckets)
	h = le.AppendUint64(h, deletes)
	h = le.AppendUint64(h, filters)
	h = le.AppendUint16(h, uint16(bucket))
	h = le.AppendUint16(h, uint16(kicks))
	v.header = le.AppendUint16(h, uint16(expansion))
	_, err := redisbloom.ParseCuckooHeader(v.header)
	r.bad = r.bad || err != nil
	for n := buckets; filters > 0 && !r.bad; filters-- {
		count, data := r.uint(), r.data()
		r.bad = r.bad || count != n || uint64(len(data)) != n*bucket
		v.layers = append(v.layers, data)
		n *= expansion
	}
	return v
}
