package quotient_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/quotient"
)

// TestMemoryByBitsPerKey asks that a filter takes no more memory than it may, as much
// of it as makes a lower rate, and that too little is refused.
func TestMemoryByBitsPerKey(t *testing.T) {
	const capacity, bits = 100_000, 14.0
	f, err := quotient.Config{Capacity: capacity, BitsPerKey: bits}.New()
	if err != nil {
		t.Fatal(err)
	}
	s := f.Stats()
	if got := float64(s.Bits) / capacity; got > bits || got < bits-1.5 {
		t.Errorf("%g bits for each key, want at most %g", got, bits)
	}
	more, err := quotient.Config{Capacity: capacity, BitsPerKey: bits + 4}.New()
	if err != nil || !(more.Stats().Asked < s.Asked/4) {
		t.Errorf("a rate of %g with 4 bits more, %g without: %v", more.Stats().Asked, s.Asked, err)
	}
	for _, c := range []quotient.Config{
		{Capacity: capacity, BitsPerKey: 1}, {Capacity: 0, BitsPerKey: bits}, {Capacity: capacity, BitsPerKey: bits, ErrorRate: 0.01},
	} {
		if f, err := c.New(); !errors.Is(err, bloomery.ErrParameter) || f != nil {
			t.Errorf("%+v: %v, %v, want ErrParameter", c, f, err)
		}
	}
}
