package follow_test

import (
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/follow"
)

// BenchmarkLookups compares lookups in a copy with those in the same filter alone.
func BenchmarkLookups(b *testing.B) {
	dir := b.TempDir()
	data := encoded(b, 1_000_000, 1_000_000)
	published(b, dir, data, follow.PublishConfig{})
	f := opened(b, follow.Config{Address: dir})
	bare := must(codec.Config{}.View(data))
	hs, found := make([]uint64, 1000), make([]bool, 1000)
	for i := range hs {
		hs[i] = f.Hash([]byte{byte(i), byte(i >> 8)})
	}
	b.Run("single/bare", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			found[0] = bare.ContainsHash(hs[i%1000])
		}
	})
	b.Run("single/followed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			found[0] = f.ContainsHash(hs[i%1000])
		}
	})
	b.Run("batch/bare", func(b *testing.B) {
		for b.Loop() {
			bare.ContainsHashes(found, hs)
		}
	})
	b.Run("batch/followed", func(b *testing.B) {
		for b.Loop() {
			f.ContainsHashes(found, hs)
		}
	})
}
