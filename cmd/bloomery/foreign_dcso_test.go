// Tests against DCSO's own program.

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDCSO writes files that DCSO's program reads, and reads those that it writes, plain
// and gzipped. The same keys give the same bytes.
func TestDCSO(t *testing.T) {
	program, err := exec.LookPath("bloom")
	if err != nil {
		t.Skip("there is no program bloom: scripts/need-dcso installs it where there is apt-get")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	words, more := numberedText(1000), "zoe\nyves\n"
	write(t, in("words.txt"), []byte(words))
	write(t, in("more.txt"), []byte(more))
	theirs := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin = strings.NewReader(stdin)
		var out bytes.Buffer
		cmd.Stdout = &out
		cmd.Stderr = &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("bloom %q: %v\n%s", args, err, out.String())
		}
		return out.String()
	}
	ours := func(args ...string) string {
		t.Helper()
		code, out, errOut := call(t, args...)
		if code != 0 {
			t.Fatalf("bloomery %q = %d, %s", args, code, errOut)
		}
		return out
	}
	same := func(a, b string) {
		t.Helper()
		x, err1 := os.ReadFile(in(a))
		y, err2 := os.ReadFile(in(b))
		if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
			t.Errorf("%s and %s differ: %v, %v", a, b, err1, err2)
		}
	}

	// What they write is read here, and what is written here is the same.
	theirs("", "create", "-p", "0.001", "-n", "10000", in("theirs.bloom"))
	ours("create", "-q", "--format", "dcso", "-p", "0.001", "-n", "10000", in("ours.bloom"))
	same("theirs.bloom", "ours.bloom")
	theirs(words, "insert", in("theirs.bloom"))
	ours("add", "-q", in("ours.bloom"), in("words.txt"))
	same("theirs.bloom", "ours.bloom")
	if got := ours("check", "-f", in("words.txt"), in("theirs.bloom")); got != words {
		t.Errorf("%d bytes of keys are found in theirs, want %d", len(got), len(words))
	}
	ours("add", "-q", in("theirs.bloom"), in("more.txt"))
	if got := theirs(words+more+"absent\n", "check", in("theirs.bloom")); got != words+more {
		t.Errorf("they find %d bytes of keys in what was added to here, want %d", len(got), len(words+more))
	}

	// Gzipped, in both directions.
	ours("convert", "-q", "--to", "dcso-gzip", "-o", in("ours.bloom.gz"), in("ours.bloom"))
	if got := theirs(words+"absent\n", "--gzip", "check", in("ours.bloom.gz")); got != words {
		t.Errorf("they find %d bytes of keys in a gzipped file, want %d", len(got), len(words))
	}
	theirs("", "--gzip", "create", "-p", "0.01", "-n", "100", in("theirs.bloom.gz"))
	theirs(more, "--gzip", "insert", in("theirs.bloom.gz"))
	if got := ours("check", "-f", in("more.txt"), in("theirs.bloom.gz")); got != more {
		t.Errorf("%q is found in their gzipped file, want %q", got, more)
	}
	ours("convert", "-q", "--to", "dcso", "-o", in("unpacked.bloom"), in("theirs.bloom.gz"))
	if got := theirs(more+"absent\n", "check", in("unpacked.bloom")); got != more {
		t.Errorf("they find %q in what was unpacked here, want %q", got, more)
	}
	ours("build", "-q", "--format", "dcso-gzip", "-n", "10000", "-p", "0.001", "-o", in("built.gz"), in("words.txt"))
	if got := theirs(words, "--gzip", "check", in("built.gz")); got != words {
		t.Errorf("they find %d bytes of keys in what was built here, want %d", len(got), len(words))
	}
}
