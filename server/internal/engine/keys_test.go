package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTakes asks which numbers of arguments a command takes.
func TestTakes(t *testing.T) {
	for _, c := range []struct {
		arity, most int
		want        string
	}{
		{2, 0, "2"}, {-2, 0, "2 3 4 5"}, {-2, 3, "2 3"}, {3, 2, ""}, {-4, 4, "4"},
	} {
		cmd := &Command{Arity: c.arity, Max: c.most}
		var got []string
		for n := 1; n <= 5; n++ {
			if cmd.Takes(n) {
				got = append(got, fmt.Sprint(n))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("arity %d, at most %d takes %v, want %s", c.arity, c.most, got, c.want)
		}
	}
}

// TestTableFinds looks commands up by names in letters of any case, and by names
// that are none.
func TestTableFinds(t *testing.T) {
	longest := strings.Repeat("x", 32)
	table := NewTable([]Command{
		{Name: "zeta", Since: "2.0.0"}, {Name: longest},
		{Name: "alpha", Since: "1.0.0", Group: "g", Subcommands: []Command{{Name: "two", Since: "3.0.0", Syntax: "a b", Summary: "Sums."}, {Name: "one"}}},
	})
	for name, want := range map[string]string{
		"zeta": "zeta", "ZETA": "zeta", "ZeTa": "zeta", "zet": "", "zetas": "", "": "", longest: longest, longest + "x": "",
		strings.ToUpper(longest): longest, "z\xc5ta": "", "[eta": "", "@eta": "",
	} {
		got := ""
		if c := table.Lookup([]byte(name)); c != nil {
			got = c.FullName()
		}
		if got != want {
			t.Errorf("Lookup(%q) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"Alpha": "alpha", "ALPHA|two": "alpha|two", "alpha|help": "alpha|help", "alpha|none": "", "zeta|two": "", "none|two": ""} {
		got := ""
		if c := table.Find([]byte(name)); c != nil {
			got = c.FullName()
		}
		if got != want {
			t.Errorf("Find(%q) = %q, want %q", name, got, want)
		}
	}
	var all []string
	table.Walk(func(c *Command) { all = append(all, c.FullName()+" "+c.Since+" "+c.Group) })
	want := []string{"alpha 1.0.0 g", "alpha|help 1.0.0 g", "alpha|one 1.0.0 g", "alpha|two 3.0.0 g", longest + "  ", "zeta 2.0.0 "}
	if !slices.Equal(all, want) {
		t.Errorf("the table has %q, want %q", all, want)
	}
	help := &Call{}
	table.Find([]byte("alpha|help")).Run(nil, help)
	var lines []string
	for _, e := range help.Reply.Elems {
		lines = append(lines, e.Text)
	}
	wanted := []string{"ALPHA <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", "TWO a b", "    Sums.", "ONE", "    ", "HELP", "    Lists the subcommands."}
	if !slices.Equal(lines, wanted) {
		t.Errorf("HELP says %q, want %q", lines, wanted)
	}
}
