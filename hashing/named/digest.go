package named

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Digest returns the hash for keys that are digests already, such as SHA-1 sums as raw bytes: their
// first 8 bytes, in little-endian order, mixed once. What comes behind is not looked at, and a
// shorter key counts as one with zeros behind it: it is for nothing else than digests.
func Digest() hashing.Hasher { return hashing.Func(DigestHash) }

// DigestHash is the hash of Digest. Who has many digests saves the copy of each that a
// hashing.Hasher makes for a function, and gives these hashes to the methods that take them.
func DigestHash(digest []byte) uint64 {
	if len(digest) < 8 {
		var b [8]byte
		copy(b[:], digest)
		digest = b[:]
	}
	return murmur.Finish(binary.LittleEndian.Uint64(digest))
}
