package session

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// shownOf shows arguments as they are.
func shownOf(args ...string) Shown { return func(i, _ int) string { return args[i] } }

// TestSlowLogSettings asks for the defaults, and for the meaning of 0 and of
// negative numbers.
func TestSlowLogSettings(t *testing.T) {
	var l SlowLog
	if l.SlowerThan() != 10_000 || l.Threshold() != 10*time.Millisecond || l.MaxLen() != 128 {
		t.Errorf("%d µs, %v, %d entries", l.SlowerThan(), l.Threshold(), l.MaxLen())
	}
	for micros, want := range map[int64]time.Duration{5: 5 * time.Microsecond, 0: time.Microsecond, -1: 1<<63 - 1, -7: 1<<63 - 1} {
		if l.SetSlowerThan(micros); l.Threshold() != want {
			t.Errorf("slower than %d: %v, want %v", micros, l.Threshold(), want)
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
	var c Client
	c.Init(1, "1.2.3.4:5", "", time.Time{}, nil)
	c.SetName([]byte("me"))
	for i := range 5 {
		l.Add(&c, time.Unix(int64(i), 0), time.Duration(i)*time.Second, 2, shownOf("X", fmt.Sprint(i)), 0)
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
	l.Add(&c, time.Time{}, time.Second, 1, shownOf("X"), 0)
	if got := ids(-1); !slices.Equal(got, []int64{5}) {
		t.Errorf("after a reset: %v, want number 5", got)
	}
}

// TestSlowLogCuts asks for what is left out of long commands and of groups.
func TestSlowLogCuts(t *testing.T) {
	var l SlowLog
	args := make([]string, 40)
	for i := range args {
		args[i] = fmt.Sprint("a", i)
	}
	shown := func(others int, args ...string) []string {
		l.Add(&Client{}, time.Time{}, time.Second, len(args), shownOf(args...), others)
		return l.Latest(1)[0].Args
	}
	if got := shown(0, args[:32]...); len(got) != 32 || got[31] != "a31" {
		t.Errorf("of 32 arguments %d are shown, the last as %q", len(got), got[len(got)-1])
	}
	if got := shown(0, args[:33]...); len(got) != 32 || got[31] != "... (2 more arguments)" || got[30] != "a30" {
		t.Errorf("of 33 arguments: %q", got)
	}
	if got := shown(2, "x"); len(got) != 2 || got[1] != "... (2 more commands in the same run)" {
		t.Errorf("of a group of three: %q", got)
	}
}
