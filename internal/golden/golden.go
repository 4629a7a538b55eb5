// Package golden compares encodings with the files in testdata that are the contract of
// the format: they must always be read, and the same keys must always give the same
// bytes. They are only added (go test -update), never rewritten.
package golden

import (
	"bytes"
	"flag"
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
