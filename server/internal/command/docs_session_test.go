package command_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestSessionsOfTheDocs runs the sessions of docs/filter-commands.md as they stand
// there: none of their commands fails.
func TestSessionsOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/filter-commands.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 0 || !strings.Contains(block, "\nredis-cli FILTER.CREATE ") {
			continue
		}
		sessions++
		b := commandtest.New(t, 1<<30)
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			line, ok := strings.CutPrefix(strings.TrimSpace(line), "redis-cli ")
			if !ok {
				continue
			}
			if got := b.Line(strings.ReplaceAll(line, "'", "")); strings.HasPrefix(got, "-") {
				t.Errorf("%s: %s", line, got)
			}
		}
	}
	if sessions < 2 {
		t.Errorf("%d sessions", sessions)
	}
}
