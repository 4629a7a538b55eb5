package library

import (
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/measuring"
)

// group is how many keys are hashed at once.
const group = 256

// xxh3 hashes the keys of every library that takes hashes and does not say
// which: the same hash for all.
var xxh3 hashing.Hasher

// hashed returns a Subject for a library that takes hashes.
func hashed(hash func([]byte) uint64, add, has func(dst []bool, hs []uint64)) measuring.Subject {
	each := func(dst []bool, keys [][]byte, do func([]bool, []uint64)) {
		var hs [group]uint64
		for len(keys) > 0 {
			n := min(group, len(keys))
			for i, key := range keys[:n] {
				hs[i] = hash(key)
			}
			if dst == nil {
				do(nil, hs[:n])
			} else {
				do(dst[:n], hs[:n])
				dst = dst[n:]
			}
			keys = keys[n:]
		}
	}
	return measuring.Subject{
		Add:      func(keys [][]byte) { each(nil, keys, add) },
		Contains: func(dst []bool, keys [][]byte) { each(dst, keys, has) },
	}
}
