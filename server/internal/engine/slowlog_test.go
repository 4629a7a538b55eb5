package engine

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/traits"
)

func callOf(cmd *Command, args ...string) Call {
	c := Call{cmd: cmd}
	for _, a := range args {
		c.Args = append(c.Args, []byte(a))
	}
	return c
}

// TestShow asks what may be seen of arguments: no secrets, no names of keys, and of
// a command that does not exist its name only.
func TestShow(t *testing.T) {
	args := [][]byte{[]byte("cmd"), []byte("k1"), []byte("v1"), []byte("k2"), []byte("v2")}
	shown := func(c *Command) string {
		var all []string
		for i := range args {
			all = append(all, c.Show(args, i, 10))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		cmd  *Command
		want string
	}{
		{nil, "cmd (redacted) (redacted) (redacted) (redacted)"},
		{&Command{}, "cmd k1 v1 k2 v2"},
		{&Command{Keys: traits.OneKey(traits.KeyRO)}, "cmd (key) v1 k2 v2"},
		{&Command{Keys: traits.Keys{{First: 1, Last: -1, Step: 2}}}, "cmd (key) v1 (key) v2"},
		{&Command{Keys: traits.Keys{{First: 1, Last: -2, Step: 1}}}, "cmd (key) (key) (key) v2"},
		{&Command{Keys: traits.AllKeys(traits.KeyRO)}, "cmd (key) (key) (key) (key)"},
		{&Command{Keys: traits.OneKey(traits.KeyRO), Secret: traits.Behind(2)}, "cmd (key) (redacted) (redacted) (redacted)"},
		{&Command{Keys: traits.OneKey(traits.KeyRO), Secret: func([][]byte) (int, int) { return 1, 3 }}, "cmd (redacted) (redacted) k2 v2"},
	} {
		if got := shown(c.cmd); got != c.want {
			t.Errorf("%+v shows %s, want %s", c.cmd, got, c.want)
		}
	}
	long := strings.Repeat("v", 128)
	if c := callOf(&Command{}, long, long+"wx"); c.show(0, 128) != long || c.show(1, 128) != long+"... (2 more bytes)" {
		t.Errorf("of 128 and 130 bytes: %q and %q", c.show(0, 128), c.show(1, 128))
	}
}
