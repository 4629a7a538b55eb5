package cms

// What the CMS commands share, and how a CMS is encoded.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// family is what the CMS commands share.
var family = &engine.Family{
	Kind:       catalog.CountMin,
	WriteValue: redisbloom.WriteCountMinValue, ReadValue: redisbloom.ReadCountMinValue,
	PackPart: (*contents.Part).Sketch,
}
