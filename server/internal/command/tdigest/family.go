package tdigest

// What the TDIGEST commands share, and how a digest is encoded.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the TDIGEST commands share.
var family = &engine.Family{
	Kind:       catalog.TDigest,
	WriteValue: redisbloom.WriteTDigestValue, ReadValue: redisbloom.ReadTDigestValue,
	PackPart: (*contents.Part).Sketch,
	Settle: func(p *contents.Part) store.Body {
		if p.TDigest().Compressed() {
			return nil
		}
		return &store.TDigestCompress{}
	},
}
