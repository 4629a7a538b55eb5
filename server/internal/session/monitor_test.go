package session

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMonitorQuotes asks that no byte of an argument spoils a line.
func TestMonitorQuotes(t *testing.T) {
	for s, want := range map[string]string{
		"":              `""`,
		"plain ~!":      `"plain ~!"`,
		`a"b\c`:         `"a\"b\\c"`,
		"\n\r\t\a\b":    `"\n\r\t\a\b"`,
		"\x00\x1f\x7f":  `"\x00\x1f\x7f"`,
		"\x80\xab\xffé": `"\x80\xab\xff\xc3\xa9"`,
	} {
		if got := string(appendQuoted([]byte("x"), s)); got != "x"+want {
			t.Errorf("%q becomes %s, want %s", s, got[1:], want)
		}
	}
}

// TestMonitorLines asks for the time, the address and the arguments of a line, and
// for what is left out of it.
func TestMonitorLines(t *testing.T) {
	var c Client
	c.Init(1, "1.2.3.4:5", "", time.Time{}, nil)
	line := func(args ...string) string {
		return string(AppendLine(nil, &c, time.UnixMicro(1_700_000_000_000_042), len(args), shownOf(args...)))
	}
	if got, want := line("GET", "(key)", "v"), "+1700000000.000042 [0 1.2.3.4:5] \"GET\" \"(key)\" \"v\"\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := slices.Repeat([]string{"x"}, monitorArgs+2)
	if got := line(many[:monitorArgs]...); strings.Count(got, `"x"`) != monitorArgs || strings.Contains(got, "more") {
		t.Errorf("of %d arguments %d are shown", monitorArgs, strings.Count(got, `"x"`))
	}
	if got := line(many...); strings.Count(got, `"x"`) != monitorArgs || !strings.HasSuffix(got, " \"... (2 more arguments)\"\r\n") {
		t.Errorf("of %d arguments %d are shown: %s", len(many), strings.Count(got, `"x"`), got[len(got)-40:])
	}
}

// TestSlowMonitorEnds has a monitor not take its lines: it gets 4 MiB, and is then
// closed. What it is about to write counts.
func TestSlowMonitorEnds(t *testing.T) {
	for _, taken := range []bool{false, true} {
		var all Monitors
		var c Client
		killed := 0
		c.Init(1, "", "", time.Time{}, func() { killed++ })
		all.Add(&c)
		m := c.Monitor()
		line := make([]byte, monitorBytes/4)
		for i := range 4 {
			if !m.add(line) {
				t.Fatalf("line %d is too much", i)
			}
			if taken && i == 1 {
				if lines, ok := m.Next(); !ok || len(lines) != 2*len(line) {
					t.Fatalf("Next has %d bytes", len(lines))
				}
			}
		}
		if m.add([]byte("x")) {
			t.Error("a monitor has more than 4 MiB of lines")
		}
		all.Feed([]byte("x"))
		all.Feed([]byte("x"))
		if killed != 1 || all.Any() {
			t.Errorf("a monitor that is behind was closed %d times", killed)
		}
		if !m.add(line) || m.lines != nil {
			t.Error("a monitor that has ended gets lines")
		}
		if !all.Remove(&c) || all.Remove(&c) {
			t.Error("a monitor that has ended is not removed, or twice")
		}
	}
}
