package bloomery_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRaceTests asks that the packages and tests that scripts/race-tests names exist.
func TestRaceTests(t *testing.T) {
	text, err := os.ReadFile("scripts/race-tests")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Example)\w+)\(`)
	for line := range strings.Lines(string(text)) {
		folder, names, ok := strings.Cut(strings.TrimSpace(line), " ")
		names = strings.TrimPrefix(strings.TrimSpace(names), "!")
		if !ok || folder == "#" {
			continue
		}
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("scripts/race-tests: %v", err)
		}
		if names == "-" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var tests []string
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range declared.FindAllSubmatch(text, -1) {
				tests = append(tests, string(found[1]))
			}
		}
		for part := range strings.SplitSeq(names, "|") {
			run, found := regexp.MustCompile(part), false
			for _, name := range tests {
				found = found || run.MatchString(name)
			}
			if !found {
				t.Errorf("scripts/race-tests: no test of %s is %s", folder, part)
			}
		}
	}
}
