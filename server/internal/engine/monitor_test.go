package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
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
	s := NewSession(1, "1.2.3.4:5", "", time.Time{}, nil)
	s.now = time.UnixMicro(1_700_000_000_000_042)
	line := func(c Call) string { return string(appendLine(nil, s, &c)) }
	get := &Command{Name: "get", Keys: OneKey(KeyRO)}
	if got, want := line(callOf(get, "GET", "k", "v")), "+1700000000.000042 [0 1.2.3.4:5] \"GET\" \"(key)\" \"v\"\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := slices.Repeat([]string{"x"}, monitorArgs+2)
	cmd := &Command{}
	if got := line(callOf(cmd, many[:monitorArgs]...)); strings.Count(got, `"x"`) != monitorArgs || strings.Contains(got, "more") {
		t.Errorf("of %d arguments %d are shown", monitorArgs, strings.Count(got, `"x"`))
	}
	if got := line(callOf(cmd, many...)); strings.Count(got, `"x"`) != monitorArgs || !strings.HasSuffix(got, " \"... (2 more arguments)\"\r\n") {
		t.Errorf("of %d arguments %d are shown: %s", len(many), strings.Count(got, `"x"`), got[len(got)-40:])
	}
	long := strings.Repeat("v", monitorArgBytes)
	if got := line(callOf(cmd, long+"w")); !strings.HasSuffix(got, long+"... (1 more bytes)\"\r\n") {
		t.Errorf("a long argument ends with %s", got[len(got)-40:])
	}
}

// monitored is an engine with a session that sees what another one does.
func monitored(t *testing.T, maxMemory int64) (e *Engine, x *Context, killed *int) {
	t.Helper()
	e = New(Config{State: store.New(), MaxMemory: maxMemory})
	killed = new(int)
	return e, &Context{e, NewSession(1, "", "", time.Time{}, func() { *killed++ })}, killed
}

// TestMonitorGetsWhatIsRun asks which calls a monitor sees, in which order, and that
// it costs memory as long as it is there.
func TestMonitorGetsWhatIsRun(t *testing.T) {
	e, x, killed := monitored(t, 1<<30)
	if x.s.Monitor() != nil || !x.Monitor() || !x.Monitor() {
		t.Fatal("the session is no monitor")
	}
	if e.Budget.Clients() != monitorHeld || x.s.Memory() != monitorHeld {
		t.Errorf("%d bytes are held, want %d", e.Budget.Clients(), monitorHeld)
	}
	other := NewSession(2, "a", "", time.Time{}, nil)
	other.now = time.Unix(5, 7000)
	cmd, admin := &Command{Name: "x"}, &Command{Name: "y", Flags: Admin}
	queued := callOf(cmd, "queued")
	queued.queued = true
	e.feed(other, []Call{callOf(cmd, "one"), callOf(admin, "secret"), callOf(nil, "none"), queued, callOf(cmd, "two")})
	lines, ok := x.s.Monitor().Next()
	if !ok || string(lines) != "+5.000007 [0 a] \"one\"\r\n+5.000007 [0 a] \"two\"\r\n" {
		t.Errorf("the monitor sees %q", lines)
	}
	e.feed(other, []Call{callOf(cmd, "three")})
	if lines, ok = x.s.Monitor().Next(); !ok || !bytes.Contains(lines, []byte("three")) || bytes.Contains(lines, []byte("two")) {
		t.Errorf("then it sees %q", lines)
	}
	m := x.s.Monitor()
	e.unmonitor(x.s)
	e.unmonitor(x.s)
	if _, ok := m.Next(); ok || x.s.Monitor() != nil || e.monitors.list.Load() != nil || e.Budget.Clients() != 0 {
		t.Errorf("the monitor has not ended, %d bytes are held", e.Budget.Clients())
	}
	e.feed(other, []Call{callOf(cmd, "four")})
	if *killed != 0 {
		t.Errorf("the session was killed %d times", *killed)
	}
}

// TestMonitorsInTurn ends one of three monitors: the others go on.
func TestMonitorsInTurn(t *testing.T) {
	e := New(Config{State: store.New(), MaxMemory: 1 << 30})
	var all []*Context
	for id := range int64(3) {
		x := &Context{e, NewSession(id, "", "", time.Time{}, func() {})}
		x.Monitor()
		all = append(all, x)
	}
	e.unmonitor(all[1].s)
	e.feed(all[0].s, []Call{callOf(&Command{}, "x")})
	for _, i := range []int{0, 2} {
		if lines, ok := all[i].s.Monitor().Next(); !ok || len(lines) == 0 {
			t.Errorf("monitor %d sees nothing", i)
		}
	}
	if n := len(*e.monitors.list.Load()); n != 2 {
		t.Errorf("%d monitors, want 2", n)
	}
}

// TestSlowMonitorEnds has a monitor not take its lines: it gets 4 MiB, and is then
// closed. What it is about to write counts.
func TestSlowMonitorEnds(t *testing.T) {
	for _, taken := range []bool{false, true} {
		e, x, killed := monitored(t, 1<<30)
		x.Monitor()
		m := x.s.Monitor()
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
		e.feed(x.s, []Call{callOf(&Command{}, "x"), callOf(&Command{}, "x")})
		if *killed != 1 || e.monitors.list.Load() != nil {
			t.Errorf("a monitor that is behind was closed %d times", *killed)
		}
		if !m.add(line) || m.lines != nil {
			t.Error("a monitor that has ended gets lines")
		}
		if e.unmonitor(x.s); e.Budget.Clients() != 0 {
			t.Errorf("%d bytes are held", e.Budget.Clients())
		}
	}
	e, x, _ := monitored(t, monitorHeld/2)
	if x.Monitor() || x.s.Monitor() != nil || e.Budget.Clients() != 0 {
		t.Error("there is no memory for a monitor, and there is one")
	}
	if got := fmt.Sprint(e.monitors.list.Load()); got != "<nil>" {
		t.Errorf("monitors: %s", got)
	}
}
