package teach_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/page/internal/teach"
)

func TestOwners(t *testing.T) {
	v := play(t, teach.Script{Kind: "counting"}, "add:apple", "add:banana", "add:apple", "delete:apple", "delete:banana")
	for _, c := range v.Steps[0].Cells {
		if got := ownersAfter(v, 1, c); !slices.Equal(got, []string{"apple"}) {
			t.Errorf("counter %d was set by %v, want apple", c, got)
		}
		if got := ownersAfter(v, 4, c); !slices.Contains(got, "apple") {
			t.Errorf("after one of two deletions counter %d was set by %v, want apple among them", c, got)
		}
	}
	for _, c := range v.Steps[1].Cells {
		if got := ownersAfter(v, 5, c); slices.Contains(got, "banana") {
			t.Errorf("counter %d was set by %v after banana was deleted", c, got)
		}
	}
}

// TestFalseNegative deletes a false positive: what it shares with keys that are
// there goes, and a key with it.
func TestFalseNegative(t *testing.T) {
	s := teach.Script{Kind: "counting", Bits: 512, Hashes: 2, Actions: []teach.Action{{Do: "fill", N: 40}}}
	found, err := s.Find()
	if err != nil || found.Key == "" {
		t.Fatalf("Find = %+v, %v, want a false positive", found, err)
	}
	v := play(t, s, "ask:"+found.Key)
	do := []string{"ask:" + found.Key, "delete:" + found.Key}
	for _, c := range v.Steps[1].Cells {
		for _, key := range ownersAfter(v, 2, c) {
			do = append(do, "ask:"+key)
		}
	}
	v = play(t, s, do...)
	if v.Steps[1].Verdict != teach.FalsePositive || v.Steps[2].Verdict != teach.Deleted {
		t.Fatalf("%s, %s, want a false positive that is deleted", v.Steps[1].Verdict, v.Steps[2].Verdict)
	}
	if !slices.ContainsFunc(v.Steps[3:], func(s teach.Step) bool {
		return s.Verdict == teach.FalseNegative && strings.Contains(s.Text, "a false negative")
	}) {
		t.Errorf("no key was lost: %+v", v.Steps[3:])
	}
}

// TestNeverAFalseNegative plays every kind without deletions.
func TestNeverAFalseNegative(t *testing.T) {
	for _, k := range teach.Kinds() {
		do := []string{"fill:40"}
		for i := 1; i <= 40; i++ {
			do = append(do, fmt.Sprint("ask:key ", i))
		}
		for i, s := range play(t, teach.Script{Kind: k.Name}, do...).Steps[1:] {
			if s.Verdict != teach.Present {
				t.Errorf("%s: key %d is %s", k.Name, i+1, s.Verdict)
			}
		}
	}
}

func TestFind(t *testing.T) {
	s := teach.Script{Kind: "standard", Bits: 256, Hashes: 3, Actions: []teach.Action{{Do: "fill", N: 60}}}
	found, err := s.Find()
	if err != nil || found.Key == "" || found.Tried > teach.MaxTries {
		t.Fatalf("Find = %+v, %v, want a false positive", found, err)
	}
	v := play(t, s, "ask:"+found.Key)
	last := v.Steps[len(v.Steps)-1]
	if last.Verdict != teach.FalsePositive {
		t.Errorf("%q is %s, want a false positive", found.Key, last.Verdict)
	}
	for _, c := range last.Cells {
		if len(ownersAfter(v, len(v.Steps), c)) == 0 {
			t.Errorf("nobody has set bit %d of the false positive %q", c, found.Key)
		}
	}
	none, err := teach.Script{Kind: "standard", Bits: 4096, Hashes: 16, Actions: []teach.Action{{Do: "add", Key: "one"}}}.Find()
	if err != nil || none.Key != "" || none.Tried != teach.MaxTries {
		t.Errorf("Find in an empty filter = %+v, %v", none, err)
	}
	if _, err := (teach.Script{Lesson: "fruit"}).Find(); err == nil {
		t.Error("Find in a lesson with given positions found something to try")
	}
}

