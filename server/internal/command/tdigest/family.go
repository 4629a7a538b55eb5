package tdigest

// What the TDIGEST commands share, and how a digest is encoded.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the TDIGEST commands share.
var family = &engine.Family{
	Kind:       catalog.TDigest,
	WriteValue: redisbloom.WriteTDigestValue, ReadValue: redisbloom.ReadTDigestValue,
	Create: store.OpTDigest, Chunk: store.OpTDigestChunk,
	Settle: func(p *store.Part) store.Op {
		if p.TDigest().Compressed() {
			return 0
		}
		return store.OpCompress
	},
}
