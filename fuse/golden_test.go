package fuse_test

import (
	"slices"
	"testing"

	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// The files in testdata are the contract of the format, see package golden.
func TestGolden(t *testing.T) {
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	check(t, "v1-fuse8", 200, fuse.Config[uint8]{})
	check(t, "v1-fuse8-empty", 0, fuse.Config[uint8]{})
	check(t, "v1-fuse8-4", 200, fuse.Config[uint8]{Arity: 4})
	check(t, "v1-fuse16", 100, fuse.Config[uint16]{ErrorRate: 1e-4})
	check(t, "v1-fuse16-4-shards", 100, fuse.Config[uint16]{Shards: 4})
	check(t, "v1-fuse32", 80, fuse.Config[uint32]{ErrorRate: 1e-9, Hasher: hashing.Seeded(42)})
	check(t, "v1-fuse8-keyed", 80, fuse.Config[uint8]{Hasher: key})
	// The hashes of these keys are so bad that seed 0 fails.
	bad := hashing.Func(func(key []byte) uint64 { return uint64(key[len(key)-1]) })
	check(t, "v1-fuse8-seed", 10, fuse.Config[uint8]{Hasher: bad})
	check(t, "v1-fuse8-4-seed", 10, fuse.Config[uint8]{Hasher: bad, Arity: 4})
}

func check[T fuse.Fingerprint](t *testing.T, name string, keys int, c fuse.Config[T]) {
	t.Helper()
	hashes := golden.Hashes(keys, c.Hasher.Hash)
	golden.Filter(t, name, built(t, c, slices.Clone(hashes)), built(t, fuse.Config[T]{Hasher: c.Hasher}, nil), hashes)
}
