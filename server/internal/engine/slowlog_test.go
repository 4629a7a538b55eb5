package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func callOf(cmd *Command, args ...string) Call {
	c := Call{cmd: cmd}
	for _, a := range args {
		c.Args = append(c.Args, []byte(a))
	}
	return c
}

// TestSlowLogSettings asks for the defaults, and for the meaning of 0 and of
// negative numbers.
func TestSlowLogSettings(t *testing.T) {
	var l SlowLog
	if l.SlowerThan() != 10_000 || l.threshold() != 10*time.Millisecond || l.MaxLen() != 128 {
		t.Errorf("%d µs, %v, %d entries", l.SlowerThan(), l.threshold(), l.MaxLen())
	}
	for micros, want := range map[int64]time.Duration{5: 5 * time.Microsecond, 0: time.Microsecond, -1: 1<<63 - 1, -7: 1<<63 - 1} {
		if l.SetSlowerThan(micros); l.threshold() != want {
			t.Errorf("slower than %d: %v, want %v", micros, l.threshold(), want)
		}
	}
	if l.SetMaxLen(3); l.MaxLen() != 3 {
		t.Errorf("%d entries, want 3", l.MaxLen())
	}
}

// TestSlowLogKeepsTheLatest asks for entries, latest first, no more than are kept.
func TestSlowLogKeepsTheLatest(t *testing.T) {
	var l SlowLog
	l.SetMaxLen(3)
	s := NewSession(1, "1.2.3.4:5", "", time.Time{}, nil)
	s.SetName([]byte("me"))
	cmd := &Command{Name: "x"}
	for i := range 5 {
		s.now = time.Unix(int64(i), 0)
		l.add(s, []Call{callOf(cmd, "X", fmt.Sprint(i))}, time.Duration(i)*time.Second)
	}
	ids := func(n int64) (ids []int64) {
		for _, e := range l.Latest(n) {
			ids = append(ids, e.ID)
		}
		return ids
	}
	for n, want := range map[int64][]int64{-1: {4, 3, 2}, 0: nil, 1: {4}, 2: {4, 3}, 3: {4, 3, 2}, 4: {4, 3, 2}} {
		if got := ids(n); !slices.Equal(got, want) {
			t.Errorf("Latest(%d) has %v, want %v", n, got, want)
		}
	}
	e := l.Latest(1)[0]
	if e.At != time.Unix(4, 0) || e.Took != 4*time.Second || e.Addr != "1.2.3.4:5" || e.Name != "me" || !slices.Equal(e.Args, []string{"X", "4"}) {
		t.Errorf("the latest is %+v", e)
	}
	if l.Len() != 3 {
		t.Errorf("%d entries, want 3", l.Len())
	}
	if l.Reset(); l.Len() != 0 || len(l.Latest(-1)) != 0 {
		t.Errorf("%d entries after a reset", l.Len())
	}
	l.add(s, []Call{callOf(cmd, "X")}, time.Second)
	if got := ids(-1); !slices.Equal(got, []int64{5}) {
		t.Errorf("after a reset: %v, want number 5", got)
	}
}

// TestSlowLogCuts asks for what is left out of long commands and of groups.
func TestSlowLogCuts(t *testing.T) {
	var l SlowLog
	s := NewSession(1, "", "", time.Time{}, nil)
	args := make([]string, 40)
	for i := range args {
		args[i] = fmt.Sprint("a", i)
	}
	cmd := &Command{Name: "x"}
	shown := func(calls ...Call) []string {
		l.add(s, calls, time.Second)
		return l.Latest(1)[0].Args
	}
	if got := shown(callOf(cmd, args[:32]...)); len(got) != 32 || got[31] != "a31" {
		t.Errorf("of 32 arguments %d are shown, the last as %q", len(got), got[len(got)-1])
	}
	if got := shown(callOf(cmd, args[:33]...)); len(got) != 32 || got[31] != "... (2 more arguments)" || got[30] != "a30" {
		t.Errorf("of 33 arguments: %q", got)
	}
	if got := shown(callOf(cmd, "x"), callOf(cmd, "x"), callOf(cmd, "x")); len(got) != 2 || got[1] != "... (2 more commands in the same run)" {
		t.Errorf("of a group of three: %q", got)
	}
	long := strings.Repeat("v", 128)
	if got := shown(callOf(cmd, long, long+"wx")); got[0] != long || got[1] != long+"... (2 more bytes)" {
		t.Errorf("of 128 and 130 bytes: %q", got)
	}
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
		{&Command{Keys: OneKey(KeyRO)}, "cmd (key) v1 k2 v2"},
		{&Command{Keys: []Keys{{First: 1, Last: -1, Step: 2}}}, "cmd (key) v1 (key) v2"},
		{&Command{Keys: []Keys{{First: 1, Last: -2, Step: 1}}}, "cmd (key) (key) (key) v2"},
		{&Command{Keys: AllKeys(KeyRO)}, "cmd (key) (key) (key) (key)"},
		{&Command{Keys: OneKey(KeyRO), Secret: Behind(2)}, "cmd (key) (redacted) (redacted) (redacted)"},
		{&Command{Keys: OneKey(KeyRO), Secret: func([][]byte) (int, int) { return 1, 3 }}, "cmd (redacted) (redacted) k2 v2"},
	} {
		if got := shown(c.cmd); got != c.want {
			t.Errorf("%+v shows %s, want %s", c.cmd, got, c.want)
		}
	}
}
