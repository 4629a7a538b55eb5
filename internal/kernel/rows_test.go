package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAndRows compares every tier with a loop over bits, for every length of a
// row, misaligned, with guards around dst.
func TestAndRows(t *testing.T) {
	const count = 37
	r := rand.New(rand.NewPCG(31, 1))
	for length := 1; length <= MaxRow; length++ {
		for n := range 20 {
			shift := n % 4
			rows := make([]uint64, shift+count*length)[shift:]
			for i := range rows {
				rows[i] = r.Uint64() | r.Uint64() | r.Uint64()
			}
			at := make([]uint64, n)
			for i := range at {
				at[i] = uint64(r.IntN(count))
			}
			before := make([]uint64, length)
			for i := range before {
				before[i] = r.Uint64() | r.Uint64()
			}
			want := slices.Clone(before)
			for _, row := range at {
				for column := range 64 * length {
					if rows[int(row)*length+column/64]>>(column%64)&1 == 0 {
						want[column/64] &^= 1 << (column % 64)
					}
				}
			}
			for _, tier := range tiers() {
				use(t, tier)
				room := make([]uint64, length+8)
				for i := range room {
					room[i] = guard
				}
				dst := room[3 : 3+length]
				copy(dst, before)
				AndRows(dst, rows, at)
				if !slices.Equal(dst, want) {
					t.Fatalf("%s, %d rows of %d words: %x, want %x", tier, n, length, dst, want)
				}
				if room[2] != guard || room[3+length] != guard {
					t.Fatalf("%s, %d rows of %d words: wrote outside of dst", tier, n, length)
				}
			}
		}
	}
}

func TestAndRowsPanics(t *testing.T) {
	for _, tier := range tiers() {
		use(t, tier)
		panics(t, tier+": no words", badRow, func() { AndRows(nil, make([]uint64, 4), []uint64{0}) })
		panics(t, tier+": 17 words", badRow, func() { AndRows(make([]uint64, 17), make([]uint64, 17), []uint64{0}) })
	}
}

func TestAndRowsAllocs(t *testing.T) {
	rows := make([]uint64, 160)
	for _, tier := range tiers() {
		use(t, tier)
		if n := testing.AllocsPerRun(20, func() {
			var dst [16]uint64
			var at [8]uint64
			AndRows(dst[:], rows, at[:])
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", tier, n)
		}
	}
}
