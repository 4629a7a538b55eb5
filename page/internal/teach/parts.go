package teach

// Several small filters side by side: the parts of a large one, and two kinds to compare.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

// parts is a filter that is cut into parts, as the server does with large ones: the hash of a
// key decides which part has it.
type parts struct{ all []*bitFilter }

// partBits are the bits of a hash that decide on the part, partCount is how many parts there are.
const (
	partBits  = 2
	partCount = 1 << partBits
)

func newParts(bits, hashes int) (machine, error) {
	p := &parts{}
	for range partCount {
		m, err := bitFilters("part", bloom.Config.NewStandard)(bits/partCount, hashes)
		if err != nil {
			return nil, err
		}
		p.all = append(p.all, m.(*bitFilter))
	}
	return p, nil
}

// of returns the number of the part that has a key, and the part.
func (p *parts) of(key string) (int, *bitFilter) {
	i := bloomery.Route(p.all[0].Hash([]byte(key)), partBits)
	return i, p.all[i]
}

func (p *parts) add(key string) error {
	_, f := p.of(key)
	return f.add(key)
}

func (p *parts) has(key string) bool {
	_, f := p.of(key)
	return f.has(key)
}

func (p *parts) fills() {}

func (p *parts) values() []int { return valuesOf(p.all) }

func (p *parts) panels() []Panel {
	all := sideBySide(p.all)
	for i := range all {
		all[i].Name = "part " + number(i+1)
	}
	return all
}

func (p *parts) place(key string) place {
	i, f := p.of(key)
	return f.placeAfter(i*f.bits, key)
}

// stats has the mean of the parts: a key is as likely to be of one as of another.
func (p *parts) stats() bloomery.Stats {
	var st bloomery.Stats
	for _, f := range p.all {
		part := f.stats()
		st.Saturation += part.Saturation / partCount
		st.Predicted += part.Predicted / partCount
	}
	return st
}

// beside is a standard filter and a blocked one with the same keys.
type beside struct{ all []*bitFilter }

func newBeside(bits, hashes int) (machine, error) {
	standard, err := bitFilters("standard", bloom.Config.NewStandard)(bits, hashes)
	if err != nil {
		return nil, err
	}
	blocked, err := bitFilters("block", bloom.Config.New)(bits, hashes)
	if err != nil {
		return nil, err
	}
	return &beside{[]*bitFilter{standard.(*bitFilter), blocked.(*bitFilter)}}, nil
}

func (b *beside) add(key string) error {
	for _, f := range b.all {
		if err := f.add(key); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether one of the two has a key: each has false positives of its own.
func (b *beside) has(key string) bool { return b.all[0].has(key) || b.all[1].has(key) }

func (b *beside) fills() {}

func (b *beside) values() []int { return valuesOf(b.all) }

func (b *beside) panels() []Panel { return sideBySide(b.all) }

func (b *beside) place(key string) place {
	p := b.all[0].place(key)
	p.cells = append(p.cells, b.all[1].placeAfter(b.all[0].bits, key).cells...)
	return p
}

// stats has the rate of the blocked filter, which is the higher one.
func (b *beside) stats() bloomery.Stats { return b.all[1].stats() }

// split cuts cells into those of the two filters.
func (b *beside) split(cells []int) [][]int {
	i := 0
	for i < len(cells) && cells[i] < b.all[0].bits {
		i++
	}
	return [][]int{cells[:i], cells[i:]}
}

// valuesOf returns the values of filters one after the other.
func valuesOf(all []*bitFilter) (v []int) {
	for _, f := range all {
		v = append(v, f.values()...)
	}
	return v
}

// sideBySide returns the panels of filters one after the other.
func sideBySide(all []*bitFilter) (panels []Panel) {
	first := 0
	for _, f := range all {
		for _, p := range f.panels() {
			p.First += first
			panels = append(panels, p)
		}
		first += f.bits
	}
	return panels
}

// placeAfter is place for a filter whose first cell has this number.
func (b *bitFilter) placeAfter(first int, key string) place {
	p := b.place(key)
	for i := range p.cells {
		p.cells[i] += first
	}
	return p
}
