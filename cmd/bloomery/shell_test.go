// Tests of exit codes, progress, colours and common flags.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/internal/figures"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errNo, 1, ""},
		{fmt.Errorf("check: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}), 141, ""},
		{fmt.Errorf("build: %w", context.Canceled), 130, "bloomery: interrupted\n"},
		{fmt.Errorf("add: %w", bloomery.ErrFull), 3, "bloomery: add: full\n"},
		{errLimit, 3, "bloomery: limit reached\n"},
		{bloomery.ErrCorrupt, 4, "bloomery: corrupt\n"},
		{bloomery.ErrIncompatible, 4, "bloomery: incompatible\n"},
		{lines.ErrCorrupt, 4, "bloomery: corrupt\n"},
		{fs.ErrNotExist, 2, "bloomery: file does not exist\n"},
		{hinted{errors.New("two\nlines"), "do this"}, 2, "bloomery: two; lines\nhint: do this\n"},
	} {
		var out bytes.Buffer
		report(&out, c.err)
		if got := exitCode(c.err); got != c.code || out.String() != c.text {
			t.Errorf("%v: %d, %q, want %d, %q", c.err, got, out.String(), c.code, c.text)
		}
	}
}

func TestAbout(t *testing.T) {
	err := about("a.bf", fmt.Errorf("file: open a.bf: codec: read: %w: short", bloomery.ErrCorrupt))
	if got, want := err.Error(), "a.bf: corrupt: short"; got != want || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("about = %q, want %q and ErrCorrupt", got, want)
	}
	if got, want := about("", errors.New("bloom: union: incompatible: 1 and 2")).Error(), "incompatible: 1 and 2"; got != want {
		t.Errorf("about = %q, want %q", got, want)
	}
	if about("x", nil) != nil {
		t.Error("about of nil is an error")
	}
}

// fakeShell is a shell whose streams are terminals as asked.
func fakeShell(terminals ...any) (*shell, *bytes.Buffer) {
	var errOut bytes.Buffer
	s := &shell{in: strings.NewReader(""), out: new(bytes.Buffer), errOut: &errOut, colour: "auto"}
	s.lookup = func(string) (string, bool) { return "", false }
	s.width = func(any) int { return defaultWidth }
	s.terminal = func(stream any) bool {
		for _, t := range terminals {
			if t == "in" && stream == any(s.in) || t == "out" && stream == any(s.out) || t == "err" && stream == any(s.errOut) {
				return true
			}
		}
		return false
	}
	return s, &errOut
}

