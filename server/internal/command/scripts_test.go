package command_test

// Scripts about the edges of commands, and commands with more names or items than one
// record or call has.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestScripts runs the scripts about keys, filters and sessions.
func TestScripts(t *testing.T) {
	for _, edges := range []map[string]string{keyScripts, filterScripts, sessionScripts} {
		for name, script := range edges {
			t.Run(name, func(t *testing.T) {
				b := commandtest.New(t, 1<<30)
				for line := range strings.Lines(strings.TrimSpace(script)) {
					cmd, want, _ := strings.Cut(strings.Trim(line, "\t\n"), " -> ")
					if got := b.Line(cmd); got != want {
						t.Errorf("%s\n got %s\nwant %s", cmd, got, want)
					}
				}
			})
		}
	}
}

// TestItemsOfAPipeline asks that commands that come together keep their own items.
func TestItemsOfAPipeline(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	var adds [][][]byte
	for _, kind := range []string{"BF", "CF"} {
		for i := range 20 {
			adds = append(adds, commandtest.Fields(fmt.Sprintf("%s.ADD %s%d item%d", kind, kind, i, i)))
		}
	}
	b.Exec(adds...)
	for _, kind := range []string{"BF", "CF"} {
		for i := range 20 {
			for j := range 20 {
				want := ":0"
				if i == j {
					want = ":1"
				}
				if got := b.Line(fmt.Sprintf("%s.EXISTS %s%d item%d", kind, kind, i, j)); got != want {
					t.Errorf("item %d in filter %d of %s: %s, want %s", j, i, kind, got, want)
				}
			}
		}
	}
	for _, kind := range []string{"BF", "CF"} {
		adds = adds[:0]
		for i := range 20 {
			adds = append(adds, commandtest.Fields(fmt.Sprintf("%s.ADD %s item%d", kind, kind, i)))
		}
		b.Exec(adds...)
		for i := range 20 {
			if got := b.Line(fmt.Sprintf("%s.EXISTS %s item%d", kind, kind, i)); got != ":1" {
				t.Errorf("item %d of 20 that were added to one filter of %s together: %s", i, kind, got)
			}
		}
	}
	if got := b.Line("BF.DEBUG BF0"); !strings.Contains(got, "size:1") || !strings.Contains(got, "capacity:100 size:1 ratio:0.005") {
		t.Errorf("BF.DEBUG = %s", got)
	}
}
