//go:build unix && !solaris && !aix

// Tests of commands that change one file at the same time.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/codec"
)

// TestAddAtOnce adds to one filter from several processes at once: none undoes
// what another did, and no lock is left.
func TestAddAtOnce(t *testing.T) {
	const processes, each = 5, 200
	dir := t.TempDir()
	name := filepath.Join(dir, "f.bf")
	if code, _, errOut := call(t, "create", "-n", "1e6", "-p", "1e-6", name); code != 0 {
		t.Fatal(errOut)
	}
	var all bytes.Buffer
	together(t, processes, func(i int) *exec.Cmd {
		var text strings.Builder
		for j := range each {
			fmt.Fprintf(&text, "line %d of %d\n", j, i)
		}
		all.WriteString(text.String())
		cmd := process(t, "add", name)
		cmd.Stdin = strings.NewReader(text.String())
		return cmd
	})
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"check", "-c", name}, &all, &out, &errOut); code != 0 || out.String() != fmt.Sprintln(processes*each) {
		t.Errorf("check = %d, %s of %d lines: %s", code, &out, processes*each, &errOut)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestStateAtOnce dedupes one text in several processes at once with one state:
// each line is written by one of them.
func TestStateAtOnce(t *testing.T) {
	dir := t.TempDir()
	text := numbered(1000)
	outputs := make([]bytes.Buffer, 4)
	together(t, len(outputs), func(i int) *exec.Cmd {
		cmd := process(t, "dedupe", "--state", filepath.Join(dir, "state"))
		cmd.Stdin, cmd.Stdout = strings.NewReader(text), &outputs[i]
		return cmd
	})
	var lines []string
	for i := range outputs {
		lines = append(lines, strings.Split(strings.TrimSuffix(outputs[i].String(), "\n"), "\n")...)
	}
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	if len(lines) != 1000 {
		t.Errorf("%d lines were written, want 1000", len(lines))
	}
}

// together runs processes at once and waits for all.
func together(t *testing.T, n int, command func(i int) *exec.Cmd) {
	t.Helper()
	cmds := make([]*exec.Cmd, n)
	for i := range cmds {
		cmds[i] = command(i)
	}
	for _, cmd := range cmds {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v", cmd.Args, err)
		}
	}
}

// TestLockWaits holds a lock: another that wants it says so, and ends by ctx.
func TestLockWaits(t *testing.T) {
	name := filepath.Join(t.TempDir(), strings.Repeat("long", 60))
	var errOut bytes.Buffer
	s := &shell{errOut: &errOut}
	write(t, lockName(name), nil) // as a crash leaves it
	unlock, err := s.lockFile(t.Context(), name)
	if err != nil || errOut.Len() > 0 {
		t.Fatalf("lock: %v, %s", err, &errOut)
	}
	cmd := process(t, "dedupe", "--state", name)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len(name)+len(": waiting for another bloomery that writes it\n"))
	if _, err := io.ReadFull(pipe, said); err != nil || !strings.HasSuffix(string(said), "waiting for another bloomery that writes it\n") {
		t.Errorf("who waits says %q, %v", said, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Wait()); code != exitInterrupted {
		t.Errorf("who waits, interrupted = %d", code)
	}
	time.AfterFunc(50*time.Millisecond, unlock)
	again, err := s.lockFile(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if _, err := os.Stat(lockName(name)); err == nil {
		t.Error("the lock is left behind")
	}
}

// TestReadersDoNotLock makes other filters of one that is locked: it is only read,
// perhaps in a folder where nothing can be written, so nothing waits for the lock.
func TestReadersDoNotLock(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f.bf")
	if code, _, errOut := call(t, "create", "-n", "1000", name); code != 0 {
		t.Fatal(errOut)
	}
	unlock, err := (&shell{errOut: io.Discard}).lockFile(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"fold", "--by", "1"}, {"grow"}, {"noise"}, {"convert"}} {
		var errOut bytes.Buffer
		code := run(ctx, append(args, "-o", filepath.Join(dir, args[0]), name), strings.NewReader(""), io.Discard, &errOut)
		if strings.Contains(errOut.String(), "waiting") || code != 0 {
			t.Fatalf("%s of a locked filter = %d, %s", args[0], code, &errOut)
		}
	}
}

// TestWrittenMeanwhile has another write the file while a filter is written: what
// it wrote stays, unless it may be replaced.
func TestWrittenMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.bf")
	s := &shell{errOut: io.Discard, terminal: func(any) bool { return false }}
	slow := writerTo(func(w io.Writer) error {
		write(t, name, []byte("of another"))
		_, err := io.WriteString(w, "new")
		return err
	})
	for overwrite, want := range map[bool]string{false: "of another", true: "new"} {
		_ = os.Remove(name)
		err := s.save(t.Context(), outputFlags{name, overwrite}, codec.FormPlain, slow)
		if got, _ := os.ReadFile(name); string(got) != want || errors.Is(err, errExists) == overwrite {
			t.Errorf("overwrite %v: %q, %v", overwrite, got, err)
		}
	}
}
