package teach

// A counting filter with its array.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/sizing"
)

// maxCounterBits is the width of counters.
const maxCounterBits = 4

// counters is a counting filter with its array: the bits of all blocks, and then
// for each block as many planes of 512 bits as a counter has bits.
type counters struct {
	*counting.Filter
	array
	fresh func() (*counting.Filter, *array, error)
	bits  int
}

func newCounters(bits, hashes int) (machine, error) {
	c := &counters{bits: bits}
	c.fresh = func() (*counting.Filter, *array, error) {
		var a array
		f, err := counting.Config{Bits: uint64(bits), Hashes: hashes, CounterBits: maxCounterBits, Alloc: a.take}.New()
		return f, &a, err
	}
	f, a, err := c.fresh()
	if err != nil {
		return nil, err
	}
	c.Filter, c.array = f, *a
	return c, nil
}

func (c *counters) add(key string) error   { return c.InsertString(key) }
func (c *counters) has(key string) bool    { return c.ContainsString(key) }
func (c *counters) remove(key string) bool { return c.DeleteString(key) }
func (c *counters) stats() bloomery.Stats  { return c.Stats() }
func (c *counters) panels() []Panel        { return panelsOf("block", c.bits, sizing.BlockBits) }
func (c *counters) fills()                 {}

// values returns the counts: a set bit with counter n is the count n + 1.
func (c *counters) values() []int {
	v := c.bitValues(c.bits)
	for i := range v {
		if v[i] == 0 {
			continue
		}
		block, bit := i/sizing.BlockBits, i%sizing.BlockBits
		for plane := range maxCounterBits {
			v[i] += c.bit(c.bits+(block*maxCounterBits+plane)*sizing.BlockBits+bit) << plane
		}
	}
	return v
}

func (c *counters) place(key string) place {
	f, a, err := c.fresh()
	if err != nil || f.InsertString(key) != nil {
		return place{}
	}
	return place{cells: a.ones(c.bits)}
}
