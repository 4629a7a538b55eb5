package teach_test

// The words and figures of steps.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/page/internal/teach"
)

// TestWordsOfSteps holds the last step of scripts to its words and to the number of
// cells that are set after it.
func TestWordsOfSteps(t *testing.T) {
	for _, c := range []struct {
		script teach.Script
		do     string
		set    int
		want   string
	}{
		{teach.Script{Lesson: "cat-dog"}, "add:cat", 2, "“cat”: the ASCII codes add up to 312, so h1 = 2; 3 × 3 = 9, so h2 = 9. It has bits 2 and 9. All of them were 0 and are now 1."},
		{
			teach.Script{Lesson: "cat-dog"}, "add:cat ask:act", 2,
			"“act”: the ASCII codes add up to 312, so h1 = 2; 3 × 3 = 9, so h2 = 9. It has bits 2 and 9. Both are set: “act” is probably present, the filter reports. " +
				"But it was not inserted: this is a false positive. Bit 2 was set by “cat”, bit 9 was set by “cat”.",
		},
		{teach.Script{Lesson: "fruit"}, "add:apple add:orange", 4, "“orange” has bits 2, 5 and 8. It sets bit 8. Bits 2 and 5 were already set, by “apple”."},
		{teach.Script{Lesson: "fruit"}, "add:apple add:apple", 3, "“apple” has bits 2, 5 and 7. All of them were set already: nothing changes."},
		{teach.Script{Lesson: "apple-banana-cherry"}, "add:apple add:banana ask:cherry", 5, "“cherry” has bits 2, 5 and 8. Bit 8 is 0: “cherry” is certainly absent."},
		{teach.Script{Lesson: "apple-banana-cherry"}, "add:apple add:banana add:cherry", 6, "“cherry” has bits 2, 5 and 8. It sets bit 8. Bits 2 and 5 were already set, by “apple” and “banana”."},
		{teach.Script{Kind: "standard", Hashes: 1}, "add:ant", 1, "“ant” has bit 235. It was 0 and is now 1."},
		{teach.Script{Kind: "standard", Hashes: 1}, "add:ant add:ant", 1, "“ant” has bit 235. It was set already: nothing changes."},
		{teach.Script{Kind: "blocked", Bits: 1024, Hashes: 2}, "fill:200 add:cow", 332, "“cow” has bits 2 and 108 of block 2. It sets bit 2 of block 2. Bit 108 of block 2 was already set, by “key 135”."},
		{teach.Script{Kind: "partitioned", Bits: 256, Hashes: 3}, "add:ant ask:bee", 3, "“bee” has bit 50 of slice 1; bit 47 of slice 2; bit 82 of slice 3. Bit 50 of slice 1 is 0: “bee” is certainly absent."},
		{teach.Script{Kind: "counting"}, "add:ant add:ant", 4, "“ant” has counters 141, 210, 271 and 326. It adds 1 to each of them."},
		{teach.Script{Kind: "counting"}, "add:ant add:ant delete:ant", 4, "“ant” has counters 141, 210, 271 and 326. It takes 1 from each of them. None comes to 0: other keys have set them, too."},
		{teach.Script{Kind: "counting"}, "add:ant delete:ant", 0, "“ant” has counters 141, 210, 271 and 326. It takes 1 from each of them. All come to 0."},
		{teach.Script{Kind: "counting"}, "add:ant fill:60 delete:ant", 191, "“ant” has counters 141, 210, 271 and 326. It takes 1 from each of them. 2 come to 0; the others still count other keys."},
		{teach.Script{Kind: "counting"}, "add:ant delete:bee", 4, "“bee” has counters 19, 65, 161 and 496. Counter 19 is 0: nothing is deleted."},
		{teach.Script{Kind: "cuckoo"}, "add:a ask:b", 1, "“b” has the fingerprint 30 and the buckets 5 and 8. Neither bucket holds 30: “b” is certainly absent."},
		{teach.Script{Kind: "cuckoo"}, "fill:70", 60, "Keys are added up to “key 61”, which finds no room: the filter is full."},
		{teach.Script{Kind: "scalable"}, "fill:16 add:one_more", 210, "“one_more” has bits 26, 87, 136, 179, 220, 255, 293, 315, 321, 403 and 453 of layer 2. All of them were 0 and are now 1."},
		{
			teach.Script{Kind: "scalable"}, "add:ant fill:76 add:ant", 695,
			"“ant” has bits 13, 26, 86, 121, 141, 155, 206, 210, 271, 298, 326, 350, 399, 445, 462 and 464 of layer 1. " +
				"All of them were set already: nothing changes.",
		},
		{teach.Script{Kind: "window"}, "advance", 0, "Time moves on, and a new generation begins. The one that it replaces was empty."},
		{
			teach.Script{Kind: "window"}, "advance add:a ask:a", 8,
			"“a” has bits 31, 59, 92, 118, 142, 182, 204 and 224 of every generation. " +
				"Bits 31, 59, 92, 118, 142, 182, 204 and 224 of generation 1 are all set: “a” is probably present, and it was inserted.",
		},
		{teach.Script{Kind: "window"}, "add:a ask:c", 8, "“c” has bits 21, 48, 65, 124, 142, 191, 209 and 232 of every generation. In every generation at least one of them is 0: “c” is certainly absent."},
		{
			teach.Script{Kind: "window"}, "add:a advance advance advance advance", 0,
			"Time moves on, and a new generation begins in place of the oldest, which is cleared: 8 bits become 0, and its keys are forgotten.",
		},
	} {
		v := play(t, c.script, strings.Fields(c.do)...)
		last := v.Steps[len(v.Steps)-1]
		if last.Text != c.want || last.Set != c.set {
			t.Errorf("%s%s, %s: %d cells are set, want %d\n%s\nwant\n%s", c.script.Lesson, c.script.Kind, c.do, last.Set, c.set, last.Text, c.want)
		}
		if strings.HasSuffix(last.Text, "nothing changes.") && last.Verdict != teach.Unchanged {
			t.Errorf("%s: the verdict is %s", c.do, last.Verdict)
		}
	}
}

