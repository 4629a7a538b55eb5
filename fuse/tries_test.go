package fuse_test

import (
	"testing"

	"github.com/bloomery/bloomery/fuse"
)

// The table of shapes in package sizing says that nine of ten builds succeed at
// once. Here are sizes that it does not name, and that none of them is far off.
func TestTries(t *testing.T) {
	for _, arity := range []int{3, 4} {
		var builder fuse.Builder[uint8]
		all, builds := 0, 0
		most := 300_000
		if testing.Short() {
			most = 10_000
		}
		for n := 3; n < most; n += 1 + n/4 {
			times := max(2, min(60, 100_000/n))
			sum := 0
			for i := range times {
				f, err := builder.Build(t.Context(), fuse.Config[uint8]{Arity: arity}, random(n, uint64(i)))
				if err != nil {
					t.Fatal(err)
				}
				sum += f.Tries()[0]
			}
			all, builds = all+sum, builds+times
			mean := float64(sum) / float64(times)
			t.Logf("arity %d, n = %d: %.2f tries", arity, n, mean)
			if times >= 60 && mean > 2 {
				t.Errorf("arity %d, n = %d: %.2f tries, want at most 2", arity, n, mean)
			}
		}
		if mean := float64(all) / float64(builds); mean > 1.3 {
			t.Errorf("arity %d: %.3f tries on average, want at most 1.3", arity, mean)
		} else {
			t.Logf("arity %d: %.3f tries on average", arity, mean)
		}
	}
}
