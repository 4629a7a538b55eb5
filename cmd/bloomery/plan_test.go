package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestPlanFits asks for lines of at most 80 characters, without numbers of 19
// digits or a negative zero, whatever is planned.
func TestPlanFits(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	long := regexp.MustCompile(`([0-9],?){19}`)
	for _, args := range []string{
		"n=1e6 p=1% --plot", "n=1e6 p=1e-9 --plot", "n=1e6 p=1e-17 --plot", "-n 1e15 -p 0.1% --plot", "m=64KiB n=1e5 --plot --queries 50k/s",
		"n=1e9 m=1e9", "n=10 p=50% --plot", "--needs growth", "--needs deletes,counts", "n=1e6 p=1% --needs adversary,writers", "bits=10 --plot",
		"n=1e8 p=1% --queries 1M/s --fp-cost 3", "--anonymity 20 --universe 1e8 n=100", "n=1e6 p=1% --sets 100", "n=1e6 p=1% --max-memory 1KiB", "k=30 --plot",
	} {
		code, out, errOut := call(t, append([]string{"plan"}, strings.Fields(args)...)...)
		if code != 0 {
			t.Errorf("plan %s: %d, %s", args, code, errOut)
		}
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("plan %s: a line of %d characters: %s", args, n, line)
			}
			if long.MatchString(strings.ReplaceAll(line, "keys", "")) {
				t.Errorf("plan %s: a number that nobody reads: %s", args, line)
			}
		}
		if strings.Contains(out, "-0.0") {
			t.Errorf("plan %s draws a negative zero:\n%s", args, out)
		}
		if !strings.HasPrefix(out, "take ") && !strings.HasPrefix(out, "no ") {
			t.Errorf("plan %s does not open with its advice: %s", args, out)
		}
	}
}

// TestASCII asks for pictures without other characters in a locale that has none.
func TestASCII(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	_, out, _ := call(t, "plan", "n=1e6", "p=1%", "--plot")
	if i := strings.IndexFunc(out, func(r rune) bool { return r > 126 }); i >= 0 || !strings.Contains(out, "0.000 +-") {
		t.Errorf("LC_ALL=C, at %d:\n%s", i, out)
	}
	t.Setenv("LC_ALL", "en_US.UTF-8")
	if _, out, _ := call(t, "plan", "n=1e6", "p=1%", "--plot"); !strings.Contains(out, "0.000 ┼") {
		t.Errorf("UTF-8:\n%s", out)
	}
	for locale, want := range map[string]bool{
		"C": true, "POSIX": true, "C.UTF-8": false, "de_DE.utf8": false, "de_DE.UTF-8@euro": false, "de_DE.ISO-8859-1": true, "de_DE": false, "": false,
	} {
		s, _ := fakeShell()
		s.lookup = func(name string) (string, bool) { return locale, name == "LANG" }
		if got := s.ascii(); got != want {
			t.Errorf("LANG=%s: ASCII %v, want %v", locale, got, want)
		}
	}
}

// TestKeysAxis writes three numbers below a plot, or two where there is no room.
func TestKeysAxis(t *testing.T) {
	for points, want := range map[int]string{
		30: "0              1,000     2,000",
		22: "0          1,000 2,000",
		20: "0              2,000",
		12: "0      2,000",
		3:  "0 2,000",
	} {
		if got := keysAxis(1000, points); got != want {
			t.Errorf("an axis of %d = %q, want %q", points, got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 80, "one two three"},
		{"one two three", 7, "one two\n  three"},
		{"one two three", 3, "one\n  two\n  three"},
		{"k\u00a0=\u00a07, or more", 6, "k = 7,\n  or\n  more"},
		{"über alles", 10, "über alles"},
	} {
		if got := wrapped(c.text, c.width, "  "); got != c.want {
			t.Errorf("wrapped(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
