package teach_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/page/internal/teach"
)

// textOf returns the action as ParseAction reads it.
func textOf(a teach.Action) string {
	switch a.Do {
	case "fill":
		return a.Do + ":" + strconv.Itoa(a.N)
	case "advance":
		return a.Do
	}
	return a.Do + ":" + a.Key
}

// play plays a script that must be right.
func play(t *testing.T, s teach.Script, do ...string) teach.Scene {
	t.Helper()
	for _, text := range do {
		a, err := teach.ParseAction(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Actions = append(s.Actions, a)
	}
	v, err := s.Play()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// setAfter returns the cells that are not 0 after so many steps.
func setAfter(v teach.Scene, steps int) []int {
	values := map[int]int{}
	for _, s := range v.Steps[:steps] {
		for _, c := range s.Changes {
			values[c[0]] = c[1]
		}
	}
	set := []int{}
	for c, value := range values {
		if value != 0 {
			set = append(set, c)
		}
	}
	slices.Sort(set)
	return set
}

// ownersAfter returns the keys that have set a cell after so many steps.
func ownersAfter(v teach.Scene, steps, cell int) []string {
	var keys []string
	for _, s := range v.Steps[:steps] {
		for _, o := range s.Owners {
			if o.Cell == cell {
				keys = o.Keys
			}
		}
	}
	return keys
}

// outcome is what a step of a lesson must be.
type outcome struct {
	do      string
	cells   []int
	verdict teach.Verdict
	set     []int // after it
}

// TestLessonsEndInTheirPositions holds the lessons to the positions that books and
// talks give for them.
func TestLessonsEndInTheirPositions(t *testing.T) {
	for id, want := range map[string][]outcome{
		"cat-dog": {
			{"add:cat", []int{2, 9}, teach.Inserted, []int{2, 9}},
			{"ask:cat", []int{2, 9}, teach.Present, []int{2, 9}},
			{"ask:dog", []int{4, 9}, teach.Absent, []int{2, 9}},
		},
		"fruit": {
			{"add:apple", []int{1, 4, 7}, teach.Inserted, []int{1, 4, 7}},
			{"add:orange", []int{3, 4, 8}, teach.Inserted, []int{1, 3, 4, 7, 8}},
			{"ask:apple", []int{1, 4, 7}, teach.Present, []int{1, 3, 4, 7, 8}},
			{"ask:orange", []int{3, 4, 8}, teach.Present, []int{1, 3, 4, 7, 8}},
			{"ask:grape", []int{1, 3, 8}, teach.FalsePositive, []int{1, 3, 4, 7, 8}},
		},
		"apple-banana-cherry": {
			{"add:apple", []int{0, 4, 7}, teach.Inserted, []int{0, 4, 7}},
			{"add:banana", []int{2, 4, 9}, teach.Inserted, []int{0, 2, 4, 7, 9}},
			{"ask:cherry", []int{2, 5, 7}, teach.Absent, []int{0, 2, 4, 7, 9}},
			{"add:cherry", []int{2, 5, 7}, teach.Inserted, []int{0, 2, 4, 5, 7, 9}},
			{"ask:apple", []int{0, 4, 7}, teach.Present, []int{0, 2, 4, 5, 7, 9}},
			{"ask:banana", []int{2, 4, 9}, teach.Present, []int{0, 2, 4, 5, 7, 9}},
			{"ask:cherry", []int{2, 5, 7}, teach.Present, []int{0, 2, 4, 5, 7, 9}},
		},
		"colours": {
			{"add:red", []int{1, 5}, teach.Inserted, []int{1, 5}},
			{"add:blue", []int{3, 8}, teach.Inserted, []int{1, 3, 5, 8}},
			{"ask:red", []int{1, 5}, teach.Present, []int{1, 3, 5, 8}},
			{"ask:blue", []int{3, 8}, teach.Present, []int{1, 3, 5, 8}},
			{"ask:black", []int{3, 6}, teach.Absent, []int{1, 3, 5, 8}},
			{"ask:green", []int{5, 8}, teach.FalsePositive, []int{1, 3, 5, 8}},
		},
	} {
		v := play(t, teach.Script{Lesson: id})
		if v.Bits != 10 || len(v.Steps) != len(want) {
			t.Fatalf("%s: %d bits and %d steps, want 10 and %d", id, v.Bits, len(v.Steps), len(want))
		}
		for i, w := range want {
			s := v.Steps[i]
			if got := s.Do + ":" + s.Key; got != w.do || s.Verdict != w.verdict || !slices.Equal(s.Cells, w.cells) {
				t.Errorf("%s, step %d: %s %s %v, want %s %s %v", id, i+1, got, s.Verdict, s.Cells, w.do, w.verdict, w.cells)
			}
			if got := setAfter(v, i+1); !slices.Equal(got, w.set) {
				t.Errorf("%s, step %d: bits %v are set, want %v", id, i+1, got, w.set)
			}
		}
	}
}

// TestLessonsSayWhy holds the words of the lessons.
func TestLessonsSayWhy(t *testing.T) {
	for id, want := range map[string]string{
		"cat-dog": "“dog”: the ASCII codes add up to 314, so h1 = 4; 3 × 3 = 9, so h2 = 9. It has bits 4 and 9. Bit 4 is 0: “dog” is certainly absent.",
		"fruit": "“grape” has bits 1, 3 and 8. All of them are set: “grape” is probably present, the filter reports. " +
			"But it was not inserted: this is a false positive. Bit 1 was set by “apple”, bit 3 was set by “orange”, bit 8 was set by “orange”.",
		"map": "“soap” has the places 3, 5 and 6. The check digits there: 0 + 7 + 0 = 7. That is its check digit. In the second row, at 3, 5 and 6: 0 + 6 + 0 = 6. " +
			"Shelf 6, the map says. But “soap” was never stored: its check digit fits by chance, as that of one absent key in ten does.",
		"exact": "“Eve” has the places 0 and 5. The check digits there: 4 + 0 = 4. That is its check digit. In the second row, at 4 and 7: 0 + 1 = 1. " +
			"1 is in. But “Eve” is not: nobody has told the set about it, and by chance it passes both rows.",
		"colours": "“green” has bits 5 and 8. Both are set: “green” is probably present, the filter reports. " +
			"But it was not inserted: this is a false positive. Bit 5 was set by “red”, bit 8 was set by “blue”.",
	} {
		v := play(t, teach.Script{Lesson: id})
		if got := v.Steps[len(v.Steps)-1].Text; got != want {
			t.Errorf("%s ends with\n%s\nwant\n%s", id, got, want)
		}
	}
}

// TestLessonsOfRealFilters plays them to their end.
func TestLessonsOfRealFilters(t *testing.T) {
	for id, want := range map[string][]teach.Verdict{
		"delete": {teach.Inserted, teach.Inserted, teach.Inserted, teach.Deleted, teach.Absent, teach.Present, teach.Present},
		"map":    {teach.Inserted, teach.Inserted, teach.Inserted, teach.Present, teach.Absent, teach.FalsePositive},
		"exact": {
			teach.Inserted, teach.Inserted, teach.FalsePositive, teach.Listed, teach.Listed, teach.Absent, teach.Present, teach.FalsePositive,
		},
		"layers":  {teach.Filled, teach.Inserted, teach.Filled, teach.Present},
		"buckets": {teach.Inserted, teach.Inserted, teach.Filled, teach.Present, teach.Deleted, teach.Absent},
		"generations": {
			teach.Inserted, teach.Advanced, teach.Inserted, teach.Advanced, teach.Inserted, teach.Present,
			teach.Advanced, teach.Advanced, teach.Absent, teach.Present,
		},
	} {
		v := play(t, teach.Script{Lesson: id})
		for i, w := range want {
			if got := v.Steps[i].Verdict; got != w {
				t.Errorf("%s, step %d: %s, want %s: %s", id, i+1, got, w, v.Steps[i].Text)
			}
		}
	}
	v := play(t, teach.Script{Lesson: "layers"})
	if len(v.Panels) < 2 || v.Panels[1].Since < 2 {
		t.Errorf("the scalable filter has the panels %v, want a second one after the first step", v.Panels)
	}
	if text := play(t, teach.Script{Lesson: "buckets"}).Steps[0].Text; !strings.Contains(text, "the fingerprint ") || !strings.Contains(text, "It is put into bucket ") {
		t.Errorf("an insertion into a cuckoo filter is described as %q", text)
	}
}

// TestEveryLessonIsKnown plays every lesson, and finds another one in none.
func TestEveryLessonIsKnown(t *testing.T) {
	for _, l := range teach.Lessons() {
		v := play(t, teach.Script{Lesson: l.ID})
		if len(v.Steps) != len(l.Do) || v.Lesson != l.ID || v.Title != l.Title {
			t.Errorf("%s: %d steps of %d, %q, %q", l.ID, len(v.Steps), len(l.Do), v.Lesson, v.Title)
		}
		for i, s := range v.Steps {
			a, err := teach.ParseAction(l.Do[i])
			if err != nil || textOf(a) != l.Do[i] || a.Do != s.Do {
				t.Errorf("%s, step %d: %q is %v, %v", l.ID, i, l.Do[i], a, err)
			}
		}
	}
}

// TestSumsStore holds the lessons with digits to what they promise: every word that was stored is
// answered right after every later step, and there is always a free place for the next.
func TestSumsStore(t *testing.T) {
	for id, words := range map[string]map[string]teach.Verdict{
		"map":   {"bread": teach.Present, "milk": teach.Present, "tea": teach.Present},
		"exact": {"Anna": teach.Present, "Bert": teach.Present, "Carl": teach.Absent, "Dora": teach.Absent},
	} {
		var do []string
		for word := range words {
			do = append(do, "add:"+word)
		}
		slices.Sort(do) // Bread before milk, Anna before Bert
		for word := range words {
			do = append(do, "ask:"+word)
		}
		v := play(t, teach.Script{Lesson: id}, do...)
		for _, s := range v.Steps[len(words):] {
			if s.Verdict != words[s.Key] {
				t.Errorf("%s: “%s” is %s, want %s: %s", id, s.Key, s.Verdict, words[s.Key], s.Text)
			}
		}
	}
	shelf := play(t, teach.Script{Lesson: "map"}).Steps[3].Text
	if !strings.HasSuffix(shelf, "“milk” is on shelf 1.") {
		t.Errorf("the map tells of milk: %s", shelf)
	}
}
