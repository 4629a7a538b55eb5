package kernel

import (
	"math/rand/v2"
	"testing"
)

// counts is an array of counters written down as numbers.
type counts struct {
	n      uint64
	k      int
	full   uint64
	number map[[2]uint64]uint64 // by block and place
}

func (c *counts) places(h uint64) (keys [][2]uint64) {
	var at [MaxK]uint16
	block, n := Places(&at, c.n, c.k, h)
	for _, p := range at[:n] {
		keys = append(keys, [2]uint64{block, uint64(p)})
	}
	return keys
}

func (c *counts) least(h uint64) uint64 {
	low := c.full
	for _, at := range c.places(h) {
		low = min(low, c.number[at])
	}
	return low
}

func (c *counts) increase(h uint64) (room bool) {
	for _, at := range c.places(h) {
		if c.number[at] < c.full {
			c.number[at]++
			room = true
		}
	}
	return room
}

func (c *counts) decrease(h uint64) bool {
	if c.least(h) == 0 {
		return false
	}
	for _, at := range c.places(h) {
		if c.number[at] < c.full {
			c.number[at]--
		}
	}
	return true
}

// same compares all counts.
func (c *counts) same(t *testing.T, blocks, planes []Block, width int) {
	t.Helper()
	for i := range blocks {
		for p := range uint64(512) {
			got := blocks[i][p>>6] >> (p & 63) & 1
			var counter uint64
			for j := range width {
				counter |= planes[i*width+j][p>>6] >> (p & 63) & 1 << j
			}
			if got == 0 && counter != 0 {
				t.Fatalf("k = %d, width %d: block %d, place %d: clear with counter %d", c.k, width, i, p, counter)
			}
			if got += counter; got != c.number[[2]uint64{uint64(i), p}] {
				t.Fatalf("k = %d, width %d: block %d, place %d: count %d, want %d", c.k, width, i, p, got, c.number[[2]uint64{uint64(i), p}])
			}
		}
	}
}

// A random history in planes and in numbers, with few enough blocks and keys
// that counters fill up.
func TestPlanesCount(t *testing.T) {
	for k := 1; k <= MaxK; k++ {
		for _, width := range []int{1, 2, 4, 8} {
			r := rand.New(rand.NewPCG(uint64(k), uint64(width)))
			blocks := make([]Block, 3)
			planes := make([]Block, len(blocks)*width)
			c := &counts{uint64(len(blocks)), k, 1 << width, map[[2]uint64]uint64{}}
			keys := make([]uint64, 60)
			for i := range keys {
				keys[i] = r.Uint64()
			}
			for step := range 3000 {
				h := keys[r.IntN(len(keys))]
				switch {
				case step%7 == 0:
					h = r.Uint64() // as a rule one that is not there
					fallthrough
				case step%3 == 0:
					if got, want := Decrease(blocks, planes, width, k, h), c.decrease(h); got != want {
						t.Fatalf("k = %d, width %d: Decrease = %v, want %v", k, width, got, want)
					}
				default:
					if got, want := Increase(blocks, planes, width, k, h), c.increase(h); got != want {
						t.Fatalf("k = %d, width %d: Increase = %v, want %v", k, width, got, want)
					}
				}
				if got, want := Least(blocks, planes, width, k, h), c.least(h); got != want {
					t.Fatalf("k = %d, width %d: Least = %d, want %d", k, width, got, want)
				}
			}
			c.same(t, blocks, planes, width)
		}
	}
}

// A random history of refreshed keys and swept blocks, in planes and in numbers.
func TestPlanesForget(t *testing.T) {
	step, keys := 1, 400
	if testing.Short() {
		step, keys = 7, 50
	}
	for k := 1; k <= MaxK; k += step {
		for _, width := range []int{1, 2, 4, 8} {
			r := rand.New(rand.NewPCG(uint64(k), uint64(width)))
			blocks := make([]Block, 3)
			planes := make([]Block, len(blocks)*width)
			c := &counts{uint64(len(blocks)), k, 1 << width, map[[2]uint64]uint64{}}
			for range keys {
				h := r.Uint64()
				Refresh(blocks, planes, width, k, h)
				for _, at := range c.places(h) {
					c.number[at] = c.full
				}
				block := r.Uint64N(c.n)
				Sweep(blocks, planes, width, block)
				for at, n := range c.number {
					if at[0] == block && n > 0 {
						c.number[at]--
					}
				}
				if got, want := Least(blocks, planes, width, k, h), c.least(h); got != want {
					t.Fatalf("k = %d, width %d: Least = %d, want %d", k, width, got, want)
				}
			}
			c.same(t, blocks, planes, width)
		}
	}
}

func TestPlanesPanic(t *testing.T) {
	blocks, planes := make([]Block, 1), make([]Block, 4)
	for name, run := range map[string]func(){
		"Increase, k = 0":   func() { Increase(blocks, planes, 4, 0, 1) },
		"Increase, k = 17":  func() { Increase(blocks, planes, 4, 17, 1) },
		"Decrease, k = 0":   func() { Decrease(blocks, planes, 4, 0, 1) },
		"Least, k = 17":     func() { Least(blocks, planes, 4, 17, 1) },
		"Refresh, k = 0":    func() { Refresh(blocks, planes, 4, 0, 1) },
		"Increase, nothing": func() { Increase(nil, nil, 4, 3, 1) },
		"Decrease, nothing": func() { Decrease(nil, nil, 4, 3, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			run()
		}()
	}
}
