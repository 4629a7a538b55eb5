package cf

// What the CF commands share, and how a CF is encoded.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the CF commands share.
var family = &engine.Family{
	Kind: catalog.Cuckoo,
	Hash: func(w *scratch.Memory, _ *contents.Part, items [][]byte) (first int) {
		hashes := w.Hashes
		for _, item := range items {
			hashes = append(hashes, redisbloom.CuckooDigest(item))
		}
		first, w.Hashes = len(w.Hashes), hashes
		return first
	},
	Contains: func(w *scratch.Memory, p *contents.Part, found []bool, first int) {
		p.Cuckoo().ContainsDigests(found, w.Hashes[first:first+len(found)])
	},
	Fill: func(w *scratch.Memory, items store.Items, first, n int) {
		items.Hold(nil, w.Hashes[first:first+n])
	},
	WriteValue: redisbloom.WriteCuckooValue, ReadValue: redisbloom.ReadCuckooValue,
	Version: redisbloom.FilterVersion,
}
