package teach

// Maps and exact sets, with pencil and paper: digits that add up to what is stored.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery"
)

// sums is a map or an exact set of two rows of ten digits. A word has places in both rows. The
// digits at its places in the first row add up to its check digit, and those in the second to
// what is stored for it: all sums count by their last digit. ribbon.Map and exact.Filter do the same with
// bits, and find all digits at once; here every word makes use of a place that nobody has yet.
type sums struct {
	set    []int  // the first row, then the second
	taken  []bool // a word depends on it
	list   []sumWord
	kept   []string // words that were stored
	second string   // the name of the second row
	tens   int      // of the second row: sums count modulo this
}

// sumWord is a word of such a lesson.
type sumWord struct {
	key           string
	first, second []int // places in the two rows
	check, stored int
	out           bool // an exact set lists it as one that is not in
}

func newSums(second string, tens int, list ...sumWord) *sums {
	return &sums{set: make([]int, 2*givenBits), taken: make([]bool, 2*givenBits), list: list, second: second, tens: tens}
}

// alone reports whether there is no second row: it is a static filter.
func (s *sums) alone() bool { return s.second == "" }

// exact reports whether it is an exact set, whose second row says in or out.
func (s *sums) exact() bool { return s.tens == 2 }

func (s *sums) word(key string) *sumWord {
	for i := range s.list {
		if s.list[i].key == key {
			return &s.list[i]
		}
	}
	return &sumWord{key: key}
}

// sum returns what the digits at places add up to, and how that is written.
func (s *sums) sum(row int, places []int, modulo int) (n int, written string) {
	var terms []string
	for _, i := range places {
		n += s.set[row*givenBits+i]
		terms = append(terms, strconv.Itoa(s.set[row*givenBits+i]))
	}
	written = strings.Join(terms, " + ") + " = " + strconv.Itoa(n)
	if n >= modulo {
		written += ", which counts as " + strconv.Itoa(n%modulo)
	}
	return n % modulo, written
}

func (s *sums) passes(w *sumWord) bool {
	n, _ := s.sum(0, w.first, givenBits)
	return len(w.first) > 0 && n == w.check
}

func (s *sums) stored(w *sumWord) int {
	n, _ := s.sum(1, w.second, s.tens)
	return n
}

// solve gives a free place the digit with which the places of a row add up to want.
func (s *sums) solve(row int, places []int, want, modulo int) {
	n, _ := s.sum(row, places, modulo)
	for _, i := range places {
		if at := row*givenBits + i; !s.taken[at] {
			s.set[at] = (want - n + modulo) % modulo
			break
		}
	}
	for _, i := range places {
		s.taken[row*givenBits+i] = true
	}
}

func (s *sums) add(key string) error {
	w := s.word(key)
	if slices.Contains(s.kept, key) {
		return nil
	}
	if !w.out {
		s.solve(0, w.first, w.check, givenBits)
	}
	if !s.alone() && s.passes(w) { // what is out and does not pass takes no space
		s.solve(1, w.second, w.stored, s.tens)
	}
	s.kept = append(s.kept, key)
	return nil
}

// has answers for a map whether the key has a value, for an exact set whether it is in.
func (s *sums) has(key string) bool {
	w := s.word(key)
	return s.passes(w) && (!s.exact() || s.stored(w) == 1)
}

// outside reports whether a key that is added is listed as one that is not in.
func (s *sums) outside(key string) bool { return s.word(key).out }

func (s *sums) values() []int {
	if s.alone() {
		return slices.Clone(s.set[:givenBits])
	}
	return slices.Clone(s.set)
}

func (s *sums) panels() []Panel {
	row := Panel{Name: "check digits", Cells: givenBits, Columns: givenBits, Group: givenBits}
	if s.alone() {
		row.Name = "digits"
		return []Panel{row}
	}
	below := row
	below.Name, below.First = s.second, givenBits
	return []Panel{row, below}
}

func (s *sums) place(key string) place {
	w := s.word(key)
	p := place{cells: slices.Clone(w.first)}
	for _, i := range w.second {
		p.cells = append(p.cells, givenBits+i)
	}
	slices.Sort(p.cells)
	return p
}

// stats has the rate of keys that are in no list: one check digit in ten fits, and of an exact
// set half of those are answered "in".
func (s *sums) stats() bloomery.Stats {
	set := 0
	for _, v := range s.set {
		if v != 0 {
			set++
		}
	}
	st := bloomery.Stats{Saturation: float64(set) / float64(len(s.values())), Predicted: 1.0 / givenBits}
	if s.exact() {
		st.Predicted /= 2
	}
	return st
}

