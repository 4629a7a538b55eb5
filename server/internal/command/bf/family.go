package bf

// What the BF commands share, and how a BF is encoded.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the BF commands share.
var family = &engine.Family{
	Kind: catalog.Bloom,
	Hash: hash,
	Contains: func(w *scratch.Memory, p *contents.Part, found []bool, first int) {
		p.Bloom().ContainsDigests(found, w.Digests[first:first+len(found)])
	},
	Fill: func(w *scratch.Memory, items store.Items, first, n int) {
		items.Hold(w.Digests[first:first+n], nil)
	},
	WriteValue: redisbloom.WriteBloomValue, ReadValue: redisbloom.ReadBloomValue,
	Version: redisbloom.FilterVersion,
}

func hash(w *scratch.Memory, p *contents.Part, items [][]byte) (first int) {
	digests, narrow := w.Digests, p.Bloom().Narrow()
	for _, item := range items {
		if narrow {
			digests = append(digests, redisbloom.BloomDigest32(item))
		} else {
			digests = append(digests, redisbloom.BloomDigest(item))
		}
	}
	first, w.Digests = len(w.Digests), digests
	return first
}
