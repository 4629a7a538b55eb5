package named

// Murmur3Seeded shows the whole of murmur3, which SMHasher's value needs.
var Murmur3Seeded = murmur3
