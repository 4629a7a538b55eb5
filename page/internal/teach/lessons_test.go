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
			{"add:apple", []int{2, 5, 7}, teach.Inserted, []int{2, 5, 7}},
			{"add:orange", []int{2, 5, 8}, teach.Inserted, []int{2, 5, 7, 8}},
			{"ask:apple", []int{2, 5, 7}, teach.Present, []int{2, 5, 7, 8}},
			{"ask:grape", []int{2, 5, 8}, teach.FalsePositive, []int{2, 5, 7, 8}},
			{"ask:banana", []int{3}, teach.Absent, []int{2, 5, 7, 8}},
		},
		"apple-banana-cherry": {
			{"add:apple", []int{2, 5, 7}, teach.Inserted, []int{2, 5, 7}},
			{"add:banana", []int{1, 5, 9}, teach.Inserted, []int{1, 2, 5, 7, 9}},
			{"ask:cherry", []int{2, 5, 8}, teach.Absent, []int{1, 2, 5, 7, 9}},
			{"add:cherry", []int{2, 5, 8}, teach.Inserted, []int{1, 2, 5, 7, 8, 9}},
			{"ask:apple", []int{2, 5, 7}, teach.Present, []int{1, 2, 5, 7, 8, 9}},
			{"ask:banana", []int{1, 5, 9}, teach.Present, []int{1, 2, 5, 7, 8, 9}},
			{"ask:cherry", []int{2, 5, 8}, teach.Present, []int{1, 2, 5, 7, 8, 9}},
		},
		"colours": {
			{"add:red", []int{1, 3, 5}, teach.Inserted, []int{1, 3, 5}},
			{"add:blue", []int{4, 5, 9}, teach.Inserted, []int{1, 3, 4, 5, 9}},
			{"ask:red", []int{1, 3, 5}, teach.Present, []int{1, 3, 4, 5, 9}},
			{"ask:blue", []int{4, 5, 9}, teach.Present, []int{1, 3, 4, 5, 9}},
			{"ask:black", []int{0, 3, 6}, teach.Absent, []int{1, 3, 4, 5, 9}},
			{"ask:green", []int{3, 4, 5}, teach.FalsePositive, []int{1, 3, 4, 5, 9}},
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
		"fruit":   "“banana” has bit 3. Bit 3 is 0: “banana” is certainly absent.",
		"colours": "“green” has bits 3, 4 and 5. All of them are set: “green” is probably present, the filter reports. " +
			"But it was not inserted: this is a false positive. Bit 3 was set by “red”, bit 4 was set by “blue”, bit 5 was set by “red” and “blue”.",
		"static": "“elk” has the places 0, 1 and 2. The check digits there: 5 + 3 + 8 = 16, which counts as 6. That is its check digit. " +
			"But “elk” was not inserted: it fits by chance, as that of one absent key in ten does. This is a false positive.",
		"quotient": "“cow” has the fingerprint 10 = 2 × 4 + 2: home slot 2, remainder 2. It is there: “cow” is probably present, and it was inserted.",
		"growing":  "“hen” has the fingerprint 23 = 11 × 2 + 1: home slot 11, remainder 1. There is no such remainder for this home: “hen” is certainly absent.",
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
		"delete": {teach.Inserted, teach.Inserted, teach.Present, teach.Deleted, teach.Absent, teach.Present},
		"static": {teach.Inserted, teach.Inserted, teach.Inserted, teach.Present, teach.Present, teach.Absent, teach.FalsePositive},
		"beside": {teach.Inserted, teach.Present, teach.Inserted, teach.Absent, teach.Filled},
		"parts":  {teach.Inserted, teach.Inserted, teach.Inserted, teach.Present, teach.Absent, teach.Filled, teach.Present},
		"quotient": {
			teach.Inserted, teach.Inserted, teach.Inserted, teach.Present, teach.Absent, teach.FalsePositive, teach.Deleted, teach.Absent, teach.Present,
		},
		"growing": {
			teach.Inserted, teach.Inserted, teach.Inserted, teach.Inserted, teach.Inserted, teach.Inserted, teach.Present, teach.Inserted, teach.Present, teach.Absent,
		},
		"map": {teach.Inserted, teach.Inserted, teach.Inserted, teach.Present, teach.Absent, teach.FalsePositive},
		"exact": {
			teach.Inserted, teach.Inserted, teach.FalsePositive, teach.Listed, teach.Listed, teach.Absent, teach.Present, teach.FalsePositive,
		},
		"layers":  {teach.Filled, teach.Inserted, teach.Filled, teach.Present},
		"buckets": {teach.Inserted, teach.Inserted, teach.Filled, teach.Present, teach.Deleted, teach.Absent},
		"generations": {
			teach.Inserted, teach.Advanced, teach.Inserted, teach.Advanced, teach.Inserted, teach.Present,
			teach.Advanced, teach.Advanced, teach.Absent, teach.Present,
		},
		"corrected": {
			teach.Inserted, teach.Inserted, teach.Inserted, teach.FalsePositive, teach.Reported, teach.Absent, teach.FalsePositive, teach.Unchanged, teach.TooLate, teach.Present,
			teach.Inserted, teach.Present, teach.Reported, teach.Reported, teach.Reported, teach.FalsePositive, teach.Absent,
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

// TestCorrectedTells holds the lesson on reports to its words, and to what is reported after each step.
func TestCorrectedTells(t *testing.T) {
	v := play(t, teach.Script{Lesson: "corrected"})
	for step, want := range map[int]struct {
		text    string
		reports []string
	}{
		4:  {"“lion” is probably present, the filter reports. But it was not inserted: this is a false positive.", nil},
		5:  {"The answer was yes, but the store does not have “lion”. The report is taken: from now on the answer is no, until “lion” is inserted.", []string{"lion"}},
		6:  {"Both are set: the array alone would say yes. But “lion” was reported as a false positive, so the answer is no.", []string{"lion"}},
		8:  {"All of them were set already: nothing changes.", []string{"lion"}},
		9:  {"After the answer for “mole” something was inserted, and it may have been “mole”. The report comes too late: it is refused, and nothing changes.", []string{"lion"}},
		10: {"Both are set: “mole” is probably present, and it was inserted.", []string{"lion"}},
		11: {"Both are set: a report alone denied “lion”, and it is taken back.", nil},
		14: {"until “wasp” is inserted.", []string{"panda", "wasp"}},
		15: {"There is room for 2 reports, so the older half goes: “panda”.", []string{"wasp", "eagle"}},
		16: {"this is a false positive.", []string{"wasp", "eagle"}},
		17: {"so the answer is no.", []string{"wasp", "eagle"}},
	} {
		if s := v.Steps[step-1]; !strings.Contains(s.Text, want.text) || !slices.Equal(s.Reports, want.reports) {
			t.Errorf("step %d, reported %q: %s", step, s.Reports, s.Text)
		}
	}
	if len(v.Panels) != 1 || v.Panels[0].Columns != 16 || v.Steps[16].Keys != 5 {
		t.Errorf("%v, %d keys", v.Panels, v.Steps[16].Keys)
	}
}

// TestReportsOfNothing reports what there is nothing to report of, and asks that no key is denied for it.
func TestReportsOfNothing(t *testing.T) {
	v := play(t, teach.Script{Kind: "corrected", Bits: 16}, "add:cat", "add:dog", "add:fish", "report:cat", "ask:cat", "report:cat", "ask:cat",
		"report:tiger", "report:lion", "report:lion", "ask:mole", "add:mole", "ask:mole", "report:mole", "ask:mole")
	for i, want := range []teach.Verdict{
		teach.Inserted, teach.Inserted, teach.Inserted, teach.Unchanged, teach.Present, teach.Unchanged, teach.Present,
		teach.Unchanged, teach.Reported, teach.Unchanged, teach.FalsePositive, teach.Unchanged, teach.Present, teach.Unchanged, teach.Present,
	} {
		if s := v.Steps[i]; s.Verdict != want || s.Do == "report" && want == teach.Unchanged && !strings.HasSuffix(s.Text, "there is nothing to report.") {
			t.Errorf("step %d: %s, want %s: %s", i+1, s.Verdict, want, s.Text)
		}
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

// TestDeletingSharesACounter asks that the lesson on deleting has a 2 that becomes a 1.
func TestDeletingSharesACounter(t *testing.T) {
	v := play(t, teach.Script{Lesson: "delete"})
	if !slices.Contains(v.Steps[1].Changes, teach.Change{274, 2}) || !slices.Contains(v.Steps[3].Changes, teach.Change{274, 1}) {
		t.Errorf("counter 274: %v, then %v", v.Steps[1].Changes, v.Steps[3].Changes)
	}
}

// TestBlackIsReadOnce asks that the first 0 is enough.
func TestBlackIsReadOnce(t *testing.T) {
	v := play(t, teach.Script{Lesson: "colours"})
	if got, want := v.Steps[4].Text, "“black” has bits 0, 3 and 6. Bit 0 is 0: “black” is certainly absent. The others need not be looked at."; got != want {
		t.Errorf("black: %q, want %q", got, want)
	}
}

// TestQuotientsInOrder asks where fingerprints lie before and after the table has grown.
func TestQuotientsInOrder(t *testing.T) {
	v := play(t, teach.Script{Lesson: "growing"})
	if got := setAfter(v, 6); !slices.Equal(got, []int{0, 2, 3, 4, 5, 6}) {
		t.Errorf("slots %v are taken by six fingerprints", got)
	}
	if got := setAfter(v, 8); !slices.Equal(got, []int{8 + 1, 8 + 4, 8 + 5, 8 + 7, 8 + 8, 8 + 11, 8 + 13}) {
		t.Errorf("slots %v are taken after it has grown", got)
	}
	if text := v.Steps[7].Text; !strings.Contains(text, "it doubles") || len(v.Panels) != 2 || v.Panels[1].Since != 8 {
		t.Errorf("%q, %v", text, v.Panels)
	}
}

// TestTypedIn plays words with positions that a teacher has typed in, and refuses what is no position.
func TestTypedIn(t *testing.T) {
	words := func(texts ...string) (all []teach.Word) {
		for _, text := range texts {
			w, err := teach.ParseWord(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
		return all
	}
	v := play(t, teach.Script{Bits: 12, Words: words("red:1,3,5", "blue: 4, 5 ,11", "a:b:0")}, "add:red", "add:blue", "ask:a:b")
	if v.Kind != "given" || v.Bits != 12 || v.Steps[2].Verdict != teach.Absent || !slices.Equal(setAfter(v, 2), []int{1, 3, 4, 5, 11}) {
		t.Errorf("%+v", v)
	}
	for _, text := range []string{"", "red", "red:", "red:x", "red:1,,2", "red:-1", ":1", "red:1,2,3,4,5,6,7,8,9", "red:999", "red:1.5", "\x00:1"} {
		if w, err := teach.ParseWord(text); err == nil {
			t.Errorf("ParseWord(%q) = %v", text, w)
		}
	}
	for want, s := range map[string]teach.Script{
		"position 10 is not in": {Words: words("red:10")},
		"given twice":           {Words: words("red:1", "red:2")},
		"2 to 64 bits":          {Bits: 65, Words: words("red:1")},
		"only bits":             {Kind: "standard", Words: words("red:1")},
		"at most 16":            {Words: make([]teach.Word, 17)},
		"its words are red":     {Words: words("red:1"), Actions: []teach.Action{{Do: "add", Key: "blue"}}},
		"cannot delete":         {Words: words("red:1"), Actions: []teach.Action{{Do: "delete", Key: "red"}}},
	} {
		if _, err := s.Play(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Play() = %v, want %s", err, want)
		}
	}
}
