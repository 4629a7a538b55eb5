// A test of top at a real terminal.

package main

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloomery/bloomery/server"
)

// openTerminal returns the two ends of a terminal: what a person types into and
// reads, and what a program has.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// TestTopAtATerminal runs top at a real terminal: it follows its size, takes single
// keys, and leaves the terminal as it was.
func TestTopAtATerminal(t *testing.T) {
	addr, _ := topServer(t, server.Config{})
	person, program := openTerminal(t)
	resize := func(columns, rows uint16) {
		if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
			t.Fatal(err)
		}
	}
	resize(100, 30)
	before, err := unix.IoctlGetTermios(int(program.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	cmd := process(t, "top", "--addr", addr, "--interval", "100ms", "--color", "never")
	var errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := new(screen)
	go func() { _, _ = io.Copy(out, person) }()
	has := func(text string) func(string) bool {
		return func(got string) bool { return strings.Contains(got, text) }
	}
	out.until(t, "a table", has("sorted by rate"))
	if during, err := unix.IoctlGetTermios(int(program.Fd()), getTermios); err != nil || during.Lflag&(unix.ECHO|unix.ICANON) != 0 {
		t.Errorf("keys are shown, or need an Enter: %v", err)
	}
	if _, err := io.WriteString(person, "n"); err != nil {
		t.Fatal(err)
	}
	out.until(t, "another order", has("sorted by name"))
	resize(50, 8)
	out.until(t, "less", func(got string) bool {
		for line := range strings.SplitSeq(strings.TrimSuffix(got, eraseBelow), "\n") {
			if len([]rune(strings.TrimRight(line, "\r"))) > 50 {
				return false
			}
		}
		return strings.Contains(got, "sorted by name")
	})
	if _, err := io.WriteString(person, "\x03"); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if code := exitOf(t, cmd.Wait()); code != 0 || errOut.Len() > 0 {
		t.Errorf("top after Ctrl-C = %d, %s", code, &errOut)
	}
	if after, err := unix.IoctlGetTermios(int(program.Fd()), getTermios); err != nil || *after != *before {
		t.Errorf("the modes of the terminal are %v, %v, and were %v", after, err, before)
	}
}
