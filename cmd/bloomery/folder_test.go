// Tests of doctor and backup on data folders.

package main

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// dataFolder makes a folder with a snapshot and a log, as a server leaves it.
func dataFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := startChild(t, "--dir", dir, "--fsync", "always") // what is answered is in the log
	nc := dial(t, c.addr)
	if _, err := talk(nc, bufio.NewReader(nc), "BF.ADD k one", "CF.ADD c one", "SET s text", "SAVE", "BF.ADD k two"); err != nil {
		t.Fatal(err)
	}
	c.kill()
	return dir
}

func TestDoctor(t *testing.T) {
	dir := dataFolder(t)
	code, out, errOut := call(t, "doctor", dir)
	if code != 0 || !strings.Contains(out, "3 names") || strings.Contains(out, "DAMAGED") {
		t.Fatalf("doctor = %d\n%s%s", code, out, errOut)
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	last := logs[len(logs)-1]
	data, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	// Half a frame more: a torn end.
	write(t, last, append(data, data[:20]...))
	write(t, filepath.Join(dir, "0000000000009999.part"), []byte("left over"))
	if code, out, _ := call(t, "doctor", dir); code != 0 || !strings.Contains(out, "torn") || !strings.Contains(out, "unneeded") ||
		!strings.Contains(out, "a start cuts off the last 20 bytes; if the folder is a copy, copy it again") {
		t.Errorf("doctor of a torn log = %d\n%s", code, out)
	}
	if code, out, errOut := call(t, "doctor", dir, "--repair"); code != 0 || !strings.Contains(errOut, "cut 20 bytes off the end of "+filepath.Base(last)) ||
		!strings.Contains(errOut, "removed 0000000000009999.part") || strings.Contains(errOut, "repaired") {
		t.Errorf("doctor --repair = %d\n%s%s", code, out, errOut)
	}
	if code, out, _ := call(t, "doctor", dir, "--json"); code != 0 || strings.Contains(out, "torn") || strings.Contains(out, "9999") {
		t.Errorf("doctor after a repair = %d\n%s", code, out)
	}
	checkWithoutManifest(t, dir)
	parts, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	data, err = os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	data[40] ^= 1
	write(t, parts[0], data)
	for _, args := range [][]string{{"doctor", dir}, {"doctor", dir, "--repair"}, {"serve", "--dir", dir, "--addr", "127.0.0.1:0"}} {
		code, _, errOut := call(t, args...)
		if code != 4 || !strings.Contains(errOut, filepath.Base(parts[0])+": offset 0") || !strings.Contains(errOut, "hint:") {
			t.Errorf("%v of a damaged folder = %d, %s", args, code, errOut)
		}
	}
	nothing := filepath.Join(dir, "nothing")
	for _, args := range [][]string{{"doctor", nothing}, {"backup", nothing, "-o", filepath.Join(dir, "x.tar")}} {
		code, _, errOut := call(t, args...)
		if want := "bloomery: " + args[0] + ": " + nothing + ": no such file or directory\n"; code != 2 || runtime.GOOS != "windows" && errOut != want {
			t.Errorf("%s of no folder = %d, %s, want 2, %s", args[0], code, errOut, want)
		}
	}
}

// checkWithoutManifest asks for a copy of a folder that lacks the manifest: no
// part file may be called unneeded, nor be removed.
func checkWithoutManifest(t *testing.T, dir string) {
	t.Helper()
	part := t.TempDir()
	if err := os.CopyFS(part, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(part, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	before, _ := filepath.Glob(filepath.Join(part, "*"))
	code, out, errOut := call(t, "doctor", part, "--repair")
	if code != 4 || strings.Contains(out, "unneeded") || !strings.Contains(out, "unchecked") || !strings.Contains(errOut, "is MANIFEST missing?") {
		t.Errorf("doctor without a manifest = %d\n%s%s", code, out, errOut)
	}
	if after, _ := filepath.Glob(filepath.Join(part, "*")); !slices.Equal(before, after) {
		t.Errorf("doctor without a manifest left %v of %v", after, before)
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackup copies the folder of a server under load, restores it and asks for
// everything that was answered before.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "--dir", dir, "--fsync", "always")
	defer c.kill()
	if code, _, errOut := call(t, "doctor", dir); code != 2 || errOut != "bloomery: doctor: "+dir+": the folder is in use by another process\n"+
		"hint: stop the server first; or check a copy: bloomery backup "+dir+" -o backup.tar\n" {
		t.Errorf("doctor of a folder in use = %d, %s", code, errOut)
	}
	w := &writer{}
	var wg sync.WaitGroup
	wg.Go(func() { w.run(t.Context(), c.addr) })
	nc := dial(t, c.addr)
	r := bufio.NewReader(nc)
	if _, err := talk(nc, r, "BF.RESERVE large 0.01 2000000", "BF.ADD large x", "BGSAVE"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		time.Sleep(50 * time.Millisecond)
		if _, err := talk(nc, r, fmt.Sprintf("BF.ADD before item%d", i), "BGSAVE"); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "backup.tar")
		if code, _, errOut := call(t, "backup", dir, "-o", file); code != 0 {
			t.Fatalf("backup = %d, %s", code, errOut)
		}
		checkBackup(t, file, i)
	}
	c.kill()
	wg.Wait()
	if w.err != nil {
		t.Error(w.err)
	}
}

// TestBackupKeepsWhatIsNoFile asks that a backup takes the place of regular files
// only: of a device, a socket or a folder nothing would be left.
func TestBackupKeepsWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "--dir", dir)
	defer c.kill()
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, target := range []string{socket, t.TempDir()} {
		before, err := os.Lstat(target)
		if err != nil {
			t.Fatal(err)
		}
		code, _, errOut := call(t, "backup", dir, "-o", target, "--overwrite")
		if code != 2 || !strings.Contains(errOut, "is not a regular file") {
			t.Errorf("backup to %v = %d, %s", before.Mode(), code, errOut)
		}
		if after, err := os.Lstat(target); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%v is now %v, %v", before.Mode(), after, err)
		}
	}
}

