package named

import "github.com/bloomery/bloomery/internal/murmur"

// Murmur3Seeded shows the whole of Murmur3, which SMHasher's value needs.
var Murmur3Seeded = murmur.Sum128
