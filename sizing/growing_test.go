package sizing_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// TestGrowingSteps checks that three steps make a doubling: each has 2^(1/3) times
// the slots of the one before, rounded up.
func TestGrowingSteps(t *testing.T) {
	for slots, want := range map[int][3]int{64: {41, 51, 64}, 51: {33, 41, 51}} {
		if got := (sizing.Growing{Slots: slots, Bits: 8}).Steps(); got != want {
			t.Errorf("%d slots grow by %v, want %v", slots, got, want)
		}
	}
	if got := (sizing.Quotient{Blocks: 1, Slots: 64, Remainder: 8}).GrowingLimit(); got != 60 {
		t.Errorf("a block of 64 slots grows with %d keys, want 60: 95%% of them", got)
	}
}

// TestGrowingSizeRefuses asks for more keys than there can be, now or later.
func TestGrowingSizeRefuses(t *testing.T) {
	for _, c := range [][2]uint64{{1<<48 + 1, 0}, {1, 1<<48 + 1}} {
		if g, err := sizing.GrowingSize(c[0], 0.01, c[1]); !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("GrowingSize(%d, 0.01, %d) = %+v, %v, want ErrTooLarge", c[0], c[1], g, err)
		}
	}
}

// TestGrownStopsWithTheHash checks that a filter does not double once address and
// fingerprint have all bits of a hash: from then on only the rate rises.
func TestGrownStopsWithTheHash(t *testing.T) {
	g, err := sizing.GrowingSize(1000, 1e-12, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, rate := g.Grown(1000, 1<<45)
	sizeLater, rateLater := g.Grown(1000, 1<<47)
	if size != sizeLater || rate >= rateLater {
		t.Errorf("2^45 keys: %d bits, rate %g; 2^47 keys: %d bits, rate %g", size, rate, sizeLater, rateLater)
	}
}