func checkBackup(t *testing.T, file string, last int) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, h.Name), data)
	}
	if code, out, errOut := call(t, "doctor", dir, "--repair"); code != 0 {
		t.Fatalf("doctor of a restored backup = %d\n%s%s", code, out, errOut)
	}
	c := startChild(t, "--dir", dir)
	defer c.kill()
	nc := dial(t, c.addr)
	replies, err := talk(nc, bufio.NewReader(nc), "BF.EXISTS large x", fmt.Sprintf("BF.EXISTS before item%d", last))
	if err != nil || replies[0] != ":1" || replies[1] != ":1" {
		t.Errorf("a restored backup answers %v, %v", replies, err)
	}
}

// TestRestart stops a server as an operator does: nothing is lost in any mode.
func TestRestart(t *testing.T) {
	for _, mode := range []string{"always", "everysec", "no"} {
		dir := t.TempDir()
		for i := range 3 {
			c := startChild(t, "--dir", dir, "--fsync", mode)
			nc := dial(t, c.addr)
			r := bufio.NewReader(nc)
			replies, err := talk(nc, r, "INCR starts", fmt.Sprintf("BF.ADD k item%d", i), "BF.CARD k", "INFO persistence")
			if want := fmt.Sprint(":", i+1); err != nil || replies[0] != want || replies[2] != want {
				t.Fatalf("mode %s, start %d: %v, %v", mode, i, replies, err)
			}
			if !strings.Contains(replies[3], "log_fsync:"+mode) {
				t.Errorf("INFO: %s", replies[3])
			}
			if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := c.cmd.Wait(); err != nil {
				t.Fatalf("mode %s: %v", mode, err)
			}
		}
		if code, out, _ := call(t, "doctor", dir); code != 0 || strings.Contains(out, "torn") {
			t.Errorf("doctor after a clean end = %d\n%s", code, out)
		}
	}
}

// TestCopiedFolder copies the folder of a running server after SAVE, as one does
// without bloomery backup.
func TestCopiedFolder(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	c := startChild(t, "--dir", dir)
	defer c.kill()
	nc := dial(t, c.addr)
	replies, err := talk(nc, bufio.NewReader(nc), "BF.ADD k one", "SET s text", "SAVE", "LASTSAVE")
	if err != nil || replies[2] != "+OK" || replies[3] == ":0" {
		t.Fatalf("%v, %v", replies, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(copied, e.Name()), data)
	}
	again := startChild(t, "--dir", copied)
	defer again.kill()
	nc = dial(t, again.addr)
	replies, err = talk(nc, bufio.NewReader(nc), "BF.EXISTS k one", "GET s")
	if err != nil || replies[0] != ":1" || replies[1] != "text" {
		t.Errorf("the copy answers %v, %v", replies, err)
	}
}
