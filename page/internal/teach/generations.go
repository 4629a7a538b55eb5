package teach

// A window with its array.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/sizing"
)

// The window: so many keys, in so many generations beside the present one.
const (
	windowKeys = 36
	windowRate = 0.05
	windowSpan = 3
)

// generations is a window with its array, in which the blocks of the same number
// of all generations lie next to each other.
type generations struct {
	*compose.Window
	array
	fresh func() (*compose.Window, *array, error)
	shape sizing.Window
}

func newGenerations(_, _ int) (machine, error) {
	g := &generations{}
	g.fresh = func() (*compose.Window, *array, error) {
		var a array
		w, err := compose.WindowConfig{Capacity: windowKeys, ErrorRate: windowRate, Generations: windowSpan, Alloc: a.take}.New()
		return w, &a, err
	}
	w, a, err := g.fresh()
	if err != nil {
		return nil, err
	}
	g.Window, g.array, g.shape = w, *a, w.Shape()
	return g, nil
}

func (g *generations) add(key string) error {
	g.AddString(key)
	return nil
}

func (g *generations) has(key string) bool   { return g.ContainsString(key) }
func (g *generations) stats() bloomery.Stats { return g.Stats() }
func (g *generations) fills()                {}
func (g *generations) advance()              { g.Advance(g.Generation() + 1) }
func (g *generations) present() int          { return g.slot(g.Generation()) }
func (g *generations) ways() int             { return g.shape.Generations + 1 }
func (g *generations) each() int             { return int(g.shape.Shape.Bits) }

// slot returns the panel of a generation.
func (g *generations) slot(n uint64) int { return int(n % uint64(g.ways())) }

func (g *generations) values() []int { return g.arranged(&g.array) }

// arranged returns the bits of an array panel by panel.
func (g *generations) arranged(a *array) []int {
	unit := int(g.shape.Shape.Layout.Unit())
	v := make([]int, g.ways()*g.each())
	for i := range v {
		panel, at := i/g.each(), i%g.each()
		v[i] = a.bit((at/unit*g.ways()+panel)*unit + at%unit)
	}
	return v
}

func (g *generations) panels() []Panel {
	all := panelsOf("generation", g.ways()*g.each(), g.each())
	for i, label := range g.labels() {
		all[i].Name = label
	}
	return all
}

// labels returns the names of the panels, which change with time.
func (g *generations) labels() []string {
	all := make([]string, g.ways())
	for i := range all {
		all[i] = "not yet used"
	}
	now := g.Generation()
	for back := range uint64(g.ways()) {
		if back > now {
			break
		}
		label := "generation " + number(int(now-back))
		if back == 0 {
			label += ", present: keys are added here"
		}
		if back == uint64(g.ways())-1 {
			label += ", the next to be dropped"
		}
		all[g.slot(now-back)] = label
	}
	return all
}

// place returns the bits of a key in all generations.
func (g *generations) place(key string) place {
	w, a, err := g.fresh()
	if err != nil {
		return place{}
	}
	var p place
	for n := range uint64(g.ways()) {
		w.Advance(n)
		w.AddString(key)
	}
	for i, v := range g.arranged(a) {
		if v != 0 {
			p.cells = append(p.cells, i)
		}
	}
	return p
}
