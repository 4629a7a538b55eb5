package health_test

import (
	"math/rand/v2"

	"github.com/bloomery/bloomery/hashing"
)

// noProbes answers for filters whose digests are not 64-bit hashes.
func noProbes(*rand.Rand) int { return 0 }

// bloomeryHasher is the default hasher.
var bloomeryHasher hashing.Hasher
