package teach

// A filter whose memory can be seen.

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// machine is a filter whose memory can be seen.
type machine interface {
	add(key string) error
	has(key string) bool
	// values returns the values of all cells.
	values() []int
	// panels returns how cells lie.
	panels() []Panel
	// place returns the cells of a key.
	place(key string) place
	stats() bloomery.Stats
}

// remover is a machine that can delete.
type remover interface{ remove(key string) bool }

// ager is a machine that forgets: advance clears the oldest panel and makes it
// the one to which keys are added, which is present.
type ager interface {
	advance()
	present() int
	labels() []string
}

// filler is a machine that takes any key, so that it can be filled.
type filler interface{ fills() }

// teller is a machine that describes its steps itself.
type teller interface{ tell(v Step) string }

// place is where a key is in a filter.
type place struct {
	cells []int
	// mark is the value that the key gives to a cell if it is not just any: the
	// fingerprint of a cuckoo filter.
	mark int
}

// chains cuts the cells of a key into those of which all must be set: all of them,
// or those of each layer or generation, any of which can hold the key.
func chains(m machine, cells []int) [][]int {
	if b, ok := m.(*beside); ok {
		return b.split(cells)
	}
	_, ages := m.(ager)
	if _, grows := m.(*layers); !grows && !ages {
		return [][]int{cells}
	}
	var all [][]int
	for _, p := range m.panels() {
		in := p.within(cells)
		if len(in) > 0 {
			all = append(all, in)
		}
	}
	return all
}

// within keeps the cells that lie in the panel.
func (p Panel) within(cells []int) []int {
	return slices.DeleteFunc(slices.Clone(cells), func(c int) bool { return c < p.First || c >= p.First+p.Cells })
}

// abilities returns what a machine can do.
func abilities(m machine) []string {
	can := []string{"add", "ask"}
	if _, ok := m.(remover); ok {
		can = append(can, "delete")
	}
	if _, ok := m.(*corrections); ok {
		can = append(can, "report")
	}
	if _, ok := m.(filler); ok {
		can = append(can, "fill")
	}
	if _, ok := m.(ager); ok {
		can = append(can, "advance")
	}
	return can
}

// array is the memory that a filter was given: its Config.Alloc is take.
type array struct{ bytes []byte }

// take implements Config.Alloc.
func (a *array) take(n int) ([]byte, error) {
	a.bytes = memory.Bytes(n)
	return a.bytes, nil
}

func (a *array) word(i int) uint64 { return binary.NativeEndian.Uint64(a.bytes[8*i:]) }

func (a *array) bit(i int) int { return int(a.word(i/64) >> (i % 64) & 1) }

// ones returns the first n bits that are set.
func (a *array) ones(n int) []int {
	var set []int
	for w := range (n + 63) / 64 {
		for x := a.word(w); x != 0; x &= x - 1 {
			if i := 64*w + bits.TrailingZeros64(x); i < n {
				set = append(set, i)
			}
		}
	}
	return set
}

// bitValues returns the first n bits as values.
func (a *array) bitValues(n int) []int {
	v := make([]int, n)
	for _, i := range a.ones(n) {
		v[i] = 1
	}
	return v
}

// panelsOf cuts n cells into panels of the same length.
func panelsOf(name string, n, each int) []Panel {
	var all []Panel
	for first := 0; first < n; first += each {
		p := Panel{Name: name, First: first, Cells: each, Columns: columns, Group: group}
		if each < n {
			p.Name += " " + number(len(all)+1)
		}
		all = append(all, p)
	}
	return all
}

// columns is how many cells a row has, and group how many of them stand together.
const (
	columns = 32
	group   = 8
)
