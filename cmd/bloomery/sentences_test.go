// Tests of what users are told about their mistakes.

package main

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// TestMistakes makes mistakes that users made, and asks for the sentence that
// helps.
func TestMistakes(t *testing.T) {
	dir := exampleFolder(t)
	words, texts := filepath.Join(dir, "words.bf"), filepath.Join(dir, "words.txt")
	evil := filepath.Join(dir, "e\x1b[31mvil\xff")
	write(t, evil, []byte("text"))
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"create: the name of a file is empty", 2, []string{"create", "-n", "10", ""}},
		{"check: the name of a file is empty", 2, []string{"check", "", "x"}},
		{"inspect: the name of a file is empty", 2, []string{"inspect", ""}},
		{"merge: the name of a file is empty", 2, []string{"merge", "-o", filepath.Join(dir, "new"), "", words}},
		{"build: the name of a file is empty", 2, []string{"build", "-n", "10", "-o", filepath.Join(dir, "new"), ""}},
		{"--anonymity 0: a key hides among K keys", 2, []string{"plan", "--anonymity", "0", "--universe", "1e8", "n=100"}},
		{"--anonymity 0: a key hides among K keys", 2, []string{"plan", "--anonymity", "0", "n=100"}},
		{"--anonymity 1: a key hides among K keys", 2, []string{"plan", "--anonymity", "1", "--universe", "1e8", "n=100"}},
		{"oversized: 10 MiB for 10000 keys are 8388 bits for each; 12.", 2, []string{"plan", "n=10000", "m=10MB"}},
		{" KiB keep a rate of 1%", 2, []string{"plan", "n=10000", "m=10MB"}},
		{"too small: in 13 bytes for 1,000,000 keys", 2, []string{"plan", "n=1e6", "m=100"}},
		{"hint: " + words + " is a file, and --probe takes a value before it: --probe 1000 " + words, 2, []string{"inspect", "--probe", words}},
		{"hint: " + texts + " is a file, and --keys takes a value before it", 2, []string{"build", "-o", "x", "-n", texts}},
		{`e\x1b[31mvil\xff: not a bloomery filter`, 4, []string{"check", evil, "x"}},
	} {
		code, out, errOut := call(t, c.args...)
		if code != c.code || !strings.Contains(errOut, c.want) || strings.Contains(out+errOut, "\x1b") {
			t.Errorf("%q = %d, %s%s\nwant %d, %s", c.args, code, out, errOut, c.code, c.want)
		}
	}
	for want, args := range map[string][]string{
		"for a false positive rate of 1%, since p is not given": {"plan", "n=1e6"},
		"99.9999%": {"plan", "n=1e6", "p=0.999999"},
	} {
		if code, out, errOut := call(t, args...); code != 0 || !strings.Contains(strings.ReplaceAll(out, "\u00a0", " "), want) || strings.Contains(out, "p = 100%") {
			t.Errorf("%q = %d, %s%s\nwant %s", args, code, out, errOut, want)
		}
	}
}

// TestNamesOnTerminals prints no character of a file's name that commands a
// terminal.
func TestNamesOnTerminals(t *testing.T) {
	dir := exampleFolder(t)
	evil := filepath.Join(dir, "e\x1b[31mvil")
	for _, args := range [][]string{
		{"build", "-n", "10", "-o", evil, filepath.Join(dir, "words.txt")}, {"inspect", evil}, {"add", evil, filepath.Join(dir, "more.txt")},
		{"merge", "--force", "--overwrite", "-o", evil, evil, evil},
	} {
		if code, out, errOut := call(t, args...); code != 0 || strings.Contains(out+errOut, "\x1b") || !strings.Contains(out+errOut, `e\x1b[31mvil`) {
			t.Errorf("%q = %d, %q, %q", args, code, out, errOut)
		}
	}
}

