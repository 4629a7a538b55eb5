package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
)

// TestKeysOfCalls asks where the keys of a call are, also where a number among the
// arguments says how many there are, and where that number is wrong.
func TestKeysOfCalls(t *testing.T) {
	counted := Keys{First: 2, Counted: true}
	for _, c := range []struct {
		keys Keys
		line string
		want []int
	}{
		{KeyAt(1, KeyRO), "get k", []int{1}},
		{KeyAt(2, KeyRO), "object encoding k", []int{2}},
		{KeyAt(2, KeyRO), "object help", nil},
		{AllKeys(KeyRO)[0], "del a b c", []int{1, 2, 3}},
		{Keys{First: 1, Last: -1, Step: 2}, "mset a 1 b 2", []int{1, 3}},
		{Keys{First: 1, Last: 2, Step: 1}, "rename a b", []int{1, 2}},
		{Keys{First: 1, Last: 2, Step: 1}, "rename a", []int{1}},
		{counted, "merge to 2 a b", []int{3, 4}},
		{counted, "merge to 2 a b weights 1 2", []int{3, 4}},
		{counted, "merge to 1 a b", []int{3}},
		{counted, "merge to 3 a b", nil},
		{counted, "merge to 0 a b", nil},
		{counted, "merge to -1 a b", nil},
		{counted, "merge to x a b", nil},
		{counted, "merge to 9223372036854775807 a b", nil},
		{counted, "merge to", nil},
		{counted, "merge to 1", nil},
	} {
		var args [][]byte
		for w := range strings.FieldsSeq(c.line) {
			args = append(args, []byte(w))
		}
		cmd := &Command{Keys: []Keys{c.keys}}
		var got []int
		cmd.EachKey(args, func(i int, _ Keys) { got = append(got, i) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has keys at %v, want %v", c.line, got, c.want)
		}
		for i := range args {
			if cmd.hasKeyAt(args, i) != slices.Contains(c.want, i) {
				t.Errorf("%s: hasKeyAt(%d) = %v", c.line, i, cmd.hasKeyAt(args, i))
			}
		}
	}
	const both = acl.Read | acl.Write
	for access, want := range map[string]acl.Access{
		KeyRO: acl.Read, KeyGet: acl.Read, KeyRW: both, KeyUpdate: both, KeyTake: both,
		KeyOW: acl.Write, KeyNew: acl.Write, KeyDelete: acl.Write, KeyChange: acl.Write, KeyAppend: acl.Write,
	} {
		if got := (&Keys{Access: access}).access(&Command{Flags: Write}); got != want {
			t.Errorf("keys of %q need %d, want %d", access, got, want)
		}
	}
	if got := (&Keys{Access: KeyRW}).access(&Command{Flags: ReadOnly}); got != acl.Read {
		t.Errorf("keys of a read need %d", got)
	}
}

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

// TestFlags asks for the names of flags, and which commands write.
func TestFlags(t *testing.T) {
	if got := (Write | DenyOOM | Fast | Heavy | Immediate).Names(); !slices.Equal(got, []string{"write", "denyoom", "fast"}) {
		t.Errorf("names of flags: %q", got)
	}
	for f, want := range map[Flags]bool{Write: true, Wrote: true, ReadOnly: false, 0: false} {
		if (&Command{Flags: f}).writes() != want {
			t.Errorf("a command with flags %v: writes is not %v", f.Names(), want)
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

// TestIs compares words in letters of any case.
func TestIs(t *testing.T) {
	for _, c := range []struct {
		arg, word string
		want      bool
	}{
		{"get", "get", true}, {"GET", "get", true}, {"gEt", "get", true}, {"gets", "get", false}, {"ge", "get", false},
		{"", "", true}, {"@et", "`et", false}, {"[et", "{et", false}, {"GEZ", "gez", true}, {"AZ", "az", true},
	} {
		if answer.Is([]byte(c.arg), c.word) != c.want {
			t.Errorf("Is(%q, %q) is not %v", c.arg, c.word, c.want)
		}
	}
	for i, want := range []byte{'a', 'z', 'b', '[', '@', 0, 0} {
		if got := answer.Letter([]byte("AZb[@"), i); got != want {
			t.Errorf("Letter(%d) = %q, want %q", i, got, want)
		}
	}
}

// TestUnknownCommandsAreQuoted asks that an error quotes no more than 128 bytes.
func TestUnknownCommandsAreQuoted(t *testing.T) {
	long := strings.Repeat("n", 200)
	split := func(words ...string) (args [][]byte) {
		for _, w := range words {
			args = append(args, []byte(w))
		}
		return args
	}
	for _, c := range []struct {
		args [][]byte
		want string
	}{
		{split("nosuch"), "ERR unknown command 'nosuch', with args beginning with: "},
		{split(long, "x"), "ERR unknown command '" + long[:128] + "', with args beginning with: 'x' "},
		{split("c", long[:100], long, "y"), "ERR unknown command 'c', with args beginning with: '" + long[:100] + "' '" + long[:25] + "' "},
		{split("c", long[:124], long, "y"), "ERR unknown command 'c', with args beginning with: '" + long[:124] + "' 'n' "},
		{split("c", long[:125], long), "ERR unknown command 'c', with args beginning with: '" + long[:125] + "' "},
	} {
		if got := unknownCommand(c.args); got.Text != c.want || !got.Failed() {
			t.Errorf("%d arguments: %q, want %q", len(c.args), got.Text, c.want)
		}
	}
	if got := unknownSubcommand("client", []byte(long)); got.Text != "ERR unknown subcommand '"+long[:128]+"'. Try CLIENT HELP." {
		t.Errorf("%q", got.Text)
	}
}
