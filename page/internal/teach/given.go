package teach

// Filters of a few bits with positions that are given.

import (
	"math"
	"slices"

	"github.com/bloomery/bloomery"
)

// given is a Bloom filter of a few bits whose positions are given: by a table of
// words, or by a rule that can be computed in the head.
type given struct {
	set    []int
	hashes int
	words  []Word
	rule   func(key string) Word // nil if only words are known
}

// givenBits is the size of the array: few enough for a sheet of paper.
const givenBits = 10

func newGiven(words ...Word) *given {
	return &given{set: make([]int, givenBits), hashes: len(words[0].Cells), words: words}
}

func (g *given) bits() int { return len(g.set) }

// accepts refuses keys without positions.
func (g *given) accepts(a Action) error {
	switch a.Do {
	case "add", "ask":
	default:
		return nil // checkActions says what can be done
	}
	if g.rule != nil {
		if slices.ContainsFunc([]byte(a.Key), func(b byte) bool { return b >= 0x80 }) {
			return fault("do", "%q has letters without an ASCII code, which this lesson adds up", a.Key)
		}
		return nil
	}
	var known []string
	for _, w := range g.words {
		if w.Key == a.Key {
			return nil
		}
		known = append(known, w.Key)
	}
	return fault("do", "%q has no positions in this lesson: its words are %s", a.Key, list(known))
}

func (g *given) add(key string) error {
	for _, i := range g.place(key).cells {
		g.set[i] = 1
	}
	return nil
}

func (g *given) has(key string) bool {
	return !slices.ContainsFunc(g.place(key).cells, func(i int) bool { return g.set[i] == 0 })
}

func (g *given) values() []int { return slices.Clone(g.set) }

func (g *given) panels() []Panel {
	return []Panel{{Name: "array of " + number(len(g.set)) + " bits", Cells: len(g.set), Columns: len(g.set), Group: len(g.set)}}
}

func (g *given) sheet() sheet { return sheet{"bit", g.bits(), g.hashes, g.words} }

// place returns the positions of a key in ascending order, each once.
func (g *given) place(key string) place {
	cells := slices.Sorted(slices.Values(g.word(key).Cells))
	return place{cells: slices.Compact(cells)}
}

func (g *given) word(key string) Word {
	for _, w := range g.words {
		if w.Key == key {
			return w
		}
	}
	if g.rule == nil {
		return Word{}
	}
	return g.rule(key)
}

func (g *given) stats() bloomery.Stats {
	ones := 0
	for _, bit := range g.set {
		ones += bit
	}
	fill := float64(ones) / float64(len(g.set))
	return bloomery.Stats{Saturation: fill, Predicted: math.Pow(fill, float64(g.hashes))}
}
