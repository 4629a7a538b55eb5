package teach

// A quotient filter with pencil and paper: fingerprints in order, and a table that doubles.

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bloomery/bloomery"
)

// shelf is a quotient filter of a few slots. A fingerprint is a number below 32. In a table of 8
// slots it is divided by 4: the quotient is its home slot, the remainder is what is stored. If the
// home is taken it goes on to the right, in order, so that nothing is lost. quotient.Filter and
// quotient.Growing do the same with bits.
type shelf struct {
	list  []shelfWord
	kept  []int // fingerprints, in order
	large bool  // it has grown to 16 slots
}

// shelfWord is a word with its fingerprint.
type shelfWord struct {
	key  string
	mark int
}

// Sizes of the table before and after it has grown, and when it does.
const (
	shelfSlots  = 8
	shelfDouble = 16
	shelfMarks  = 32
	shelfFull   = 6
)

func newShelf(list ...shelfWord) *shelf { return &shelf{list: list} }

func (s *shelf) slots() int {
	if s.large {
		return shelfDouble
	}
	return shelfSlots
}

// divide returns quotient and remainder of a fingerprint in the present table.
func (s *shelf) divide(mark int) (home, rest int) {
	by := shelfMarks / s.slots()
	return mark / by, mark % by
}

func (s *shelf) mark(key string) int {
	for _, w := range s.list {
		if w.key == key {
			return w.mark
		}
	}
	return 0
}

func (s *shelf) add(key string) error {
	if !s.large && len(s.kept) == shelfFull {
		s.large = true
	}
	if len(s.kept) >= s.slots() {
		return fault("do", "the table is full")
	}
	s.kept = append(s.kept, s.mark(key))
	slices.Sort(s.kept)
	return nil
}

func (s *shelf) has(key string) bool { return slices.Contains(s.kept, s.mark(key)) }

func (s *shelf) remove(key string) bool {
	i := slices.Index(s.kept, s.mark(key))
	if i < 0 {
		return false
	}
	s.kept = slices.Delete(s.kept, i, i+1)
	return true
}

// table returns the present table: each fingerprint in its home slot or the next free one.
func (s *shelf) table() []int {
	t := make([]int, s.slots())
	at := -1
	for _, m := range s.kept {
		home, _ := s.divide(m)
		at = max(at+1, home)
		t[at%len(t)] = m
	}
	return t
}

// values are those of both tables; the first is empty when it has grown.
func (s *shelf) values() []int {
	if !s.large {
		return s.table()
	}
	return append(make([]int, shelfSlots), s.table()...)
}

func (s *shelf) panels() []Panel {
	all := []Panel{{Name: "table of 8 slots", Cells: shelfSlots, Columns: shelfSlots, Group: shelfSlots}}
	if s.large {
		all = append(all, Panel{Name: "table of 16 slots", First: shelfSlots, Cells: shelfDouble, Columns: shelfDouble, Group: shelfDouble})
	}
	return all
}

// place returns the slots in which a fingerprint can be: its home, and those behind it up to a gap.
func (s *shelf) place(key string) place {
	m := s.mark(key)
	home, _ := s.divide(m)
	first, t := 0, s.table()
	if s.large {
		first = shelfSlots
	}
	p := place{cells: []int{first + home}, mark: m}
	for i := home; i+1 < len(t) && t[i] != 0 && t[i] != m; i++ {
		p.cells = append(p.cells, first+i+1)
	}
	return p
}

func (s *shelf) stats() bloomery.Stats {
	return bloomery.Stats{
		Saturation: float64(len(s.kept)) / float64(s.slots()),
		Predicted:  float64(len(slices.Compact(slices.Clone(s.kept)))) / shelfMarks,
	}
}

func (s *shelf) accepts(a Action) error {
	if a.Key == "" || s.mark(a.Key) != 0 {
		return nil
	}
	var known []string
	for _, w := range s.list {
		known = append(known, w.key)
	}
	return fault("do", "%q has no fingerprint in this lesson: its words are %s", a.Key, list(known))
}

func (s *shelf) sheet() sheet {
	v := sheet{cell: "fingerprint", bits: shelfSlots, hashes: 1}
	for _, w := range s.list {
		v.words = append(v.words, Word{Key: w.key, Cells: []int{w.mark}, Why: fmt.Sprintf("%d = %d × 4 + %d", w.mark, w.mark/4, w.mark%4)})
	}
	return v
}

// tell describes a step.
func (s *shelf) tell(v Step) string {
	m := s.mark(v.Key)
	home, rest := s.divide(m)
	text := fmt.Sprintf("“%s” has the fingerprint %d = %d × %d + %d: home slot %d, remainder %d. ", v.Key, m, home, shelfMarks/s.slots(), rest, home, rest)
	switch v.Verdict {
	case Inserted:
		return text + s.added(v, m)
	case Deleted:
		return text + "It is deleted, and the fingerprints behind it move back towards their home slots."
	case Present:
		return text + fmt.Sprintf("It is there: “%s” is probably present, and it was inserted.", v.Key)
	case FalsePositive:
		return text + fmt.Sprintf("It is there, the filter reports. But “%s” was not inserted: another key has the same fingerprint. This is a false positive.", v.Key)
	case Absent:
		return text + fmt.Sprintf("There is no such remainder for this home: “%s” is certainly absent.", v.Key)
	default:
		return text + "Nothing changes."
	}
}

// added is the rest of the text of a key that was inserted.
func (s *shelf) added(v Step, m int) string {
	home, _ := s.divide(m)
	where := slices.Index(s.table(), m)
	text := fmt.Sprintf("It is put into slot %d.", where)
	if where > home {
		text = fmt.Sprintf("Slot %d is taken: fingerprints stay in order, so it is put into slot %d.", home, where)
	}
	for _, c := range v.Changes {
		if s.large && c[0] < shelfSlots {
			return "The table had " + strconv.Itoa(shelfFull) + " fingerprints, so it doubles. Quotient and remainder give every fingerprint again, and it is divided by 2 instead of 4: no key is needed for that. " + text
		}
	}
	return text
}