func TestProgress(t *testing.T) {
	job := func(s *shell, lasts time.Duration) {
		stop := s.progress("build", halfDone{}, true)
		time.Sleep(lasts)
		stop()
		stop()
	}
	synctest.Test(t, func(t *testing.T) {
		s, errOut := fakeShell("err")
		job(s, 400*time.Millisecond)
		if errOut.Len() > 0 {
			t.Errorf("a short job shows %q", errOut)
		}
		job(s, 750*time.Millisecond) // shows it after 500, 600 and 700
		if got := errOut.String(); strings.Count(got, "build [############............]  50% of 100 bytes") != 3 || !strings.HasSuffix(got, eraseLine) {
			t.Errorf("a long job shows %q, want it three times and nothing left", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, errOut := fakeShell("err")
		job := &steps{measured: halfDone{}}
		stop := s.progress("build", job, true)
		time.Sleep(550 * time.Millisecond)
		job.step("building the filter of %d keys", 5)
		time.Sleep(time.Second)
		stop()
		first, rest, _ := strings.Cut(errOut.String(), "build: building the filter of 5 keys, 1s so far")
		if !strings.Contains(first, "50%") || strings.Contains(rest, "%") || rest == "" {
			t.Errorf("a job of two steps shows %q", errOut)
		}
		(*steps)(nil).step("nothing")
	})
	for name, change := range map[string]func(*shell){
		"quiet":       func(s *shell) { s.quiet = true },
		"no progress": func(s *shell) { s.noProgress = true },
		"CI":          func(s *shell) { s.lookup = func(n string) (string, bool) { return "", n == "CI" } },
		"no terminal": func(s *shell) { s.terminal = func(any) bool { return false } },
		"data there":  func(s *shell) { s.terminal = func(any) bool { return true } }, // the job writes to standard output
	} {
		synctest.Test(t, func(t *testing.T) {
			s, errOut := fakeShell("err")
			change(s)
			job(s, 2*time.Second)
			if errOut.Len() > 0 {
				t.Errorf("%s: shows %q", name, errOut)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, errOut := fakeShell("err", "out")
		stop := s.progress("build", halfDone{}, false)
		time.Sleep(time.Second)
		stop()
		if !strings.Contains(errOut.String(), "50%") {
			t.Errorf("a job that writes to a file shows %q at a terminal", errOut)
		}
	})
}

// halfDone is a job that is half done.
type halfDone struct{}

func (halfDone) Done() int64  { return 50 }
func (halfDone) Total() int64 { return 100 }

// TestProgressLines asks that a narrow terminal gets what matters most.
func TestProgressLines(t *testing.T) {
	for _, c := range []struct {
		total int64
		width int
		want  string
	}{
		{4 << 20, 79, "check [##################......]  75% of 4 MiB, 3 MiB/s, 0s left"},
		{4 << 20, 60, "check [##################......]  75%, 0s left"},
		{4 << 20, 40, "check  75%, 0s left"},
		{4 << 20, 12, "check  75%"},
		{4 << 20, 5, "75%"},
		{4 << 20, 2, "75"},
		{0, 79, "check: 3 MiB, 3 MiB/s"},
		{0, 15, "check: 3 MiB"},
		{0, 8, "3 MiB"},
		{0, -1, ""},
	} {
		if got := progressLine("check", 3<<20, c.total, time.Second, c.width); got != c.want || len(got) > max(c.width, 0) {
			t.Errorf("%d columns, %d bytes in all: %q, want %q", c.width, c.total, got, c.want)
		}
	}
}

// TestBytes asks that what is printed is read as the same number of bytes.
func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 bytes", 1023: "1023 bytes", 1 << 10: "1 KiB", 3 << 19: "1.5 MiB", 1 << 30: "1 GiB", 5 << 40: "5 TiB",
	} {
		got := bytesText(n)
		if got != want {
			t.Errorf("bytesText(%d) = %q, want %q", n, got, want)
		}
		if back, err := figures.Size(strings.ReplaceAll(strings.TrimSuffix(got, " bytes"), " ", "")); err != nil || uint64(back) != n {
			t.Errorf("%q is read as %d, %v, want %d", got, back, err, n)
		}
	}
}

func TestColour(t *testing.T) {
	for _, c := range []struct {
		flag, variable, value string
		terminal, want        bool
	}{
		{"auto", "", "", true, true},
		{"auto", "", "", false, false},
		{"auto", "NO_COLOR", "1", true, false},
		{"auto", "TERM", "dumb", true, false},
		{"always", "NO_COLOR", "1", false, true},
		{"never", "", "", true, false},
	} {
		s, _ := fakeShell()
		s.colour = c.flag
		s.terminal = func(any) bool { return c.terminal }
		s.lookup = func(name string) (string, bool) {
			if name == c.variable {
				return c.value, true
			}
			return "", false
		}
		if got := s.paint(s.out, red, "x") != "x"; got != c.want {
			t.Errorf("%+v: coloured %v", c, got)
		}
	}
}

// TestShell runs a command of no use through the frame.
func TestShell(t *testing.T) {
	newCommand := func(f func(context.Context, *shell, []string) error, terminal bool) *cobra.Command {
		cmd := &cobra.Command{Use: "try [FILE...]", Short: "Try", Example: "  bloomery try", Args: between(0, 1, "one file"), SilenceUsage: true, SilenceErrors: true}
		s := newShell(cmd, f)
		s.terminal = func(any) bool { return terminal }
		return cmd
	}
	run := func(cmd *cobra.Command, args ...string) (string, error) {
		var errOut bytes.Buffer
		cmd.SetArgs(append([]string{}, args...)) // none, not those of the test
		cmd.SetErr(&errOut)
		cmd.SetOut(&errOut)
		err := cmd.ExecuteContext(t.Context())
		return errOut.String(), err
	}
	needs := func(_ context.Context, s *shell, args []string) error {
		_, err := s.files(args)
		return err
	}
	if out, err := run(newCommand(needs, true)); exitCode(err) != exitUsage || !strings.Contains(out, "usage: try") || hintOf(err) == "" {
		t.Errorf("nothing given at a terminal: %v, %q", err, out)
	}
	if out, err := run(newCommand(needs, false)); err != nil || out != "" {
		t.Errorf("nothing given in a pipe: %v, %q", err, out)
	}
	if _, err := run(newCommand(needs, false), "--color", "red"); exitCode(err) != exitUsage {
		t.Errorf("--color red: %v", err)
	}
	if _, err := run(newCommand(needs, false), "a", "b"); err == nil || err.Error() != `try: give one file, and no more: what is "b"?` {
		t.Errorf("too many files: %v", err)
	}
	fails := func(context.Context, *shell, []string) error { return bloomery.ErrFull }
	if _, err := run(newCommand(fails, false)); err == nil || err.Error() != "try: full" {
		t.Errorf("an error of the command: %v", err)
	}
}
