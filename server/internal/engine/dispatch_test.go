package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDispatch asks for the answers that come before a command is run.
func TestDispatch(t *testing.T) {
	b := newBench(t, 1<<30)
	for line, want := range map[string]string{
		"PiNg":                              "+PONG",
		"nosuch a b":                        "-ERR unknown command 'nosuch', with args beginning with: 'a' 'b' ",
		"CLIENT nosuch":                     "-ERR unknown subcommand 'nosuch'. Try CLIENT HELP.",
		"GET":                               "-ERR wrong number of arguments for 'get' command",
		"cLiEnT sEtNaMe":                    "-ERR wrong number of arguments for 'client|setname' command",
		"EXEC":                              "-ERR EXEC without MULTI",
		"DISCARD":                           "-ERR DISCARD without MULTI",
		strings.Repeat("x", 200):            "-ERR unknown command '" + strings.Repeat("x", 128) + "', with args beginning with: ",
		"nosuch " + strings.Repeat("y", 99): "-ERR unknown command 'nosuch', with args beginning with: '" + strings.Repeat("y", 99) + "' ",
	} {
		if got := b.line(line); got != want {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
	}
	if got := b.lines("MULTI", "MULTI", "GET", "EXEC"); !slices.Equal(got, []string{
		"+OK", "-ERR MULTI calls can not be nested", "-ERR wrong number of arguments for 'get' command",
		"-EXECABORT Transaction discarded because of previous errors.",
	}) {
		t.Errorf("a transaction with a mistake = %q", got)
	}
	if got := b.lines("MULTI", "SET a 1", "DISCARD", "EXISTS a"); got[3] != ":0" {
		t.Errorf("a transaction that was discarded = %q", got)
	}
}

// TestPasswordIsAskedFor asks that nothing but a few commands is run for a client
// without the password, also in the middle of a group.
func TestPasswordIsAskedFor(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("BF.ADD k x", "CONFIG SET requirepass s3cret")
	c := b.connect()
	for i, got := range c.lines("BF.EXISTS k x", "BF.EXISTS k x", "GET a", "GET b", "AUTH wrong", "CLIENT LIST", "FLUSHALL") {
		if !strings.HasPrefix(got, "-NOAUTH") && (i != 4 || !strings.HasPrefix(got, "-WRONGPASS")) {
			t.Errorf("call %d without the password = %s", i, got)
		}
	}
	if got := c.lines("AUTH default s3cret", "BF.EXISTS k x"); !slices.Equal(got, []string{"+OK", ":1"}) {
		t.Errorf("with the password = %q", got)
	}
	if got := c.lines("RESET", "BF.EXISTS k x"); got[0] != "+RESET" || !strings.HasPrefix(got[1], "-NOAUTH") {
		t.Errorf("after RESET = %q", got)
	}
}

// TestRepliesCanBeLeftOut asks which replies CLIENT REPLY leaves out.
func TestRepliesCanBeLeftOut(t *testing.T) {
	b := newBench(t, 1<<30)
	muted := func() string {
		var s strings.Builder
		for _, c := range b.work.Calls {
			s.WriteString(map[bool]string{true: "-", false: "+"}[c.Mute])
		}
		return s.String()
	}
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"PING", "CLIENT REPLY SKIP", "PING", "PING"}, "+--+"},
		{[]string{"CLIENT REPLY SKIP", "BF.ADD k x", "BF.ADD k y", "BF.ADD k z"}, "--++"},
		{[]string{"CLIENT REPLY OFF", "PING", "GET a"}, "---"},
		{[]string{"PING", "CLIENT REPLY ON", "PING"}, "-++"},
	} {
		b.lines(tt.lines...)
		if got := muted(); got != tt.want {
			t.Errorf("%q leaves out %s, want %s", tt.lines, got, tt.want)
		}
	}
}

// TestSlowLogHasALength asks that SLOWLOG keeps so many entries, the latest, and
// that it can be turned off.
func TestSlowLogHasALength(t *testing.T) {
	b := newBench(t, 1<<30)
	b.step = time.Millisecond
	b.lines("CONFIG SET slowlog-log-slower-than 0", "CONFIG SET slowlog-max-len 3")
	for i := range 10 {
		b.do("ECHO", fmt.Sprint("e", i))
	}
	if got := b.line("SLOWLOG LEN"); got != ":3" {
		t.Errorf("SLOWLOG LEN = %s", got)
	}
	got := b.line("SLOWLOG GET -1")
	if !strings.Contains(got, `"e9"`) || strings.Contains(got, `"e6"`) {
		t.Errorf("SLOWLOG GET = %s", got)
	}
	b.lines("CONFIG SET slowlog-log-slower-than -1", "SLOWLOG RESET", "ECHO x")
	if got := b.line("SLOWLOG LEN"); got != ":0" {
		t.Errorf("SLOWLOG LEN of a log that is off = %s", got)
	}
}

// TestUnsyncedWritesAreTold asks that writes whose log could not be synced say so,
// and reads do not.
func TestUnsyncedWritesAreTold(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("SET s v")
	b.door.unsynced = errors.New("disk\nis gone")
	got := b.lines("GET s", "SET s w", "BF.ADD b x", "PING")
	for i, want := range []string{`"v"`, "-MISCONF The write was done in memory", "-MISCONF The write was done in memory", "+PONG"} {
		if !strings.HasPrefix(got[i], want) || strings.Contains(got[i], "\n") {
			t.Errorf("reply %d = %q, want %s", i, got[i], want)
		}
	}
	if got := b.lines("MULTI", "SET s u", "EXEC")[2]; !strings.HasPrefix(got, "-MISCONF") {
		t.Errorf("EXEC = %s", got)
	}
}
