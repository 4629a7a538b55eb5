package sizing_test

import (
	"fmt"
	"testing"
)

func BenchmarkSize(b *testing.B) {
	for _, l := range layouts {
		for _, p := range []float64{1e-2, 1e-4, 1e-6} {
			for _, n := range []uint64{100, 1e6, 1e9} {
				b.Run(fmt.Sprintf("layout=%v/p=%.0e/n=%.0e", l, p, float64(n)), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := l.Size(n, p); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkRate(b *testing.B) {
	for _, l := range layouts {
		for _, p := range []float64{1e-2, 1e-6} {
			s, err := l.Size(1e6, p)
			if err != nil {
				b.Fatal(err)
			}
			for _, load := range []float64{1, 10} {
				b.Run(fmt.Sprintf("layout=%v/p=%.0e/load=%v", l, p, load), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						s.Rate(load * 1e6)
					}
				})
			}
		}
	}
}
