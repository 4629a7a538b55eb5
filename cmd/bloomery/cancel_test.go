// Tests of commands that are interrupted before they have done anything.

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCancelled runs every command that may take long after an interrupt: each ends
// with the exit code for that, writes nothing and leaves nothing behind.
func TestCancelled(t *testing.T) {
	data := dataFolder(t)
	logs, _ := filepath.Glob(filepath.Join(data, "*.log"))
	log, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, logs[0], append(log, log[:20]...)) // a torn end, which a repair would cut off
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("lines"), []byte(numbered(100)))
	write(t, in("secret"), bytes.Repeat([]byte{1}, 32))
	for _, args := range [][]string{
		{"build", "-q", "-n", "100", "--foldable", "-o", in("a"), in("lines")},
		{"build", "-q", "-n", "100", "--foldable", "-o", in("b"), in("lines")},
		{"build", "-q", "-n", "100", "--kind", "cuckoo", "-o", in("c"), in("lines")},
		{"diff", "-q", "--patch", in("p"), in("a"), in("b")},
		{"build", "-q", "-n", "100", "--kind", "sliced", "-o", in("s"), in("lines"), in("lines")},
	} {
		if code, out, errOut := call(t, args...); code != 0 {
			t.Fatalf("%q = %d\n%s%s", args, code, out, errOut)
		}
	}
	before, folder := listing(t, dir), listing(t, data)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"backup", data, "-o", in("new")},
		{"backup", data, "-o", "-"},
		{"doctor", data},
		{"doctor", data, "--repair"},
		{"build", "-n", "100", "-o", in("new"), in("lines")},
		{"build", "--kind", "ribbon", "-o", in("new"), in("lines")},
		{"build", "--kind", "sliced", "-o", in("new"), in("lines")},
		{"check", in("a"), "-f", in("lines")},
		{"count", in("c"), "-f", in("lines")},
		{"which", "-f", in("lines"), in("a"), in("b")},
		{"which", "-f", in("lines"), in("s")},
		{"inspect", in("a")},
		{"inspect", "--probe", "1000", in("a")},
		{"diff", in("a"), in("b")},
		{"diff", "--patch", in("new"), in("a"), in("b")},
		{"patch", in("a"), in("p")},
		{"patch", "-o", in("new"), in("a"), in("p")},
		{"add", in("a"), in("lines")},
		{"remove", in("c"), in("lines")},
		{"merge", "-o", in("new"), in("a"), in("b")},
		{"intersect", "-o", in("new"), in("a"), in("b")},
		{"fold", in("a")},
		{"grow", "-o", in("new"), in("a")},
		{"noise", in("a")},
		{"convert", "-o", in("new"), in("a")},
		{"convert", "--seal", in("secret"), "-o", in("new"), in("a")},
		{"dedupe", in("lines")},
		{"dedupe", "-o", in("new"), in("lines")},
		{"dedupe", "--state", in("new"), in("lines")},
		{"dedupe", "--exact", "--count", "-o", in("new"), in("lines")},
		{"dedupe", "-o", in("lines"), in("lines")},
		{"bench", "--kind", "bloom", "-n", "1000"},
	} {
		var out, errOut bytes.Buffer
		code := run(ctx, args, strings.NewReader(""), &out, &errOut)
		if code != exitInterrupted || errOut.String() != "bloomery: interrupted\n" || out.Len() > 0 {
			t.Errorf("%q, interrupted = %d, %.200q, %q", args, code, &out, &errOut)
		}
		if !same(before, listing(t, dir)) || !same(folder, listing(t, data)) {
			t.Fatalf("%q, interrupted, changed files", args)
		}
	}
}
