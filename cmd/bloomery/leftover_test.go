//go:build unix && !solaris && !aix

// Tests of what a killed command leaves.

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLeftover kills a command while it writes a file: what it leaves is removed by
// the next that writes the file, and not before it is dead.
func TestLeftover(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out.txt")
	names := func() (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	cmd := process(t, "dedupe", "-o", name)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte(numbered(400_000))); err != nil { // more than its buffers
		t.Fatal(err)
	}
	written := func() bool {
		left := slices.IndexFunc(names(), func(n string) bool { return strings.HasSuffix(n, ".tmp") })
		if left < 0 {
			return false
		}
		info, err := os.Stat(filepath.Join(dir, names()[left]))
		return err == nil && info.Size() > 0
	}
	for deadline := time.Now().Add(time.Minute); !written(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is written; the folder holds %q", names())
		}
	}
	again := func() []string {
		t.Helper()
		if code, _, errOut := call(t, "dedupe", "--overwrite", "-o", name, os.DevNull); code != 0 {
			t.Fatal(errOut)
		}
		return names()
	}
	if got := again(); len(got) != 2 {
		t.Errorf("while another writes, the folder holds %q", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if got := again(); !slices.Equal(got, []string{"out.txt"}) {
		t.Errorf("after a kill, the folder holds %q", got)
	}
}
