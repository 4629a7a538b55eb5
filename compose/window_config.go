package compose

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// WindowConfig describes a Window. It is for values that come from users, files
// or networks: its methods return errors where NewWindow panics.
type WindowConfig struct {
	_ struct{}

	// Capacity is the number of different keys per span, at least 1.
	Capacity int
	// ErrorRate is the false positive rate over all generations at Capacity:
	// more than 0 and less than 1.
	ErrorRate float64
	// Generations is how many a span has, 1 to 63; 0 stands for 6. More of them
	// follow the clock more closely and cost more memory and time.
	Generations int
	// Burst is how many times its even share, Capacity / Generations, one
	// generation may take, at least 1; 0 stands for 1.5, so that the fullest
	// generation may have 50% more. The rate is kept for every split of the keys
	// within it; more memory is the cost, see docs/choosing.md.
	Burst float64
	// Rotate gives every generation a secret of its own, derived from Hasher,
	// which must have a secret: whatever an adversary has learned is worthless
	// a span later. Lookups then cost one memory access for each generation.
	Rotate bool

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher
	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, beginning at a multiple of 8, better of 64. Nil means the Go
	// heap.
	Alloc func(bytes int) ([]byte, error)
}

// New returns a Window. Its errors wrap ErrParameter or ErrTooLarge, or are those
// of Alloc.
func (c WindowConfig) New() (*Window, error) {
	w, err := c.make()
	if err != nil {
		return nil, fmt.Errorf("compose: new window: %w", err)
	}
	return w, nil
}

func (c WindowConfig) make() (*Window, error) {
	if c.Capacity < 1 {
		return nil, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	}
	generations, burst := c.Generations, c.Burst
	if generations == 0 {
		generations = sizing.WindowGenerations
	}
	if burst == 0 {
		burst = sizing.WindowBurst
	}
	if c.Rotate && c.Hasher.Kind() == hashing.XXH3 {
		return nil, fmt.Errorf("%w: Rotate needs a Hasher with a secret, as hashing.Keyed returns it", bloomery.ErrParameter)
	}
	sized := sizing.WindowSize
	if c.Rotate {
		sized = sizing.Blocked.WindowSize // every block is somewhere else: small ones gain nothing
	}
	size, err := sized(uint64(c.Capacity), c.ErrorRate, generations, burst)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if err := memory.Fits(size.Bits() / 8); err != nil {
		return nil, err
	}
	words, err := memory.Array(int(size.Bits()/64), c.Alloc)
	if err != nil {
		return nil, err
	}
	w := &Window{window{hasher: c.Hasher, size: size, capacity: uint64(c.Capacity), rate: c.ErrorRate, rotate: c.Rotate}}
	w.attach(words)
	w.counts = make([]uint64, w.ways())
	return w, nil
}
