package routes_test

import (
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/routes"
)

// TestSort sorts hashes by their part, with memory that was used for more and
// for fewer of them before.
func TestSort(t *testing.T) {
	var r routes.Table
	for _, n := range []int{100, 0, 1, 300, 7} {
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = uint64(i+1) * 0x9e3779b97f4a7c15
		}
		for _, log := range []uint{0, 1, 4, 10} {
			r.Sort(hashes, log)
			end := 0
			for part := range 1 << log {
				from, to := end, end
				if slices.Contains(r.Used, uint16(part)) {
					from, to = r.Of(part)
				}
				want := slices.DeleteFunc(slices.Clone(hashes), func(h uint64) bool { return bloomery.Route(h, log) != part })
				if from != end || !slices.Equal(r.Hashes[from:to], want) {
					t.Fatalf("%d hashes, part %d of %d: from %d to %d are others, or in another order", n, part, 1<<log, from, to)
				}
				end = to
			}
			if len(r.Used) > n || !slices.IsSorted(r.Used) {
				t.Errorf("%d hashes are in %d parts: %v", n, len(r.Used), r.Used)
			}
			if end != n || len(r.Bools) != n {
				t.Errorf("%d hashes, the parts have %d, and room for %d answers", n, end, len(r.Bools))
			}
			for i, h := range hashes {
				if r.Hashes[r.Place[i]] != h || int(r.Part[i]) != bloomery.Route(h, log) {
					t.Fatalf("hash %d is at %d in part %d", i, r.Place[i], r.Part[i])
				}
			}
		}
	}
}