// TestBlameNamesCells finds false positives in several blocks: cells are counted from
// the beginning of their block.
func TestBlameNamesCells(t *testing.T) {
	s := teach.Script{Kind: "blocked", Bits: 1024, Hashes: 1, Actions: []teach.Action{{Do: "fill", N: 200}}}
	blocks := map[string]bool{}
	for i := range 30 {
		v := play(t, s, "ask:key "+strconv.Itoa(1000+i))
		last := v.Steps[1]
		if last.Verdict != teach.FalsePositive {
			continue
		}
		cell := last.Cells[0]
		where := fmt.Sprintf("bit %d of block %d. ", cell%512, cell/512+1)
		blame := fmt.Sprintf("Bit %d was set by “%s”", cell%512, ownersAfter(v, 1, cell)[0])
		if !strings.Contains(last.Text, where) || !strings.Contains(last.Text, blame) {
			t.Errorf("%s\nwant %s and %s", last.Text, where, blame)
		}
		blocks[where[len(where)-3:]] = true
	}
	if len(blocks) != 2 {
		t.Errorf("false positives in the blocks %v", blocks)
	}
}

// TestStuckCounters counts a key more often than counters can: they stay at their
// most, nobody owns them any more, and nobody is blamed.
func TestStuckCounters(t *testing.T) {
	do := slices.Repeat([]string{"add:a"}, 17)
	do = append(do, slices.Repeat([]string{"delete:a"}, 16)...)
	v := play(t, teach.Script{Kind: "counting"}, append(do, "ask:a")...)
	for i, want := range map[int]struct {
		verdict teach.Verdict
		text    string
	}{
		15: {teach.Inserted, "It adds 1 to each of them."},
		16: {teach.Full, "All of them count as many keys as they can: the insertion fails, and nothing changes."},
		17: {teach.Deleted, "All of them have counted as many keys as they can, perhaps more, so they stay as they are."},
		33: {teach.FalsePositive, "All of them are set: “a” is probably present, the filter reports. But it was not inserted: this is a false positive."},
	} {
		s := v.Steps[i]
		if _, text, _ := strings.Cut(s.Text, ". "); s.Verdict != want.verdict || text != want.text || i > 15 && len(s.Changes) > 0 {
			t.Errorf("step %d: %s, %d changes: %s, want %s: %s", i, s.Verdict, len(s.Changes), text, want.verdict, want.text)
		}
	}
}

