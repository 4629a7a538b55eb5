package codec

import (
	"context"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/ribbon"
)

// ofRibbon returns the entry of package ribbon.
func ofRibbon() Kind {
	build := func(hashes []uint64, p float64, h hashing.Hasher) (*ribbon.Filter, error) {
		return ribbon.Config{ErrorRate: p, Hasher: h}.Build(context.Background(), hashes)
	}
	k := decoded(envelope.KindRibbon, "ribbon", Features{Static: true}, func(h hashing.Hasher) (*ribbon.Filter, error) {
		return build(nil, 0.5, h)
	}, func(data []byte, h hashing.Hasher) (*ribbon.View, error) {
		return ribbon.Config{Hasher: h}.NewView(data)
	})
	k.Build = func(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return hashed(build(hashes, p, h))
	}
	return k
}
