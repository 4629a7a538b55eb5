// Tests of doctor on damaged folders.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/datadir"
)

// listing returns the files of a folder with their contents.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[e.Name()] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, data := range a {
		if b[name] != data {
			return false
		}
	}
	return true
}

// TestCutOffCopy starts on a folder with part files and nothing else: nothing is
// deleted, the server refuses, and doctor finds it damaged.
func TestCutOffCopy(t *testing.T) {
	dir := dataFolder(t)
	for _, pattern := range []string{"MANIFEST", "*.log"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, filepath.Join(dir, "notes.txt"), []byte("of somebody"))
	before := listing(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a server that starts runs for ever
	defer cancel()
	for _, args := range [][]string{{"serve", "--dir", dir, "--addr", "127.0.0.1:0"}, {"doctor", dir}, {"doctor", dir, "--repair"}, {"doctor", dir, "--repair", "--drop"}} {
		var out, errOut bytes.Buffer
		code := run(ctx, args, strings.NewReader(""), &out, &errOut)
		if code != 4 || !strings.Contains(errOut.String(), ".part") || !strings.Contains(errOut.String(), "hint:") {
			t.Errorf("%v = %d\n%s%s", args, code, &out, &errOut)
		}
		if !same(before, listing(t, dir)) {
			t.Fatalf("%v changed the folder", args)
		}
	}
}

// TestDrop damages one of several names: doctor names it and drops it alone.
func TestDrop(t *testing.T) {
	dir := dataFolder(t) // k, c and s in one file
	parts, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	data, err := os.ReadFile(parts[0])
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	at := strings.Index(string(data), "text")
	data[at] ^= 1 // the string s
	write(t, parts[0], data)
	write(t, filepath.Join(dir, "notes.txt"), []byte("of somebody"))
	before := listing(t, dir)
	for _, args := range [][]string{{"doctor", dir}, {"doctor", dir, "--repair"}, {"doctor", dir, "--json"}, {"serve", "--dir", dir, "--addr", "127.0.0.1:0"}} {
		code, out, errOut := call(t, args...)
		if code != 4 || !strings.Contains(errOut, filepath.Base(parts[0])) || args[0] == "doctor" && !strings.Contains(out, `"s"`) {
			t.Errorf("%v = %d\n%s%s", args, code, out, errOut)
		}
		if !same(before, listing(t, dir)) {
			t.Fatalf("%v changed the folder", args)
		}
	}
	if code, _, errOut := call(t, "doctor", dir, "--drop"); code != 2 || !strings.Contains(errOut, "--repair") {
		t.Errorf("doctor --drop = %d, %s", code, errOut)
	}
	code, out, errOut := call(t, "doctor", dir, "--repair", "--drop")
	if code != 0 || !strings.Contains(out, `LOST      "s"`) || !strings.Contains(errOut, `dropped "s"`) || !strings.Contains(errOut, "*.damaged") || strings.Contains(errOut, "repaired") {
		t.Fatalf("doctor --repair --drop = %d\n%s%s", code, out, errOut)
	}
	after := listing(t, dir)
	if after["notes.txt"] != "of somebody" || after[filepath.Base(parts[0])+".damaged"] != string(data) {
		t.Errorf("files are gone: %v", slices.Sorted(func(yield func(string) bool) {
			for name := range after {
				if !yield(name) {
					return
				}
			}
		}))
	}
	if code, out, errOut := call(t, "doctor", dir); code != 0 {
		t.Errorf("doctor after it = %d\n%s%s", code, out, errOut)
	}
	c := startChild(t, "--dir", dir)
	defer c.kill()
	nc := dial(t, c.addr)
	replies, err := talk(nc, bufio.NewReader(nc), "BF.EXISTS k one", "BF.EXISTS k two", "CF.EXISTS c one", "EXISTS s")
	if want := []string{":1", ":1", ":1", ":0"}; err != nil || !slices.Equal(replies, want) {
		t.Errorf("answers %v, %v, want %v", replies, err, want)
	}
}

// TestDoctorShowsTornEnds asks which files are said to end in the middle of a write.
func TestDoctorShowsTornEnds(t *testing.T) {
	var out bytes.Buffer
	err := doctorText(&out, "d", &datadir.Report{Files: []datadir.FileReport{
		{Name: "whole", Kind: "log", Size: 9, Torn: -1},
		{Name: "bad", Kind: "log", Size: 9, Torn: 3, Err: errors.New("damage"), Remedy: "mend it"},
		{Name: "torn", Kind: "log", Size: 9, Torn: 7},
		{Name: "begun", Kind: "log", Size: 5, Torn: 0},
	}})
	text := out.String()
	if err != nil || strings.Count(text, "in the middle of a write") != 2 || !strings.Contains(text, "the last 2 bytes") || !strings.Contains(text, "the last 5 bytes") || !strings.Contains(text, "damage\n            what to do: mend it\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestDropOfMissing drops the names of a file that is missing: none is left of it.
func TestDropOfMissing(t *testing.T) {
	dir := dataFolder(t)
	parts, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	if err := os.Remove(parts[0]); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := call(t, "doctor", dir, "--repair", "--drop")
	if code != 0 || !strings.Contains(errOut, "dropped 3 names, kept all others\n") {
		t.Errorf("doctor --repair --drop = %d\n%s%s", code, out, errOut)
	}
}

// TestDoctorOfOtherFolders asks that doctor says what is not a data folder, and
// leaves nothing behind.
func TestDoctorOfOtherFolders(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		code, _, errOut := call(t, "doctor", dir, "--repair")
		if code != 2 || !strings.Contains(errOut, "not a data folder") {
			t.Errorf("doctor = %d, %s", code, errOut)
		}
		if code, _, errOut := call(t, "backup", dir, "-o", filepath.Join(t.TempDir(), "b.tar")); code != 2 || !strings.HasPrefix(errOut, "bloomery: backup: "+dir+": not a data folder: ") {
			t.Errorf("backup = %d, %s", code, errOut)
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Name() != "notes.txt" {
				t.Errorf("doctor left %s", e.Name())
			}
		}
		write(t, filepath.Join(dir, "notes.txt"), []byte("of somebody"))
	}
	dir = dataFolder(t)
	if code, _, _ := call(t, "doctor", dir); code != 0 {
		t.Errorf("doctor = %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "LOCK")); err == nil {
		t.Error("a LOCK is left")
	}
}

// TestLockOutlivesFiles removes every file of a running server's folder: nobody
// else gets in.
func TestLockOutlivesFiles(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "--dir", dir)
	defer c.kill()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errOut := call(t, "serve", "--dir", dir, "--addr", "127.0.0.1:0"); code != 2 || !strings.Contains(errOut, "in use") {
		t.Errorf("a second server = %d, %s", code, errOut)
	}
}

// TestBackupLeavesFilesAlone asks for --overwrite, and that a backup of a damaged
// folder is refused and replaces nothing.
func TestBackupLeavesFilesAlone(t *testing.T) {
	dir := dataFolder(t)
	file := filepath.Join(t.TempDir(), "backup.tar")
	write(t, file, []byte("mine"))
	if code, _, errOut := call(t, "backup", dir, "-o", file); code != 2 || !strings.Contains(errOut, "--overwrite") {
		t.Errorf("backup onto a file = %d, %s", code, errOut)
	}
	if data, _ := os.ReadFile(file); string(data) != "mine" {
		t.Error("the file was replaced")
	}
	if code, _, errOut := call(t, "backup", dir, "-o", file, "--overwrite"); code != 0 || !strings.Contains(errOut, "checked") {
		t.Errorf("backup --overwrite = %d, %s", code, errOut)
	}
	whole, _ := os.ReadFile(file)
	parts, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	data, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"flipped": append([]byte{data[0] ^ 1}, data[1:]...), "short": data[:len(data)-32], "empty": {}} {
		write(t, parts[0], damaged)
		code, _, errOut := call(t, "backup", dir, "-o", file, "--overwrite")
		if code != 4 || !strings.Contains(errOut, filepath.Base(parts[0])) {
			t.Errorf("%s: backup of a damaged folder = %d, %s", name, code, errOut)
		}
		if now, _ := os.ReadFile(file); string(now) != string(whole) {
			t.Errorf("%s: the good backup was replaced", name)
		}
	}
	if err := os.Remove(parts[0]); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := call(t, "backup", dir, "-o", file, "--overwrite"); code == 0 || !strings.Contains(errOut, filepath.Base(parts[0])) {
		t.Errorf("backup without a part = %d, %s", code, errOut)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".bloomery*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", fmt.Sprint(left))
	}
}

// TestDoctorOfALaterRelease has a folder whose manifest is of a version that this release
// does not have: it is not called damaged, and what to do is said.
func TestDoctorOfALaterRelease(t *testing.T) {
	dir := dataFolder(t)
	manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST"))
	if len(manifests) == 0 {
		t.Fatal("no manifest")
	}
	data, err := os.ReadFile(manifests[len(manifests)-1])
	if err != nil {
		t.Fatal(err)
	}
	n := 32 + int(binary.LittleEndian.Uint32(data[8:]))
	data[4]++
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.LittleEndian.PutUint32(data[12:], crc32.Update(crc32.Update(0, table, data[:12]), table, data[16:n]))
	write(t, manifests[len(manifests)-1], data)
	code, out, errOut := call(t, "doctor", dir)
	if code == 0 || !strings.Contains(errOut, "a later release wrote this") || strings.Contains(out, "DAMAGED") || !strings.Contains(out, "NEWER") {
		t.Errorf("doctor = %d\n%s%s", code, out, errOut)
	}
}
