package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestImage makes an image, unpacks it for the processor that it has, and asks how it is run.
func TestImage(t *testing.T) {
	r, _ := pretending(t, target{"linux", "amd64"}, target{"linux", "arm64"})
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(r.out, "bloomery_1.2.3_image.tar")
	for _, arch := range []string{"amd64", "arm64"} {
		dir := t.TempDir()
		var out strings.Builder
		if err := unpack(name, arch, dir, &out); err != nil {
			t.Fatal(err)
		}
		want := "user='65532:65532'\nenvironment='BLOOMERY_ADDR=0.0.0.0:6379 BLOOMERY_HTTP=0.0.0.0:8379 BLOOMERY_DIR=/data'\n" +
			"command='/bloomery serve'\nhealth='/bloomery ping'\n"
		if out.String() != want {
			t.Errorf("%s is run as\n%s, want\n%s", arch, &out, want)
		}
		for file, mode := range map[string]os.FileMode{"bloomery": 0o755, "LICENSE": 0o644, "data": 0o700 | os.ModeDir} {
			if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v, %v, want %v", file, info, err, mode)
			}
		}
		if err := unpack(name, arch, dir, &out); err == nil {
			t.Error("files that are there were replaced")
		}
	}
	if err := unpack(name, "riscv64", t.TempDir(), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "no image for riscv64") {
		t.Errorf("another processor: %v", err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.tar")
	for _, change := range []string{`"architecture":"amd64"`, "bloomery"} {
		write(t, damaged, string(bytes.Replace(data, []byte(change), bytes.ToUpper([]byte(change)), 1)), 0o600, when)
		if err := unpack(damaged, "amd64", t.TempDir(), &strings.Builder{}); err == nil {
			t.Errorf("an image with another %q is taken", change)
		}
	}
}

// TestDockerfile reads instructions, and refuses those that it would leave out.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	c, err := readDockerfile(string(text))
	if err != nil || c.StopSignal != "SIGTERM" || len(c.ExposedPorts) != 2 || len(c.Volumes) != 1 || c.Healthcheck == nil || c.Healthcheck.StartPeriod != 5*time.Minute {
		t.Errorf("readDockerfile() = %+v, %v", c, err)
	}
	for want, text := range map[string]string{
		"FROM scratch":        "FROM debian\n",
		"unknown instruction": "\nFROM scratch\nRUN true\n",
		"ENTRYPOINT":          "\nFROM scratch\nENTRYPOINT /bloomery\n",
		"no command":          "\nFROM scratch\nHEALTHCHECK NONE\n",
		"--soon":              "\nFROM scratch\nHEALTHCHECK --soon=1s CMD [\"x\"]\n",
	} {
		if _, err := readDockerfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestCut cuts the changelog at the headings of releases.
func TestCut(t *testing.T) {
	const text = "# Changelog\n\n## 1.3.0 (unreleased)\n\nNew.\n\n### Part\n\n- a\n\n## 1.2.0 (2026-01-02)\n\nOld.\n"
	changelog, notes, err := cut(text, "1.3.0", when)
	if err != nil || notes != "New.\n\n### Part\n\n- a\n" || changelog != strings.Replace(text, "unreleased", "2026-11-15", 1) {
		t.Errorf("cut() = %q, %q, %v", changelog, notes, err)
	}
	if changelog, notes, err = cut(text, "1.3.0-dev.1", when); err != nil || changelog != text || !strings.HasPrefix(notes, "New.") {
		t.Errorf("a pre-release: %q, %q, %v", changelog, notes, err)
	}
	if _, notes, err = cut(text, "1.2.0", when); err != nil || notes != "Old.\n" {
		t.Errorf("the last one: %q, %v", notes, err)
	}
	if _, _, err := cut(text, "2.0.0", when); err == nil {
		t.Error("a release that is not in the changelog is taken")
	}
}

// TestKeys refuses keys that are not Ed25519.
func TestKeys(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	for want, text := range map[string]string{
		"not in PEM form": "hello",
		"asn1":            "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n",
	} {
		write(t, name, text, 0o600, when)
		if _, err := readKey(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readKey() = %v, want %s", err, want)
		}
	}
	if _, err := readKey(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a key that is not there is read")
	}
}

// TestVerifyRelease has the script for strangers check a release that is sound, and others that are
// not.
func TestVerifyRelease(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no openssl, or no sha256sum")
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(dir string)
		want  string
		code  int
	}{
		"sound":        {func(string) {}, "the checksums of all 2 files", 0},
		"one of them":  {func(dir string) { _ = os.Remove(filepath.Join(dir, "one.tar.gz")) }, "the checksum of the file that is here", 0},
		"other bytes":  {func(dir string) { write(t, filepath.Join(dir, "one.tar.gz"), "others", 0o600, when) }, "a file is not the one that was signed", 1},
		"a file more":  {func(dir string) { write(t, filepath.Join(dir, "more.tar.gz"), "more", 0o600, when) }, "more.tar.gz is not part of the release", 1},
		"other sums":   {func(dir string) { write(t, filepath.Join(dir, sumsName), "", 0o600, when) }, "the signature of SHA256SUMS is not by this key", 1},
		"no signature": {func(dir string) { _ = os.Remove(filepath.Join(dir, signatureName)) }, "are needed, too", 1},
		"nothing there": {func(dir string) {
			_, _ = os.Remove(filepath.Join(dir, "one.tar.gz")), os.Remove(filepath.Join(dir, "two.deb"))
		}, "a file is not the one", 1},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "one.tar.gz"), "one", 0o600, when)
		write(t, filepath.Join(dir, "two.deb"), "two", 0o600, when)
		r := &release{out: dir, key: key}
		if err := errors.Join(writeSums(dir), r.sign()); err != nil {
			t.Fatal(err)
		}
		public := filepath.Join(t.TempDir(), "key.pub")
		if err := os.Rename(filepath.Join(dir, publicKeyName), public); err != nil {
			t.Fatal(err)
		}
		c.spoil(dir)
		out, err := exec.CommandContext(t.Context(), "sh", "../../scripts/verify-release", public, dir).CombinedOutput()
		if (err != nil) != (c.code != 0) || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s, want %q", name, err, out, c.want)
		}
	}
}

func TestVerifyReleaseArguments(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there may be no sh")
	}
	for want, args := range map[string][]string{
		"usage: ":                            nil,
		"usage: verify-release":              {"key.pub", ".", "more"},
		"the key file none.pub is not there": {"none.pub", t.TempDir()},
	} {
		out, err := exec.CommandContext(t.Context(), "sh", append([]string{"../../scripts/verify-release"}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s, want %q", args, err, out, want)
		}
	}
}
