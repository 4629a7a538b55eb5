package kernel

import "testing"

// A prefetch cannot be seen, but must neither fault nor change anything, for
// keys that no array has room for, too.
func TestAhead(t *testing.T) {
	table := make([]byte, 1<<12)
	hs := []uint64{0, 1, 1 << 63, 1<<64 - 1, 0x9e3779b97f4a7c15}
	for _, tier := range tiers() {
		use(t, tier)
		if CanPrefetch() != (tier != "go") {
			t.Errorf("%s: CanPrefetch() = %v", tier, CanPrefetch())
		}
		for _, four := range []bool{false, true} {
			for scale := range uint(3) {
				a := Ahead{Table: &table[0], Scale: scale, Starts: 1 << 40, Length: 1 << 10, Four: four}
				for n := range len(hs) + 1 {
					a.Prefetch(hs[:n])
				}
			}
		}
	}
	for i, b := range table {
		if b != 0 {
			t.Fatalf("byte %d has changed", i)
		}
	}
}
