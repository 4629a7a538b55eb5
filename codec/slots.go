package codec

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// ofSlots returns the entry of package cuckoo.
func ofSlots() Kind {
	k := decoded(envelope.KindCuckoo, "cuckoo", Features{Insert: true, Delete: true, Count: true},
		func(h hashing.Hasher) (*cuckoo.Filter, error) {
			return cuckoo.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.New()
		}, func(data []byte, h hashing.Hasher) (*cuckoo.View, error) {
			return cuckoo.Config{Hasher: h}.NewView(data)
		})
	k.New = func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return hashed(cuckoo.Config{Capacity: n, ErrorRate: p, Hasher: h}.New())
	}
	return k
}
