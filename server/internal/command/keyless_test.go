package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// keyless are filters with a secret key, by what has made them.
var keyless = []string{
	"FILTER.CREATE kept bloom CAPACITY 20000 KEYED old",
	"FILTER.CREATE kept standard CAPACITY 100 KEYED old",
	"FILTER.CREATE kept counting CAPACITY 100 KEYED old PARTS 2",
	"FILTER.CREATE kept window CAPACITY 100 KEYED old",
}

// needless are the FILTER commands that need no secret key: they read the shape and the
// bits of a filter, copy or replace it as a whole, or have nothing to do with items.
var needless = []string{
	"filter.card", "filter.density", "filter.dump", "filter.followers", "filter.info", "filter.layers", "filter.load", "filter.news", "filter.similar",
	"filter.health", "filter.kinds", "filter.list", "filter.plan", "filter.read", "filter.where",
}

// TestWithoutTheKey runs every FILTER command, and every command on keys, on filters
// whose secret key is not there. What needs the key is answered with an error that names
// it, and only commands that replace or remove a key as a whole change anything.
func TestWithoutTheKey(t *testing.T) {
	table := engine.NewTable(command.All())
	for n, create := range keyless {
		b := commandtest.Open(t, nil, commandtest.New(t, 1).Now, commandtest.Keys())
		for _, line := range append([]string{create, "FILTER.ADD kept x y", "FILTER.CREATE other " + strings.Fields(create)[2] + " LIKE kept"}, strings.Split(strings.TrimSpace(mine), "\n")...) {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s", line, got)
			}
		}
		b = b.Restart(t, nil)
		dumps := func() string { return b.Line("DUMP kept") + b.Line("DUMP other") }
		before := dumps()
		for _, words := range callsOf(samples) {
			cmd := commandOf(t, table, words)
			filter := strings.HasPrefix(cmd.Name, "filter.")
			if !filter && (n > 0 || len(cmd.Keys) == 0) || cmd.Name == "restore" { // others know no kinds
				continue
			}
			changed, second := slices.Clone(words), false
			cmd.Keys.Each(commandtest.Bytes(words), func(i int, k traits.Key) {
				if changed[i] = "kept"; second {
					changed[i] = "other"
				}
				second = true
			})
			if cmd.Name == "filter.create" && (len(cmd.Keys) < 2 || !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "like") })) {
				continue
			} else if cmd.Name == "filter.create" {
				changed[1] = "fresh"
				changed[2] = strings.Fields(create)[2]
			}
			got := b.Do(changed...)
			refused := strings.HasPrefix(got, "-ERR the secret key 'old' of this filter is not in the file of keys")
			switch {
			case !filter || slices.Contains(needless, cmd.Name):
				if refused {
					t.Errorf("%s: %q needs no key: %s", create, changed, got)
				}
			case cmd.Name == "filter.rebuild" && changed[2] != "BEGIN": // there is none
			case strings.HasSuffix(got, "cannot be united or compared: that is for bloom, standard, partitioned and split"):
			case !refused:
				t.Errorf("%s: %q is not refused: %s", create, changed, got)
			}
			if now := dumps(); now != before {
				if !slices.Contains(cmd.Categories, "delete") || filter && cmd.Name != "filter.load" {
					t.Fatalf("%s: %q has changed the filter: %s", create, changed, got)
				}
				b = b.Restart(t, commandtest.Keys())
				b.Line("DEL kept other fresh")
				for _, line := range []string{create, "FILTER.ADD kept x y", "FILTER.CREATE other " + strings.Fields(create)[2] + " LIKE kept"} {
					b.Line(line)
				}
				b = b.Restart(t, nil)
				before = dumps()
			}
		}
		b = b.Restart(t, commandtest.Keys())
		if got := b.Line("FILTER.HAS kept x y"); got != "[true true]" {
			t.Errorf("%s: with its key again: %s", create, got)
		}
	}
}
