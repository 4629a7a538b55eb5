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

// Nor do prefetches of bits and bytes, whatever the places.
func TestPrefetch(t *testing.T) {
	table := make([]byte, 1<<12)
	words := []uint64{0, 1, 1 << 63, 1<<64 - 1, 0x9e3779b97f4a7c15, 3, 1<<64 - 1, 1 << 15}
	for _, tier := range tiers() {
		use(t, tier)
		for _, bits := range []uint64{1, 3, 1<<15 - 8, 1 << 15, 1<<64 - 1} {
			for k := range 10 {
				for n := range len(words)/2 + 1 {
					PrefetchBits(table, bits, ^uint64(0)/bits, &words[0], n, k)
				}
			}
		}
		for n := range len(words) + 1 {
			PrefetchAt(table, words[:n])
		}
		PrefetchBits(nil, 1, 1, &words[0], 1, 1)
		PrefetchAt(nil, words)
	}
	for i, b := range table {
		if b != 0 {
			t.Fatalf("byte %d has changed", i)
		}
	}
}