func (s *sums) accepts(a Action) error {
	var known []string
	for i := range s.list {
		known = append(known, s.list[i].key)
	}
	if a.Key == "" || slices.Contains(known, a.Key) {
		return nil
	}
	return fault("do", "%q has no places in this lesson: its words are %s", a.Key, list(known))
}

func (s *sums) sheet() sheet {
	v := sheet{cell: "digit", bits: givenBits, hashes: len(s.list[0].first)}
	for i := range s.list {
		w := &s.list[i]
		why := fmt.Sprintf("check digit %d", w.check)
		switch {
		case s.exact():
			why = fmt.Sprintf("places %s of the second row; %s", list(digits(w.second)), why)
		case w.stored > 0:
			why += fmt.Sprintf(", shelf %d", w.stored)
		}
		v.words = append(v.words, Word{Key: w.key, Cells: w.first, Why: why})
	}
	return v
}

func digits(places []int) (texts []string) {
	for _, i := range places {
		texts = append(texts, strconv.Itoa(i))
	}
	return texts
}

// tell describes a step.
func (s *sums) tell(v Step) string {
	w := s.word(v.Key)
	_, written := s.sum(0, w.first, givenBits)
	text := fmt.Sprintf("“%s” has the places %s. ", w.key, list(digits(w.first)))
	if v.Do == "add" {
		return text + s.added(v, w)
	}
	text += fmt.Sprintf("The check digits there: %s. ", written)
	if !s.passes(w) {
		return text + fmt.Sprintf("That of “%s” is %d: it is certainly absent.", w.key, w.check)
	}
	if s.alone() {
		if v.Verdict == Present {
			return text + fmt.Sprintf("That is its check digit: “%s” is probably present, and it was inserted.", w.key)
		}
		return text + fmt.Sprintf("That is its check digit. But “%s” was not inserted: it fits by chance, as that of one absent key in ten does. This is a false positive.", w.key)
	}
	_, below := s.sum(1, w.second, s.tens)
	text += fmt.Sprintf("That is its check digit. In the second row, at %s: %s. ", list(digits(w.second)), below)
	switch {
	case v.Verdict == Present && s.exact():
		return text + fmt.Sprintf("1 is in, and “%s” is in.", w.key)
	case v.Verdict == Present:
		return text + fmt.Sprintf("“%s” is on shelf %d.", w.key, s.stored(w))
	case v.Verdict == FalsePositive && s.exact():
		return text + fmt.Sprintf("1 is in. But “%s” is not: nobody has told the set about it, and by chance it passes both rows.", w.key)
	case v.Verdict == FalsePositive:
		return text + fmt.Sprintf("Shelf %d, the map says. But “%s” was never stored: its check digit fits by chance, as that of one absent key in ten does.", s.stored(w), w.key)
	}
	return text + fmt.Sprintf("0 is out: “%s” is certainly absent.", w.key)
}

// added is the rest of the text of a word that is stored.
func (s *sums) added(v Step, w *sumWord) string {
	if w.out {
		if !s.passes(w) {
			return "It is listed as out, and its check digit does not fit: the first row denies it already, and nothing is stored."
		}
		return "It is listed as out, but its check digit fits by chance. " + s.became(v, 1, fmt.Sprintf("its places there, %s, add up to 0, which is out", list(digits(w.second))))
	}
	if s.alone() {
		return strings.Replace(s.became(v, 0, fmt.Sprintf("they add up to its check digit %d", w.check)), "In the first row place", "Place", 1)
	}
	below := fmt.Sprintf("its places there, %s, add up to 1, which is in", list(digits(w.second)))
	if !s.exact() {
		below = fmt.Sprintf("the same places add up to shelf %d", w.stored)
	}
	return s.became(v, 0, fmt.Sprintf("they add up to its check digit %d", w.check)) + " " + s.became(v, 1, below)
}

// became says which digit of a row has changed, and to what end.
func (s *sums) became(v Step, row int, end string) string {
	name := []string{"first", "second"}[row]
	for _, c := range v.Changes {
		if c[0]/givenBits == row {
			return fmt.Sprintf("In the %s row place %d becomes %d, so that %s.", name, c[0]%givenBits, c[1], end)
		}
	}
	return fmt.Sprintf("In the %s row nothing changes, since %s.", name, end)
}
