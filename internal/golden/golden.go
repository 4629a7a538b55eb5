// Package golden compares encodings with the files in testdata that are the contract of
// the format: they must always be read, and the same keys must always give the same
// bytes. They are only added (go test -update), never rewritten.
package golden

import (
	"bytes"
	"encoding"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write golden files that do not exist yet")

// File returns the golden file of this name, which must hold the bytes got.
func File(t testing.TB, name string, got []byte) []byte {
	t.Helper()
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
	return want
}

// Encoded is what Filter needs of a filter.
type Encoded interface {
	ContainsHash(h uint64) bool
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Filter compares the encoding of a filter with the golden file of this name, reads the
// file into another filter, which was made alike, and asks that it finds the same of
// these hashes.
func Filter(t testing.TB, name string, made, alike Encoded, hashes []uint64) {
	t.Helper()
	data, err := made.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := alike.UnmarshalBinary(File(t, name, data)); err != nil {
		t.Fatalf("the golden file is not read any more: %v", err)
	}
	for i, h := range hashes {
		if got, want := alike.ContainsHash(h), made.ContainsHash(h); got != want {
			t.Errorf("key %d: contained %v, want %v", i, got, want)
		}
	}
}

// Hashes returns the hashes of the keys "key 0", "key 1" and so on.
func Hashes(n int, hash func(key []byte) uint64) []uint64 {
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = hash(fmt.Appendf(nil, "key %d", i))
	}
	return hashes
}
