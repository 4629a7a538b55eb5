package kernel

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// point is one bit of a key.
type point struct {
	lane int
	bit  uint
}

// reference computes the block and the bits of a key from the words of the
// comment in layout.go, and from nothing else: big numbers, a loop over lanes.
func reference(n, k int, h uint64) (block int, points []point) {
	product := new(big.Int).Mul(new(big.Int).SetUint64(h), big.NewInt(int64(n)))
	upper, lower := halves(product)
	start := int(lower >> 61)
	y := (h ^ h>>32) * 0x9fb21c651e98df25
	hi, lo := halves(new(big.Int).Mul(new(big.Int).SetUint64(y), new(big.Int).SetUint64(0xd6e8feb86659fd93)))
	y2 := hi ^ lo
	for i := range k {
		lane, word := (start+i)%8, y
		if k > 8 && i < 8 {
			lane = i
		}
		if i >= 8 {
			lane, word = (start+i-8)%8, y2
		}
		points = append(points, point{lane, uint(word>>(8*lane)) % 64})
	}
	return int(upper), points
}

func halves(x *big.Int) (upper, lower uint64) {
	mask := new(big.Int).SetUint64(1<<64 - 1)
	return new(big.Int).Rsh(x, 64).Uint64(), new(big.Int).And(x, mask).Uint64()
}

func referenceHas(blocks []Block, k int, h uint64) bool {
	b, points := reference(len(blocks), k, h)
	for _, p := range points {
		if blocks[b][p.lane]>>p.bit&1 == 0 {
			return false
		}
	}
	return true
}

func referenceSet(blocks []Block, k int, h uint64) bool {
	fresh := !referenceHas(blocks, k, h)
	b, points := reference(len(blocks), k, h)
	for _, p := range points {
		blocks[b][p.lane] |= 1 << p.bit
	}
	return fresh
}

// TestReference holds the Go code to the comment of layout.go.
func TestReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for k := 1; k <= MaxK; k++ {
		for _, n := range []int{1, 2, 3, 7, 64, 1009} {
			got, want := make([]Block, n), make([]Block, n)
			for range min(40*n, 4000) {
				h := r.Uint64()
				if g, w := goSet(got, k, h), referenceSet(want, k, h); g != w {
					t.Fatalf("k=%d n=%d: goSet(%#x) = %v, want %v", k, n, h, g, w)
				}
				h = r.Uint64()
				if g, w := goHas(got, k, h), referenceHas(want, k, h); g != w {
					t.Fatalf("k=%d n=%d: goHas(%#x) = %v, want %v", k, n, h, g, w)
				}
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("k=%d n=%d: block %d = %#x, want %#x", k, n, i, got[i], want[i])
				}
			}
		}
	}
}
