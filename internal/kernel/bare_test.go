package kernel

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Blocks at any address answer what they do where words are aligned, and what the words
// of layout.go say.
func TestHasBare(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := 1; k <= MaxK; k++ {
		for _, n := range []int{1, 2, 3, 64, 1000} {
			a := newArena(n, 0)
			a.half(r, k)
			for shift := range 9 {
				data := make([]byte, shift, shift+n*BlockBytes)
				for _, w := range Words(a.blocks) {
					data = binary.LittleEndian.AppendUint64(data, w)
				}
				for _, h := range hashes(r, 100) {
					got, want := HasBare(data[shift:], k, h), referenceHas(a.blocks, k, h)
					if got != want || got != goHas(a.blocks, k, h) {
						t.Fatalf("k = %d, %d blocks, address %d: HasBare(%#x) = %v, want %v", k, n, shift, h, got, want)
					}
				}
			}
		}
	}
}
