package teach

// Filters of a few bits with positions that are given.

import (
	"math"
	"slices"
	"strconv"
	"strings"

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

func newGiven(words ...Word) *given { return givenOf(givenBits, words) }

// givenOf is newGiven with an array of another size.
func givenOf(bits int, words []Word) *given {
	return &given{set: make([]int, bits), hashes: len(words[0].Cells), words: words}
}

// Limits of positions that somebody types in.
const (
	mostGivenBits = 64
	mostWords     = 16
	mostPositions = 8
)

// ParseWord reads a word with its positions: red:1,3,5.
func ParseWord(text string) (Word, error) {
	key, rest, found := cutLast(text, ":")
	if !found {
		return Word{}, fault("word", "%q is not WORD:POSITION,POSITION", clip(text))
	}
	if err := checkKey(key); err != nil {
		return Word{}, fault("word", "%v", err)
	}
	w := Word{Key: key}
	for part := range strings.SplitSeq(rest, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 8)
		if err != nil || len(w.Cells) == mostPositions {
			return Word{}, fault("word", "%s: positions are 1 to %d numbers with commas between them, not %q", key, mostPositions, clip(rest))
		}
		w.Cells = append(w.Cells, int(n))
	}
	return w, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// typedIn is scene for words with positions that somebody has typed in.
func (s Script) typedIn() (Scene, machine, []Action, error) {
	bits := s.Bits
	if bits == 0 {
		bits = givenBits
	}
	switch {
	case s.Lesson != "" || s.Kind != "" || s.Hashes != 0:
		return Scene{}, nil, nil, fault("word", "words with positions have no lesson, kind or hashes, only bits")
	case bits < 2 || bits > mostGivenBits:
		return Scene{}, nil, nil, fault("bits", "words with positions take 2 to %d bits, not %d", mostGivenBits, bits)
	case len(s.Words) > mostWords:
		return Scene{}, nil, nil, fault("word", "%d words, at most %d", len(s.Words), mostWords)
	}
	seen := map[string]bool{}
	for _, w := range s.Words {
		if seen[w.Key] {
			return Scene{}, nil, nil, fault("word", "%q is given twice", w.Key)
		}
		seen[w.Key] = true
		if i := slices.Max(w.Cells); i >= bits {
			return Scene{}, nil, nil, fault("word", "%s: position %d is not in an array of %d bits", w.Key, i, bits)
		}
	}
	m := givenOf(bits, s.Words)
	for _, a := range s.Actions {
		if err := m.accepts(a); err != nil {
			return Scene{}, nil, nil, err
		}
	}
	v := Scene{
		Kind: "given", Title: "Your own words", Cell: "bit", Bits: bits, Hashes: m.hashes, Words: m.words,
		About: "Words with positions that you give. The address of this page has them: it is a link to share.",
	}
	return v, m, s.Actions, checkActions(s.Actions, m, MaxKeys)
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
