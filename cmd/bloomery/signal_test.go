//go:build unix

// Tests of signals and closed pipes.

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a command line in a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Args[0] = "bloomery" // by this name TestMain knows the command
	return cmd
}

// exitOf returns the exit code of a command that has ended.
func exitOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// TestInterrupt stops commands that wait for input: they end at once and leave
// the old file, and nothing else.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f.bf")
	if code, _, errOut := call(t, "create", "-n", "1000", name); code != 0 {
		t.Fatal(errOut)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"add", name}, {"build", "-n", "1000", "--overwrite", "-o", name}, {"build", "--max-memory", "1MiB", "--overwrite", "-o", name}, {"check", name},
	} {
		cmd := process(t, args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, the command is reading.
		if _, err := io.WriteString(in, strings.Repeat("line\n", 1<<18)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := exitOf(t, cmd.Wait()); got != exitInterrupted || errOut.String() != "bloomery: interrupted\n" {
			t.Errorf("%q, interrupted = %d, %q", args, got, &errOut)
		}
		_ = in.Close()
		entries, err := os.ReadDir(dir)
		after, _ := os.ReadFile(name)
		if err != nil || len(entries) != 1 || !bytes.Equal(before, after) {
			t.Errorf("%q leaves %v, %v, or another filter", args, entries, err)
		}
	}
}

// TestInterruptAtWork stops commands that compute for long, and one whose output
// nobody reads: they end by the first signal, and would not without it.
func TestInterruptAtWork(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.bf")
	if code, _, errOut := call(t, "create", "-n", "1e6", name); code != 0 {
		t.Fatal(errOut)
	}
	lines := filepath.Join(t.TempDir(), "lines")
	write(t, lines, []byte(numbered(100_000)))
	for _, args := range [][]string{
		{"inspect", "--probe", "1e15", name},
		{"inspect", "--json", "--probe", "1e15", name, name},
		{"bench", "--kind", "bloom,ribbon", "-n", "1e5", "--time", "10m"},
		{"check", "-v", name, "-f", lines},
		{"dedupe", lines},
	} {
		// How long it takes until a command is at work depends on the machine: one
		// that the signal ends before it asks for signals is tried once more.
		for patience := 300 * time.Millisecond; interruptAtWork(t, args, patience) && patience < 10*time.Second; patience *= 4 {
			t.Logf("%q was not at work after %v", args, patience)
		}
	}
}

// interruptAtWork starts a command whose output nobody reads, and interrupts it. It
// reports whether the command was ended before it could handle that.
func interruptAtWork(t *testing.T, args []string, patience time.Duration) (early bool) {
	t.Helper()
	cmd := process(t, args...)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), out.Close() }()
	var errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = in, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(patience)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	code := exitOf(t, cmd.Wait())
	late.Stop()
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT && patience < 10*time.Second {
		return true
	}
	if code != exitInterrupted || errOut.String() != "bloomery: interrupted\n" {
		t.Errorf("%q, interrupted = %d, %q", args, code, &errOut)
	}
	return false
}

// TestBrokenPipe closes the pipe that a command writes to.
func TestBrokenPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.bf")
	if code, _, errOut := call(t, "create", "-n", "1000", name); code != 0 {
		t.Fatal(errOut)
	}
	cmd := process(t, "check", "-v", name)
	cmd.Stdin = strings.NewReader(strings.Repeat("some line\n", 200_000))
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if got := exitOf(t, cmd.Wait()); got != exitPipe || errOut.Len() > 0 {
		t.Errorf("a broken pipe = %d, %q, want %d and silence", got, &errOut, exitPipe)
	}
}

// TestLocked names what the system says of files that must not be touched.
func TestLocked(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "darwin" {
		t.Skip("root may do anything")
	}
	name := filepath.Join(t.TempDir(), "f.bf")
	write(t, name, []byte("x"))
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := call(t, "check", name, "x"); code != exitUsage || !strings.Contains(errOut, "f.bf: permission denied") {
		t.Errorf("check of a file that may not be read = %d, %s", code, errOut)
	}
}
