package exact_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/ribbon"
)

// BenchmarkContains times lookups beside those of a ribbon filter of the first
// stage's rate.
func BenchmarkContains(b *testing.B) {
	const n, all = 100_000, 7_000_000
	hs := hashes(all, 1)
	f := built(b, exact.Config{}, hs[:n], hs[n:])
	first, err := ribbon.Config{ErrorRate: 1. / 64, Width: 128}.Build(b.Context(), hs[:n])
	if err != nil {
		b.Fatal(err)
	}
	for hit, asked := range [][]uint64{hs[n : n+1<<16], hs[:1<<16]} {
		for name, has := range map[string]func(uint64) bool{"exact": f.ContainsHash, "ribbon": first.ContainsHash} {
			b.Run(fmt.Sprintf("%s/hit=%d", name, hit), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					has(asked[i&(len(asked)-1)])
				}
			})
		}
	}
}
