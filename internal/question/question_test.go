package question_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/question"
	"github.com/bloomery/bloomery/sizing"
)

// read reads figures such as "n=1e6 bits=10".
func read(text string) (f question.Figures, err error) {
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		if err := f.Set(name, value); err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
	}
	return f, nil
}

func TestFigures(t *testing.T) {
	f, err := read("n=1e6 p=0.1% m=64KiB k=7 bits=12.5")
	if want := (question.Figures{Params: sizing.Params{N: 1_000_000, P: 0.001, M: 64 << 13, K: 7}, PerKey: 12.5}); f != want || err != nil {
		t.Errorf("%+v, %v, want %+v", f, err, want)
	}
	if got := strings.Join(question.Names(), " "); got != "n p m k bits" {
		t.Errorf("names: %s", got)
	}
	if f, err := read("k=1048576 bits=1000"); f.K != 1<<20 || f.PerKey != 1000 || err != nil {
		t.Errorf("the largest: %+v, %v", f, err)
	}
	for text, want := range map[string]string{
		"n=0": "at least 1", "m=0": "at least 1", "k=0": "at least 1", "n=-1": "n: ", "n=x": "n: ", "p=0": "p: ", "p=1": "p: ", "p=NaN": "p: ",
		"k=1048577": "at most 1048576", "bits=0": "above 0", "bits=-1": "above 0", "bits=NaN": "above 0", "bits=1000.5": "up to 1000", "q=1": "not one of n, p, m, k, bits",
	} {
		if f, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want an error with %q", text, f, err, want)
		}
	}
}

func TestSpreadPerKey(t *testing.T) {
	for text, want := range map[string]sizing.Params{
		"bits=10":         {N: question.AssumedKeys, M: 10 * question.AssumedKeys},
		"bits=2.5 n=3":    {N: 3, M: 8},
		"bits=2.5 m=8":    {N: 3, M: 8},
		"bits=100 n=9e16": {N: 9e16, M: 9e18},
	} {
		f, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		given := f.N != 0 || f.M != 0
		if assumed, err := f.SpreadPerKey(); f.Params != want || assumed == given || err != nil {
			t.Errorf("%s: %+v, assumed %t, %v", text, f.Params, assumed, err)
		}
	}
	for text, want := range map[string]string{"bits=10 m=9": "no whole key", "bits=100 n=9.3e16": "at most 2^63", "bits=1e-300 m=1": "too many"} {
		f, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.SpreadPerKey(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestRateOfHashes(t *testing.T) {
	for k, want := range map[int]float64{1: 0.5, 10: 1.0 / 1024, 1074: 5e-324} {
		f := question.Figures{Params: sizing.Params{K: k}}
		if err := f.RateOfHashes(); f.P != want || err != nil {
			t.Errorf("k = %d: %g, %v", k, f.P, err)
		}
	}
	f := question.Figures{Params: sizing.Params{K: 1075}}
	if err := f.RateOfHashes(); err == nil {
		t.Errorf("k = 1075 has the rate %g", f.P)
	}
}

// TestNeeds asks that every word sets one field, and each another one.
func TestNeeds(t *testing.T) {
	seen := map[sizing.Needs]string{{}: "none"}
	for _, word := range question.Needs() {
		var n sizing.Needs
		if !question.Need(&n, word) || seen[n] != "" {
			t.Errorf("%s gives %+v, as %q does", word, n, seen[n])
		}
		seen[n] = word
	}
	if len(seen) != 9 {
		t.Errorf("%d words", len(seen)-1)
	}
	var n sizing.Needs
	if question.Need(&n, "wings") || question.Need(&n, "") || n != (sizing.Needs{}) {
		t.Errorf("an unknown word gives %+v", n)
	}
}

// FuzzFigures reads any text as any figure: what is taken is in its range.
func FuzzFigures(f *testing.F) {
	for i, text := range []string{"1e6", "0.1%", "64KiB", "7", "12.5", "-1", "NaN", "1e400"} {
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, field uint8, text string) {
		var q question.Figures
		names := question.Names()
		if q.Set(names[int(field)%len(names)], text) != nil {
			return
		}
		if q == (question.Figures{}) || q.P < 0 || q.P >= 1 || math.IsNaN(q.P) || q.K < 0 || q.PerKey < 0 || q.N > math.MaxInt64 || q.M > math.MaxInt64 {
			t.Errorf("%s = %q gives %+v", names[int(field)%len(names)], text, q)
		}
		if q.PerKey > 0 {
			if _, err := q.SpreadPerKey(); err == nil && (q.N == 0 || q.M == 0) {
				t.Errorf("%q bits per key give %+v", text, q)
			}
		}
	})
}
