package filter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// Who says its name is listed, with what it has said of its copy; the last 64 are.
func TestFollowers(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	b.OK(t, "BF.RESERVE bf 0.01 100")
	if got := b.Line("FILTER.FOLLOWERS f"); got != "[]" {
		t.Errorf("nobody has asked: %s", got)
	}
	b.Line("FILTER.NEWS f MAX 64")
	b.Line("FILTER.NEWS f NAME two VERSION 7 AGE 90500")
	b.Now = b.Now.Add(5 * time.Second)
	b.Line("FILTER.NEWS f NAME one")
	b.Line("FILTER.NEWS bf NAME three")
	if got, want := b.Line("FILTER.FOLLOWERS f"), `[["name" "one" "asked" :0] ["name" "two" "version" :7 "age" :90 "asked" :5]]`; got != want {
		t.Errorf("followers are %s, want %s", got, want)
	}
	if got, want := b.Line("FILTER.FOLLOWERS bf"), `[["name" "three" "asked" :0]]`; got != want {
		t.Errorf("followers of a BF are %s, want %s", got, want)
	}
	for i := range 63 {
		b.Now = b.Now.Add(time.Second)
		b.Line(fmt.Sprint("FILTER.NEWS f NAME more-", i))
	}
	got := b.Line("FILTER.FOLLOWERS f")
	if n := strings.Count(got, `"name"`); n != 64 || strings.Contains(got, `"two"`) || !strings.Contains(got, `"one"`) || !strings.Contains(got, `"more-62"`) {
		t.Errorf("%d followers are listed: %s", n, got)
	}
	long := strings.Repeat("x", 65)
	for line, want := range map[string]string{
		"FILTER.FOLLOWERS none":           "-ERR not found",
		"FILTER.NEWS f NAME " + long:      "-ERR NAME must be",
		"FILTER.NEWS f NAME é":            "-ERR NAME must be",
		"FILTER.NEWS f NAME a NAME b":     "-ERR syntax error",
		"FILTER.NEWS f NAME":              "-ERR syntax error",
		"FILTER.NEWS f VERSION -1":        "-ERR VERSION must be",
		"FILTER.NEWS f NAME a AGE x":      "-ERR AGE must be",
		"FILTER.NEWS f AGE 1 AGE 2":       "-ERR syntax error",
		"FILTER.NEWS f VERSION 1 AGE 0.5": "-ERR AGE must be",
	} {
		if got := b.Line(line); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %.100s, want %s", line, got, want)
		}
	}
	if got := b.Do("FILTER.NEWS", "f", "NAME", "two words"); !strings.HasPrefix(got, "-ERR NAME must be") {
		t.Errorf("a blank: %.100s", got)
	}
}

// FILTER.SET does not forget who follows a filter.
func TestFollowersOfSetNews(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000 PARTS 2")
	b.Line("FILTER.NEWS f NAME one VERSION 7")
	for _, changes := range []int{500, 20, 0} {
		b.OK(t, fmt.Sprint("FILTER.SET f NEWS ", changes))
		for _, when := range []string{"at once", "when somebody has asked"} {
			if got, want := b.Line("FILTER.FOLLOWERS f"), `[["name" "one" "version" :7 "asked" :0]]`; got != want {
				t.Errorf("with %d changes, %s: followers are %s, want %s", changes, when, got, want)
			}
			b.Line("FILTER.NEWS f MAX 64")
		}
	}
}
