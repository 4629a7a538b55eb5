package memory

import "testing"

// BenchmarkFirst times what the system does for the pages of a new array: the first write to a huge page and to a small one, the
// first read of a small one, and Touch, whose pauses count.
func BenchmarkFirst(b *testing.B) {
	const n, small = 256 << 20, 4 << 10
	each := func(write bool, page int) func([]byte) {
		return func(array []byte) {
			for i := 0; i < len(array); i += page {
				if write {
					array[i] = 1
				} else if array[i] != 0 {
					panic("a new array is not empty")
				}
			}
		}
	}
	for _, v := range []struct {
		name string
		make func(int) ([]byte, error)
		page int
		do   func([]byte)
	}{
		{"write/huge", Map, hugePage, each(true, hugePage)},
		{"write/small", mapSmall, small, each(true, small)},
		{"read/small", mapSmall, small, each(false, small)},
		{"touch", Map, hugePage, func(array []byte) { Touch(array, nil) }},
	} {
		b.Run(v.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				array, err := v.make(n)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				v.do(array)
				b.StopTimer()
				if err := Unmap(array); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			took := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(took/(n/float64(v.page))*1e6, "µs/page")
			b.ReportMetric(took*(1<<30)/n, "s/GiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
