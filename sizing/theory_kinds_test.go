package sizing_test

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery/sizing"
)

// tableLayers follows a filter that begins with 1,000 keys at 1% and doubles.
func tableLayers(w io.Writer) {
	fmt.Fprintln(w, "layers       rate   bits/key   holds in all   against one filter: just made    full")
	total, before, capacity := 0.0, uint64(0), uint64(1000)
	for i := 1; i <= 15; i++ {
		p := 0.01 * sizing.LayerShare(i)
		s := mustSize(sizing.Blocked, capacity, p)
		total += float64(s.Bits)
		all := before + capacity
		one := func(n uint64) float64 { return float64(mustSize(sizing.Blocked, n, 0.01).Bits) }
		made := "      -"
		if before > 0 {
			made = fmt.Sprintf("%7.2f", total/one(before))
		}
		if i <= 4 || i%5 == 0 {
			fmt.Fprintf(w, "%6d  %8.5f%%  %9.2f  %13d  %29s  %6.2f\n", i, 100*p, float64(s.Bits)/float64(capacity), all, made, total/one(all))
		}
		before = all
		capacity *= 2
	}
}