// TestRefused holds bad input to a fault that names the field.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", teach.MaxKeyBytes+1)
	for _, c := range []struct {
		script teach.Script
		field  string
	}{
		{teach.Script{Lesson: "none"}, "lesson"},
		{teach.Script{Lesson: long + long}, "lesson"},
		{teach.Script{Lesson: "fruit", Kind: "standard"}, "lesson"},
		{teach.Script{Lesson: "fruit", Bits: 10}, "lesson"},
		{teach.Script{Kind: "bloom filter"}, "kind"},
		{teach.Script{Kind: "standard", Bits: 1 << 30}, "bits"},
		{teach.Script{Kind: "standard", Bits: -1}, "bits"},
		{teach.Script{Kind: "standard", Bits: 513}, "bits"},
		{teach.Script{Kind: "standard", Hashes: 17}, "hashes"},
		{teach.Script{Kind: "standard", Hashes: -1}, "hashes"},
		{teach.Script{Kind: "cuckoo", Hashes: 3}, "hashes"},
		{teach.Script{Kind: "standard", Actions: []teach.Action{{Do: "delete", Key: "x"}}}, "do"},
		{teach.Script{Kind: "standard", Actions: []teach.Action{{Do: "advance"}}}, "do"},
		{teach.Script{Kind: "standard", Actions: []teach.Action{{Do: "report", Key: "x"}}}, "do"},
		{teach.Script{Kind: "corrected", Bits: 32}, "bits"},
		{teach.Script{Lesson: "fruit", Actions: []teach.Action{{Do: "fill", N: 3}}}, "do"},
		{teach.Script{Lesson: "fruit", Actions: []teach.Action{{Do: "ask", Key: "pear"}}}, "do"},
		{teach.Script{Lesson: "cat-dog", Actions: []teach.Action{{Do: "ask", Key: "Käse"}}}, "do"},
		{teach.Script{Kind: "standard", Actions: make([]teach.Action, teach.MaxActions+1)}, "do"},
		{teach.Script{Kind: "standard", Actions: []teach.Action{{Do: "fill", N: teach.MaxKeys}, {Do: "add", Key: "x"}}}, "do"},
		{teach.Script{Kind: "scalable", Actions: []teach.Action{{Do: "fill", N: 300}}}, "do"},
	} {
		_, err := c.script.Play()
		fault, ok := errors.AsType[*teach.FieldError](err)
		if !ok || fault.Field != c.field || fault.Cause == "" || len(err.Error()) > 400 {
			t.Errorf("%+v: %v, want a fault of %s", c.script, err, c.field)
		}
	}
	for _, text := range []string{"", "add", "add:", "add:" + long, "add:a\x00b", "add:\xff", "report:", "report", "fill", "fill:0", "fill:-1", "fill:1e3", "fill:601", "fill:99999999999999999999", "advance:1", "drop:x"} {
		if a, err := teach.ParseAction(text); err == nil {
			t.Errorf("ParseAction(%q) = %v, want an error", text, a)
		}
	}
}

// TestSizeOfScenes bounds the largest scenes that can be asked for.
func TestSizeOfScenes(t *testing.T) {
	for _, k := range teach.Kinds() {
		s := teach.Script{Kind: k.Name, Bits: k.Sizes[len(k.Sizes)-1], Hashes: k.MaxHashes}
		each := k.MaxKeys / teach.MaxActions
		for range teach.MaxActions {
			s.Actions = append(s.Actions, teach.Action{Do: "fill", N: each})
		}
		v, err := s.Play()
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 2<<20 {
			t.Errorf("%s: a scene of %d bytes, want at most 2 MiB", k.Name, len(data))
		}
		t.Logf("%s: %d bytes", k.Name, len(data))
	}
}

func FuzzPlay(f *testing.F) {
	f.Add("standard", 512, 4, "add:cat\nask:dog\nfill:20")
	f.Add("counting", 512, 4, "add:cat\ndelete:dog\ndelete:cat")
	f.Add("cuckoo", 64, 0, "fill:70\n"+strings.Repeat("add:a\n", 9))
	f.Add("window", 0, 0, "add:x\n"+strings.Repeat("advance\n", 4)+"ask:x")
	f.Add("scalable", 0, 0, "fill:100\nask:key 3")
	f.Add("corrected", 16, 1, "fill:9\nask:owl\nreport:owl\nask:owl\nadd:owl\nreport:fox\nreport:bee\nreport:elk\nask:owl\nask:fox")
	f.Add("lesson cat-dog", 0, 0, "add:cat\nask:{}")
	f.Fuzz(func(t *testing.T, kind string, bits, hashes int, do string) {
		s := teach.Script{Kind: kind, Bits: bits, Hashes: hashes}
		if lesson, ok := strings.CutPrefix(kind, "lesson "); ok {
			s = teach.Script{Lesson: lesson}
		}
		for line := range strings.SplitSeq(do, "\n") {
			if a, err := teach.ParseAction(line); err == nil {
				s.Actions = append(s.Actions, a)
			}
		}
		v, err := s.Play()
		if err != nil {
			if _, ok := errors.AsType[*teach.FieldError](err); !ok {
				t.Fatalf("%v is not a fault", err)
			}
			return
		}
		cells := 0
		for _, p := range v.Panels {
			cells += p.Cells
		}
		for i, step := range v.Steps {
			for _, c := range step.Changes {
				if c[0] < 0 || c[0] >= cells {
					t.Fatalf("step %d changes cell %d of %d", i, c[0], cells)
				}
			}
			if step.Text == "" || step.Verdict == "" {
				t.Fatalf("step %d has no words: %+v", i, step)
			}
			if step.Verdict == teach.FalseNegative && !strings.Contains(do, "delete:") {
				t.Fatalf("a false negative without a deletion: %s", step.Text)
			}
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	})
}
