package codec

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/hashing"
)

// ofCounters returns the entry of a kind of package counting, given how it is
// made and how it is viewed.
func ofCounters[F decodable, V View](
	number uint16, name string, features Features,
	create func(counting.Config) (F, error), view func(counting.Config, []byte) (V, error),
) Kind {
	k := decoded(number, name, features, func(h hashing.Hasher) (F, error) {
		return create(counting.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h})
	}, func(data []byte, h hashing.Hasher) (V, error) {
		return view(counting.Config{Hasher: h}, data)
	})
	k.New = func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return hashed(create(counting.Config{Capacity: n, ErrorRate: p, Hasher: h}))
	}
	return k
}
