package quotient_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/quotient"
)

func TestNth(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 20_000 {
		x := r.Uint64()
		for range r.IntN(6) {
			x &= r.Uint64()
		}
		left := x
		for k := 0; left != 0; k++ {
			if got, want := quotient.Nth(x, k), bits.TrailingZeros64(left); got != want {
				t.Fatalf("nth(%#x, %d) = %d, want %d", x, k, got, want)
			}
			left &= left - 1
		}
		for k := bits.OnesCount64(x); k < 64; k++ {
			if got := quotient.Nth(x, k); got < 64 {
				t.Fatalf("nth(%#x, %d) = %d, want at least 64", x, k, got)
			}
		}
	}
}
