package command

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bloomFamily is what the BF commands share.
var bloomFamily = &family{
	kind:        catalog.Bloom,
	narrow:      func(p *store.Part) bool { return p.Bloom().Narrow() },
	hash:        hashBloom,
	contains:    containsBloom,
	appendValue: appendBloomValue, readValue: readBloomValue,
	create: store.OpBloomDump, chunk: store.OpBloomChunk,
}

func hashBloom(w *Workspace, c *Call, narrow bool) {
	c.first = len(w.digests)
	if narrow {
		for _, item := range c.items {
			w.digests = append(w.digests, redisbloom.BloomDigest32(item))
		}
		return
	}
	for _, item := range c.items {
		w.digests = append(w.digests, redisbloom.BloomDigest(item))
	}
}

func containsBloom(w *Workspace, p *store.Part, found []bool, first int) {
	p.Bloom().ContainsDigests(found, w.digests[first:first+len(found)])
}

// appendBloomValue encodes a Bloom filter from its dump: the same facts in
// another order.
func appendBloomValue(b []byte, p *store.Part) []byte {
	h := p.Bloom().AppendHeader(nil)
	le := binary.LittleEndian
	b = appendUint(b, le.Uint64(h))
	b = appendUint(b, uint64(le.Uint32(h[8:])))
	b = appendUint(b, uint64(le.Uint32(h[12:])))
	b = appendUint(b, uint64(le.Uint32(h[16:])))
	iter := int64(1)
	for l := h[20:]; len(l) > 0; l = l[53:] {
		b = appendUint(b, le.Uint64(l[44:]))
		b = appendDouble(b, math.Float64frombits(le.Uint64(l[24:])))
		b = appendUint(b, uint64(le.Uint32(l[40:])))
		b = appendDouble(b, math.Float64frombits(le.Uint64(l[32:])))
		b = appendUint(b, le.Uint64(l[8:]))
		b = appendUint(b, uint64(l[52]))
		b, iter = appendLayer(b, p, iter, le.Uint64(l))
		b = appendUint(b, le.Uint64(l[16:]))
	}
	return b
}

// readBloomValue reads what appendBloomValue wrote.
func readBloomValue(r *rdbReader) restored {
	le := binary.LittleEndian
	v := restored{kind: catalog.Bloom}
	h := le.AppendUint64(nil, r.uint())
	layers := r.uint()
	h = le.AppendUint32(h, uint32(layers))
	h = le.AppendUint32(h, uint32(r.uint()))
	h = le.AppendUint32(h, uint32(r.uint()))
	for ; layers > 0 && !r.bad; layers-- {
		capacity, rate, hashes, bpe, bits, n2 := r.uint(), r.double(), r.uint(), r.double(), r.uint(), r.uint()
		data, size := r.data(), r.uint()
		h = le.AppendUint64(h, uint64(len(data)))
		h = le.AppendUint64(h, bits)
		h = le.AppendUint64(h, size)
		h = le.AppendUint64(h, math.Float64bits(rate))
		h = le.AppendUint64(h, math.Float64bits(bpe))
		h = le.AppendUint32(h, uint32(hashes))
		h = le.AppendUint64(h, capacity)
		h = append(h, byte(n2))
		r.bad = r.bad || hashes > math.MaxUint32 || n2 > math.MaxUint8
		v.layers = append(v.layers, data)
	}
	v.header = h
	_, err := redisbloom.ParseBloomHeader(h)
	r.bad = r.bad || err != nil
	return v
}
