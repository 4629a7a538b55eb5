package fuse_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

var update = flag.Bool("update", false, "write golden files that do not exist yet")

// The files in testdata are the contract of the format: they must always be
// read, and the same keys must always give the same bytes. They are only
// added, never rewritten.
func TestGolden(t *testing.T) {
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	golden(t, "v1-fuse8", 200, fuse.Config[uint8]{})
	golden(t, "v1-fuse8-empty", 0, fuse.Config[uint8]{})
	golden(t, "v1-fuse8-4", 200, fuse.Config[uint8]{Arity: 4})
	golden(t, "v1-fuse16", 100, fuse.Config[uint16]{ErrorRate: 1e-4})
	golden(t, "v1-fuse16-4-shards", 100, fuse.Config[uint16]{Shards: 4})
	golden(t, "v1-fuse32", 80, fuse.Config[uint32]{ErrorRate: 1e-9, Hasher: hashing.Seeded(42)})
	golden(t, "v1-fuse8-keyed", 80, fuse.Config[uint8]{Hasher: key})
	// The hashes of these keys are so bad that seed 0 fails.
	bad := hashing.Func(func(key []byte) uint64 { return uint64(key[len(key)-1]) })
	golden(t, "v1-fuse8-seed", 10, fuse.Config[uint8]{Hasher: bad})
	golden(t, "v1-fuse8-4-seed", 10, fuse.Config[uint8]{Hasher: bad, Arity: 4})
}

func golden[T fuse.Fingerprint](t *testing.T, name string, keys int, c fuse.Config[T]) {
	t.Helper()
	var hs []uint64
	for i := range keys {
		hs = append(hs, c.Hasher.HashString(fmt.Sprintf("key %d", i)))
	}
	got := encoded(t, built(t, c, hs))
	path := filepath.Join("testdata", name+".golden")
	if _, err := os.Stat(path); os.IsNotExist(err) && *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the same keys give other bytes than %s", path)
	}
	f := built(t, fuse.Config[T]{Hasher: c.Hasher}, nil)
	if err := f.UnmarshalBinary(want); err != nil {
		t.Fatalf("%s is not read any more: %v", path, err)
	}
	for i := range keys {
		if k := fmt.Sprintf("key %d", i); !f.ContainsString(k) {
			t.Errorf("%s: %q is missing", path, k)
		}
	}
}
