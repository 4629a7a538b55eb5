package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// usage is what one run of a program took.
type usage struct {
	wall, cpu float64 // seconds
	peak      float64 // megabytes of memory
	lines     int     // written
}

// program is a command line that is measured. Its output goes to a pipe, where
// the lines are counted.
type program struct {
	args  []string
	stdin string // file, if any
	env   []string
}

// String returns the command line for people.
func (p program) String() string {
	words := slices.Concat(p.env, p.args)
	for i, w := range words {
		if strings.ContainsAny(w, "!$[] ") {
			words[i] = "'" + w + "'"
		}
	}
	s := strings.Join(words, " ")
	if p.stdin != "" {
		s += " < FILE"
	}
	return s
}

// run runs a program to its end.
func (p program) run(ctx context.Context) (u usage, err error) {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if p.stdin != "" {
		f, err := os.Open(p.stdin)
		if err != nil {
			return u, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		cmd.Stdin = f
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return u, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return u, err
	}
	if u.lines, err = countLines(out); err != nil {
		return u, err
	}
	if err := cmd.Wait(); err != nil {
		return u, fmt.Errorf("%s: %w: %s", p, err, &errOut)
	}
	u.wall = time.Since(start).Seconds()
	state := cmd.ProcessState
	u.cpu = (state.UserTime() + state.SystemTime()).Seconds()
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = float64(r.Maxrss) * 1024 / 1e6
	}
	return u, nil
}

// countLines reads to the end, as wc -l does.
func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, 64<<10)
	for {
		m, err := r.Read(buf)
		n += bytes.Count(buf[:m], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// firstByte returns how long a program takes from its start until it answers
// one line, in milliseconds.
func (p program) firstByte(ctx context.Context) (float64, error) {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Stdin = strings.NewReader("hello\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if _, err := io.Copy(io.Discard, out); err != nil {
		return 0, err
	}
	return float64(took.Microseconds()) / 1000, cmd.Wait()
}
