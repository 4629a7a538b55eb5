package command_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/traits"
)

func TestDocsAreCurrent(t *testing.T) {
	got, err := os.ReadFile("../../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != command.Docs() {
		t.Error("docs/commands.md is not what the table says: run go generate ./server/internal/command")
	}
}

// TestTable asks that every command is described whole.
func TestTable(t *testing.T) {
	check := func(c *engine.Command) {
		if c.Name != strings.ToLower(c.Name) || len(c.Name) > 32 {
			t.Errorf("%s: name is not lower case, or too long", c.Name)
		}
		if c.Summary == "" || c.Group == "" || c.Since == "" || !strings.HasSuffix(c.Summary, ".") {
			t.Errorf("%s: summary, group or version is missing", c.FullName())
		}
		if len(c.Categories) == 0 || len(c.Subcommands) == 0 && c.Complexity == "" {
			t.Errorf("%s: categories or complexity are missing", c.FullName())
		}
		for _, k := range c.Keys {
			if k.At == nil && (k.First < 1 || k.Step < 1) || k.Access == "" {
				t.Errorf("%s: keys %+v", c.FullName(), k)
			}
		}
		if slices.Contains(c.Categories, "write") && c.Flags&traits.Write == 0 {
			t.Errorf("%s: category write without the flag", c.FullName())
		}
	}
	seen := map[string]bool{}
	for _, c := range engine.NewTable(command.All()).All() {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		check(c)
		for i := range c.Subcommands {
			check(&c.Subcommands[i])
		}
		if len(c.Subcommands) > 0 && c.Run == nil && c.Arity != -2 {
			t.Errorf("%s has subcommands and arity %d, want -2 as in Redis", c.Name, c.Arity)
		}
	}
}

func TestLookup(t *testing.T) {
	table := engine.NewTable(command.All())
	for _, name := range []string{"bf.add", "BF.ADD", "Bf.aDd"} {
		if c := table.Lookup([]byte(name)); c == nil || c.Name != "bf.add" {
			t.Errorf("Lookup(%q) = %v, want bf.add", name, c)
		}
	}
	for _, name := range []string{"", "bf.ad", strings.Repeat("x", 100)} {
		if c := table.Lookup([]byte(name)); c != nil {
			t.Errorf("Lookup(%q) = %s, want none", name, c.Name)
		}
	}
}

// TestFlagsOfIncrements asks COMMAND INFO for the flags of commands that count.
func TestFlagsOfIncrements(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, name := range []string{"incr", "decr", "incrby", "decrby"} {
		if got := b.Line("COMMAND INFO " + name); !strings.Contains(got, "[+write +denyoom +fast]") {
			t.Errorf("COMMAND INFO %s = %s", name, got)
		}
	}
}
