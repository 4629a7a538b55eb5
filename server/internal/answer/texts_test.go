package answer_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
)

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
		{split("HGETALL", "secret"), "ERR unknown command 'HGETALL': there are no hashes here. Keep them in a Redis server beside this one, or each field as a string of its own (SET)"},
		{split("nosuch"), "ERR unknown command 'nosuch', with args beginning with: "},
		{split(long, "x"), "ERR unknown command '" + long[:128] + "', with args beginning with: 'x' "},
		{split("c", long[:100], long, "y"), "ERR unknown command 'c', with args beginning with: '" + long[:100] + "' '" + long[:25] + "' "},
		{split("c", long[:124], long, "y"), "ERR unknown command 'c', with args beginning with: '" + long[:124] + "' 'n' "},
		{split("c", long[:125], long), "ERR unknown command 'c', with args beginning with: '" + long[:125] + "' "},
	} {
		if got := answer.UnknownCommand(c.args); got.Text != c.want || !got.Failed() {
			t.Errorf("%d arguments: %q, want %q", len(c.args), got.Text, c.want)
		}
	}
	if got := answer.UnknownSubcommand("client", []byte(long)); got.Text != "ERR unknown subcommand '"+long[:128]+"'. Try CLIENT HELP." {
		t.Errorf("%q", got.Text)
	}
}
