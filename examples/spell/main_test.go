package main

import (
	"slices"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// All errors of the sample are found, nearly all get their correction, no word is blocked, and
// both filters together stay far below a megabyte.
func TestSpell(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.found.Yes < f.found.All-1 || f.found.All < 50 || f.fixed.Rate() < 0.8 {
		t.Errorf("%v errors found, %v corrected; want all but one and 80%%", f.found, f.fixed)
	}
	if f.unwanted.Yes != 19 || f.wordsBlocked != 0 {
		t.Errorf("%v unwanted words found, %d others blocked", f.unwanted, f.wordsBlocked)
	}
	if size := f.wordsBytes + f.blockBytes; size*8 > 30*f.words {
		t.Errorf("%d bytes for %d words", size, f.words)
	}
	f.Table().Documented(t)
}

func TestSuggest(t *testing.T) {
	c, err := newChecker([]string{"form", "from", "farm", "forum", "other"}, []string{"darn"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.suggest("forrm"); !slices.Equal(got, []string{"form", "forum"}) {
		t.Errorf("suggestions %q", got)
	}
	for _, word := range []string{"from", "From", "FORM"} {
		if !c.correct(word) {
			t.Errorf("%q is not known", word)
		}
	}
}
