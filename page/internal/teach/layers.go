package teach

// A scalable filter with its arrays.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/sizing"
)

// The first layer, and how many keys four layers hold.
const (
	layerKeys   = 16
	layerRate   = 0.1
	layeredKeys = 15 * layerKeys
)

// layers is a scalable filter with the arrays of its layers.
type layers struct {
	*bloom.Scalable
	arrays []*array
	sized  []int // bits of each
}

func newLayers(_, _ int) (machine, error) {
	l := &layers{}
	take := func(n int) ([]byte, error) {
		a := new(array)
		b, err := a.take(n)
		l.arrays, l.sized = append(l.arrays, a), append(l.sized, 8*n)
		return b, err
	}
	f, err := bloom.Config{Capacity: layerKeys, ErrorRate: layerRate, Alloc: take}.NewScalable()
	l.Scalable = f
	return l, err
}

func (l *layers) add(key string) error {
	l.AddString(key)
	return nil
}

func (l *layers) has(key string) bool   { return l.ContainsString(key) }
func (l *layers) stats() bloomery.Stats { return l.Stats() }
func (l *layers) fills()                {}

func (l *layers) values() []int {
	var v []int
	for i, a := range l.arrays {
		v = append(v, a.bitValues(l.sized[i])...)
	}
	return v
}

func (l *layers) panels() []Panel {
	var all []Panel
	first := 0
	for i, n := range l.sized {
		name := "layer " + number(i+1) + ", for " + number(layerKeys<<i) + " keys"
		all = append(all, Panel{Name: name, First: first, Cells: n, Columns: columns, Group: group})
		first += n
	}
	return all
}

// place returns the bits in all layers, each a filter that has its share of the rate.
func (l *layers) place(key string) place {
	var p place
	first := 0
	for i, n := range l.sized {
		var a array
		share := layerRate * sizing.LayerShare(i+1)
		f, err := bloom.Config{Capacity: layerKeys << i, ErrorRate: share, Alloc: a.take}.New()
		if err != nil {
			return place{}
		}
		f.AddString(key)
		for _, bit := range a.ones(n) {
			p.cells = append(p.cells, first+bit)
		}
		first += n
	}
	return p
}
