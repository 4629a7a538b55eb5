package bloomery_test

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/bloomery/bloomery"
)

// hash is a sequence of hashes without structure.
func hash(i uint64) uint64 {
	hi, lo := bits.Mul64(i+1, 0xd1342543de82ef95)
	return (hi ^ lo) * 0x9e3779b97f4a7c15
}

// A million hashes in 64 parts: each part has 15,625 with a standard deviation
// of 124; 5 of them leave a chance of 1 in 27,000 to fail at random.
func TestRouteIsEven(t *testing.T) {
	const n, parts = 1_000_000, 64
	var count [parts]int
	for i := range uint64(n) {
		count[bloomery.Route(hash(i), 6)]++
	}
	sigma := math.Sqrt(float64(n) / parts * (1 - 1.0/parts))
	for part, got := range count {
		if math.Abs(float64(got)-n/parts) > 5*sigma {
			t.Errorf("part %d has %d of %d keys", part, got, n)
		}
	}
}

// The keys of one part must lie everywhere in a filter: their top bits, which
// filters use for positions, must be as even as those of all keys.
func TestRouteIsIndependentOfPositions(t *testing.T) {
	const n, cells = 1_000_000, 16
	var count [cells]int
	total := 0
	for i := range uint64(n) {
		if h := hash(i); bloomery.Route(h, 4) == 5 {
			count[h>>60]++
			total++
		}
	}
	sigma := math.Sqrt(float64(total) / cells)
	for cell, got := range count {
		if math.Abs(float64(got)-float64(total)/cells) > 5*sigma {
			t.Errorf("of %d keys in part 5, %d have %d for their top bits", total, got, cell)
		}
	}
}

func TestRouteRange(t *testing.T) {
	for i := range uint64(1000) {
		if got := bloomery.Route(hash(i), 0); got != 0 {
			t.Fatalf("Route(h, 0) = %d", got)
		}
		if got := bloomery.Route(hash(i), 30); got < 0 || got >= 1<<30 {
			t.Fatalf("Route(h, 30) = %d", got)
		}
	}
}

// Hashes of one key under two salts agree in a bit half of the time: over
// 100,000 keys the share is 0.5 with a standard deviation of 0.0016.
func TestSaltedIsIndependent(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	const n = 100_000
	for _, salts := range [][2]uint64{{0, 1}, {1, 2}, {7, 1 << 63}} {
		for bit := range 64 {
			agree := 0
			for i := range uint64(n) {
				h := hash(i)
				d := bloomery.Salted(h, salts[0]) ^ bloomery.Salted(h, salts[1])
				agree += int(d >> bit & 1)
			}
			if share := float64(agree) / n; math.Abs(share-0.5) > 5*0.5/math.Sqrt(n) {
				t.Errorf("salts %v: bit %d differs for %.4f of the keys", salts, bit, share)
			}
		}
	}
}

// Where keys live is part of the file formats: these values must never change.
func TestRouteAndSaltedStay(t *testing.T) {
	if got, want := fmt.Sprintf("%#x", bloomery.Salted(1, 2)), "0xf2826f98653e9e57"; got != want {
		t.Errorf("Salted(1, 2) = %s, want %s", got, want)
	}
	if got, want := bloomery.Route(12345, 10), 973; got != want {
		t.Errorf("Route(12345, 10) = %d, want %d", got, want)
	}
}

func ExampleRoute() {
	// One of four parts for each key, by its hash.
	for _, h := range []uint64{0x1111111111111111, 0x2222222222222222, 0x3333333333333333} {
		fmt.Println(bloomery.Route(h, 2))
	}
	// Output:
	// 3
	// 3
	// 0
}
