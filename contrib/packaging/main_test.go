package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var when = time.Date(2026, 11, 15, 20, 50, 59, 0, time.UTC)

// write makes a file of a test, with a mode and a time that must not matter.
func write(t *testing.T, name, text string, mode os.FileMode, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestArchivesAreTheSame makes archives of the same bytes in files of other modes and
// times.
func TestArchivesAreTheSame(t *testing.T) {
	for name, make := range map[string]func(string, string, []file, time.Time) error{"a.tar.gz": writeTar, "a.zip": writeZip} {
		var first []byte
		for i, mode := range []os.FileMode{0o600, 0o777} {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "program"), "binary", mode, time.Now().Add(time.Duration(i)*time.Hour))
			out := filepath.Join(dir, name)
			if err := make(out, "folder", []file{{"program", filepath.Join(dir, "program"), 0o755}}, when); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = data
				checkArchive(t, name, data)
			} else if !bytes.Equal(data, first) {
				t.Errorf("%s differs", name)
			}
		}
		out := filepath.Join(t.TempDir(), name)
		if err := make(out, "folder", []file{{"x", "/no/such", 0o644}}, when); err == nil {
			t.Errorf("%s of a file that is not there is made", name)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s is left after an error", name)
		}
		if err := make(filepath.Join(t.TempDir(), "none", name), "folder", nil, when); err == nil {
			t.Errorf("%s is made in a folder that is not there", name)
		}
	}
}

func checkArchive(t *testing.T, name string, data []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(z.File) != 1 || z.File[0].Name != "folder/program" || z.File[0].Mode() != 0o755 || !z.File[0].Modified.Equal(when) {
			t.Errorf("%s has %v, %v", name, z, err)
		}
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	h, err := r.Next()
	if err != nil || h.Name != "folder/program" || h.Mode != 0o755 || !h.ModTime.Equal(when) || h.Uid != 0 || h.Uname != "root" {
		t.Errorf("%s has %v, %v", name, h, err)
	}
	if text, _ := io.ReadAll(r); string(text) != "binary" {
		t.Errorf("%s has %q", name, text)
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b"), "", 0o644, when)
	write(t, filepath.Join(dir, "a"), "abc", 0o644, when)
	want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	for range 2 { // the file of the first time is not in the second
		if err := writeSums(dir); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(filepath.Join(dir, sumsName)); string(got) != want {
			t.Errorf("sums are\n%s, want\n%s", got, want)
		}
	}
}

func TestBill(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.org/program", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/z", Version: "v1.0.0+incompatible"},
			{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/a", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "x"}},
	}
	data, err := json.Marshal(newBill(info, "00ff", "1.2.3", "c0ffee", when))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"metadata":{"timestamp":"2026-11-15T20:50:59Z"`,
		`"type":"application","name":"example.org/program","version":"v1.2.3","purl":"pkg:golang/example.org/program@v1.2.3","hashes":[{"alg":"SHA-256","content":"00ff"}],"properties":[{"name":"vcs.revision","value":"c0ffee"},{"name":"go:GOOS","value":"linux"}]`,
		`"name":"stdlib","version":"1.26.8","purl":"pkg:golang/stdlib@1.26.8"`,
		`"name":"example.org/a","version":"v2.0.0"`,
		`"purl":"pkg:golang/example.org/z@v1.0.0%2Bincompatible"`,
		`"dependsOn":["pkg:golang/example.org/a@v2.0.0","pkg:golang/example.org/z@v1.0.0%2Bincompatible","pkg:golang/stdlib@1.26.8"]`,
	} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the bill does not have %s:\n%s", want, data)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{"1.2.3": true, "1.2.3-rc.1": true, "0.0.0-dev.20261115205059.gc2aabc07dff4": true, "v1.2.3": false, "1.2": false, "": false, "1.2.3;rm": false} {
		r := release{root: t.TempDir(), out: t.TempDir(), version: version}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing is built
		err := r.make(ctx)
		if refused := err != nil && strings.Contains(err.Error(), "is not like"); refused == good {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestTargets(t *testing.T) {
	if got, err := parseTargets("linux/arm64,windows/amd64"); err != nil || len(got) != 2 || got[0] != (target{"linux", "arm64"}) || got[1].binary() != "bloomery.exe" {
		t.Errorf("two targets are %v, %v", got, err)
	}
	for _, bad := range []string{"", "linux", "linux/386", "linux/amd64,", "plan9/amd64"} {
		if got, err := parseTargets(bad); err == nil {
			t.Errorf("%q is taken as %v", bad, got)
		}
	}
}

func TestLicences(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"LICENSE.md", "licence", "COPYING", "NOTICE.txt", "README", "licenses.go"} {
		write(t, filepath.Join(dir, name), "text of "+name, 0o644, when)
	}
	var b bytes.Buffer
	if err := appendLicences(&b, "module", dir); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "text of "); got != 4 || strings.Contains(b.String(), "README") {
		t.Errorf("%d licences:\n%s", got, &b)
	}
	if err := appendLicences(&b, "module", t.TempDir()); err == nil {
		t.Error("a module without a licence is taken")
	}
}

// TestPackageFiles asks that the files of the repository that packages have exist,
// and that the places agree with the unit.
func TestPackageFiles(t *testing.T) {
	data, err := os.ReadFile("nfpm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := string(data)
	sources := regexp.MustCompile(`(?m)^  - src: \$\{ROOT\}/(.*)$`).FindAllStringSubmatch(config, -1)
	scripts := regexp.MustCompile(`(?m)^  \w+: contrib/packaging/(scripts/.*)$`).FindAllStringSubmatch(config, -1)
	if len(sources) < 6 || len(scripts) != 3 {
		t.Fatalf("%d files and %d scripts", len(sources), len(scripts))
	}
	for _, s := range sources {
		if _, err := os.Stat(filepath.Join("../..", s[1])); err != nil {
			t.Error(err)
		}
	}
	for _, s := range scripts {
		if info, err := os.Stat(s[1]); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %v, %v", s[1], info, err)
		}
	}
	unit, err := os.ReadFile("../systemd/bloomery.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/usr/bin/bloomery", "/etc/bloomery/bloomery.toml", "/etc/bloomery/environment"} {
		if !strings.Contains(config, "dst: "+path+"\n") || !bytes.Contains(unit, []byte(path)) {
			t.Errorf("%s is not in nfpm.yaml and in the unit", path)
		}
	}
	for _, line := range []string{"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "PrivateTmp=yes", "StateDirectory=bloomery", "SystemCallFilter=@system-service"} {
		if !bytes.Contains(unit, []byte("\n"+line+"\n")) {
			t.Errorf("the unit does not have %s", line)
		}
	}
}
