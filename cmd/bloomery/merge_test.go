package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/hashing"
)

// The number of keys in two filters is estimated by inclusion and exclusion:
// the bits that both have by chance would make 412 keys of disjoint sets.
func TestKeysInCommon(t *testing.T) {
	dir := t.TempDir()
	filter := func(name string, first, n uint64) string {
		f := bloom.New(1000, 0.01)
		for i := range n {
			f.AddHash(f.Hasher().HashUint64(first + i))
		}
		path := filepath.Join(dir, name)
		if err := file.WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := filter("a", 0, 1000)
	for _, common := range []uint64{0, 500, 1000} {
		b := filter("b", 1000-common, 1000)
		// Three counts, each off by about 15 keys (sigma).
		if got := keysInCommon(t.Context(), []string{a, b}, hashing.Hasher{}); math.Abs(float64(got)-float64(common)) > 100 {
			t.Errorf("%d keys in common: the estimate is %d", common, got)
		}
		if got := keysInCommon(t.Context(), []string{a, b, a}, hashing.Hasher{}); got != unknownItems {
			t.Errorf("three filters: the estimate is %d, want none", got)
		}
	}
}
