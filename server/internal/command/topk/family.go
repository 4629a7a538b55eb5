package topk

// What the TOPK commands share, and how a TOPK is encoded.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// family is what the TOPK commands share.
var family = &engine.Family{
	Kind:       catalog.TopK,
	WriteValue: redisbloom.WriteTopKValue, ReadValue: redisbloom.ReadTopKValue,
}