// TestFullHints asks that the hints for a full filter name what can be done with it.
func TestFullHints(t *testing.T) {
	dir := t.TempDir()
	many, words := filepath.Join(dir, "many.txt"), filepath.Join(dir, "words.bf")
	write(t, many, []byte(strings.Repeat("x", 3)+"\n"+numberedText(5000)))
	for _, c := range []struct{ kind, want string }{
		{"bloom", "hint: bloomery grow " + words + " lets it grow to any number of keys"}, {"standard", "hint: build it from all keys with a larger -n"},
	} {
		if code, _, errOut := call(t, "create", "--overwrite", "--kind", c.kind, "-n", "1000", words); code != 0 {
			t.Fatal(errOut)
		}
		if code, _, errOut := call(t, "add", words, many); code != exitLimit || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: %d, %s", c.kind, code, errOut)
		}
	}
	if code, _, errOut := call(t, "build", "-n", "1000", "-o", filepath.Join(dir, "new.bf"), many); code != exitLimit || !strings.Contains(errOut, "with --kind scalable") {
		t.Errorf("build: %d, %s", code, errOut)
	}
	var both []string
	for i, text := range []string{numberedText(900), strings.ReplaceAll(numberedText(900), "line", "other")} {
		write(t, many, []byte(text))
		both = append(both, filepath.Join(dir, string(rune('a'+i))+".bf"))
		if code, _, errOut := call(t, "build", "-n", "1000", "-o", both[i], many); code != 0 {
			t.Fatal(errOut)
		}
	}
	if code, _, errOut := call(t, "merge", "-o", words, "--overwrite", both[0], both[1]); code != exitLimit || !strings.Contains(errOut, "bloomery grow: scalable filters merge") {
		t.Errorf("merge: %d, %s", code, errOut)
	}
	for _, args := range [][]string{{"grow", both[0]}, {"grow", both[1]}, {"merge", "--overwrite", "-o", words, both[0], both[1]}} {
		if code, _, errOut := call(t, args...); code != 0 {
			t.Errorf("%q, as the hint says: %d, %s", args, code, errOut)
		}
	}
}

func numberedText(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("line" + grouped(uint64(i)) + "\n")
	}
	return b.String()
}

// TestGzipWithMore reads gzip files that something was appended to.
func TestGzipWithMore(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte("alice\n"))
	_ = w.Close()
	name := filepath.Join(t.TempDir(), "a.gz")
	for more, want := range map[string]string{
		"x\n": "other bytes follow the gzip data", "some more text at the end\n": "other bytes follow the gzip data", "\x00\x00x": "other bytes follow",
		"": "", "\x00\x00\x00": "", z.String(): "", "\x1f\x8b\x08": "truncated",
	} {
		write(t, name, append(bytes.Clone(z.Bytes()), more...))
		code, out, errOut := call(t, "dedupe", "-q", name)
		if want == "" && (code != 0 || out != "alice\n") || want != "" && (code != exitBad || !strings.Contains(errOut, want)) {
			t.Errorf("%q behind it: %d, %q, %s, want %q", more, code, out, errOut, want)
		}
	}
}

// TestHTTPGivesWay starts two servers on one machine: the port of HTTP is taken for
// the second, which finds another one unless it was told which.
func TestHTTPGivesWay(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	var log bytes.Buffer
	text, err := newLog(&log, slog.LevelInfo, "text")
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{Addr: []string{"127.0.0.1:0"}, HTTP: []string{taken.Addr().String()}, Log: text}
	if _, err := server.New(t.Context(), c); err == nil {
		t.Error("a port that was asked for is taken, and no error")
	}
	c.HTTPMayMove = true
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if said := log.String(); !strings.Contains(said, "wanted="+taken.Addr().String()+" http=http://127.0.0.1:") {
		t.Errorf("the log does not say where HTTP is:\n%s", said)
	}
}

// TestFlagsLikeOthers misspells flags of several commands.
func TestFlagsLikeOthers(t *testing.T) {
	for args, want := range map[string]string{
		"serve --adr 127.0.0.1:0":  "bloomery: serve: unknown flag: --adr\nhint: did you mean --addr?\n",
		"check --max-lin=1 f":      "bloomery: check: unknown flag: --max-lin\nhint: did you mean --max-line?\n",
		"cluster status --adr x:1": "bloomery: cluster status: unknown flag: --adr\nhint: did you mean --addr?\n",
		"serve --nothing-like-it":  "hint: ",
		"serve -y":                 "hint: ",
		"--versoin":                "hint: did you mean --version?\n",
	} {
		code, out, errOut := call(t, strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, want) || want == "hint: " && strings.Contains(errOut, "did you mean") {
			t.Errorf("%s = %d, %q, %q, want %q", args, code, out, errOut, want)
		}
	}
}