// TestLabelsOfGenerations holds the names of panels to the time that has passed.
func TestLabelsOfGenerations(t *testing.T) {
	v := play(t, teach.Script{Kind: "window"}, "advance", "advance", "advance", "advance")
	const present = ", present: keys are added here"
	for i, want := range [][]string{
		{"generation 0", "generation 1" + present, "not yet used", "not yet used"},
		{"generation 0", "generation 1", "generation 2" + present, "not yet used"},
		{"generation 0, the next to be dropped", "generation 1", "generation 2", "generation 3" + present},
		{"generation 4" + present, "generation 1, the next to be dropped", "generation 2", "generation 3"},
	} {
		if got := v.Steps[i].Labels; !slices.Equal(got, want) {
			t.Errorf("after %d: %q, want %q", i+1, got, want)
		}
	}
}

// TestStages holds the stage of each kind to its panels, and to the default of bits
// for a key.
func TestStages(t *testing.T) {
	for kind, want := range map[string]struct {
		hashes int
		panels []teach.Panel
	}{
		"standard": {4, []teach.Panel{{Name: "array", Cells: 256, Columns: 32, Group: 8}}},
		"blocked": {6, []teach.Panel{
			{Name: "block 1", Cells: 512, Columns: 32, Group: 8}, {Name: "block 2", First: 512, Cells: 512, Columns: 32, Group: 8},
			{Name: "block 3", First: 1024, Cells: 512, Columns: 32, Group: 8}, {Name: "block 4", First: 1536, Cells: 512, Columns: 32, Group: 8},
		}},
		"counting": {4, []teach.Panel{{Name: "block", Cells: 512, Columns: 32, Group: 8}}},
		"scalable": {0, []teach.Panel{
			{Name: "layer 1, for 16 keys", Cells: 512, Columns: 32, Group: 8}, {Name: "layer 2, for 32 keys", First: 512, Cells: 512, Columns: 32, Group: 8, Since: 1},
		}},
		"cuckoo": {0, []teach.Panel{{Name: "buckets of 4 slots", Cells: 64, Columns: 16, Group: 4}}},
	} {
		if v := play(t, teach.Script{Kind: kind}, "fill:17"); v.Hashes != want.hashes || !slices.Equal(v.Panels, want.panels) || v.Words == nil {
			t.Errorf("%s: %d hashes, panels %+v, words %v", kind, v.Hashes, v.Panels, v.Words)
		}
	}
	if v := play(t, teach.Script{Lesson: "fruit"}); len(v.Words) != 4 {
		t.Errorf("the lesson has the words %v", v.Words)
	}
}

// TestLongestKey holds the length of keys to 48 bytes.
func TestLongestKey(t *testing.T) {
	if _, err := teach.ParseAction("add:" + strings.Repeat("x", 48)); err != nil {
		t.Error(err)
	}
	if _, err := teach.ParseAction("add:" + strings.Repeat("x", 49)); err == nil {
		t.Error("a key of 49 bytes is taken")
	}
}

// TestExperimentsInFigures holds the experiments to their size and their words.
func TestExperimentsInFigures(t *testing.T) {
	g, err := teach.Grow("standard", 1000, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(g.Points); n != 33 || g.Points[8].Keys != 1000 || g.Points[32].Keys != 4000 {
		t.Errorf("%d points: %+v", n, g.Points)
	}
	if want := "Made for 1,000 keys at a false positive rate of 1%. With 4,000 keys the rate is 68.3%, 68 times as high."; g.Text != want {
		t.Errorf("%s\nwant\n%s", g.Text, want)
	}
	c, err := teach.Compare(1000, 0.01, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"The false positive rate asked for is kept.", "8.2 times the false positive rate asked for: keys crowd into some blocks."} {
		s := c.Sides[i]
		fill := 0.0
		for _, b := range s.Blocks {
			fill += b / float64(len(s.Blocks))
		}
		if s.Text != want || math.Abs(fill-0.45) > 0.15 || s.Measured.Tried != 20_000 || s.Measured.Yes < 100 {
			t.Errorf("%s: %s, %.2f of the bits are set, measured %+v", s.Hash, s.Text, fill, s.Measured)
		}
	}
}
