// Lists as Windows and other systems write them, in all commands that read lines.

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/internal/resp"
)

// textRows are command lines that read lines. LIST is the list, OUT a file to write, which is a copy of
// that in front of the colon if there is one, BASE a folder of filters, and ADDR a server. What they
// write, to OUT, standard output or the server, is what is compared.
var textRows = []struct {
	line string
	asks bool // of filters in BASE, about lines that are in them
}{
	{"build -n 100 -p 1e-6 -o OUT LIST", false},
	{"build -n 100 -k 2 -o OUT LIST", false},
	{"build -n 100 --csv -d \\t -k 2- -o OUT LIST", false},
	{"build --kind fuse -i -o OUT LIST", false},
	{"build --kind sliced -o OUT LIST LIST", false},
	{"build --kind map -k 2 --value 1 -o OUT LIST", false},
	{"build --kind exact --out BASE/stranger.txt -o OUT LIST", false},
	{"build --kind exact --group 2 -k 1 --out BASE/stranger.txt -o OUT LIST", false},
	{"build --format guava -n 100 -o OUT LIST", false},
	{"add BASE/base.bf:OUT LIST", false},
	{"remove BASE/base.cf:OUT LIST", false},
	{"correct --reports 10 --force BASE/base.bf:OUT LIST", false},
	{"load --addr ADDR key LIST", false},
	{"check -f LIST BASE/base.bf", true},
	{"check -n -f LIST BASE/base.bf", true},
	{"check --json -f LIST BASE/base.bf", true},
	{"check -v -f LIST BASE/base.bf", true},
	{"check -c -f LIST BASE/base.guava", true},
	{"check --group 2 -k 1 -c -f LIST BASE/base.bx", true},
	{"count -f LIST BASE/base.cf", true},
	{"get -k 2 -f LIST BASE/base.bm", true},
	{"which -f LIST BASE/base.bf BASE/base.bs", true},
	{"dedupe LIST", false},
	{"dedupe --exact LIST", false},
	{"dedupe --exact --count LIST", false},
	{"dedupe --rate 1e-6 -v LIST", false},
	{"dedupe --csv -d \\t -k 2 LIST", false},
}

const (
	textBase = "1\talice\n2\tbob\n"
	// textList has a line twice, and a carriage return that is a part of a line.
	textList = textBase + "1\talice\n3\tx\ry\n"
)

// textBases builds the filters that the rows need of a list.
func textBases(t *testing.T, list string, flags ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	name, stranger := filepath.Join(folder, "list.txt"), filepath.Join(folder, "stranger.txt")
	put(t, name, list)
	put(t, stranger, "9\tmallory\n")
	for _, line := range []string{
		"-n 100 -p 1e-6 -o base.bf", "--kind cuckoo -n 100 -p 1e-6 -o base.cf", "--kind map -k 2 --value 1 -p 1e-6 -o base.bm",
		"--kind sliced -p 1e-6 -o base.bs", "--format guava -n 100 -p 1e-6 -o base.guava", "--kind exact --group 2 -k 1 --out STRANGER -o base.bx",
	} {
		line = strings.NewReplacer("base.", filepath.Join(folder, "base."), "STRANGER", stranger).Replace(line)
		args := slices.Concat([]string{"build"}, strings.Fields(line), flags, []string{name})
		if code, _, errOut := call(t, args...); code != 0 {
			t.Fatalf("%q = %d, %s", args, code, errOut)
		}
	}
	return folder
}

func put(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// textServer is a server that takes all lines. It returns its address, and a function that returns the
// lines of the connection that ended last.
func textServer(t *testing.T) (addr string, lines func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ended := make(chan string)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			var b strings.Builder
			var command resp.Reply
			for r := bufio.NewReader(nc); command.Read(r) == nil; {
				reply := "+none\r\n"
				if string(command.Array[0].Text) == addToBloom {
					for _, line := range command.Array[2:] {
						b.WriteString(string(line.Text) + "\n")
					}
					n := len(command.Array) - 2
					reply = fmt.Sprintf("*%d\r\n%s", n, strings.Repeat(":1\r\n", n))
				}
				_, _ = io.WriteString(nc, reply)
			}
			_ = nc.Close()
			ended <- b.String()
		}
	}()
	return l.Addr().String(), func() string { return <-ended }
}

// TestTextInAllCommands reads a list as different systems write it: the result is that of the list as
// Unix writes it.
func TestTextInAllCommands(t *testing.T) {
	windows, some := strings.ReplaceAll(textList, "\n", "\r\n"), strings.Replace(textList, "\n", "\r\n", 1)
	addr, sent := textServer(t)
	list := filepath.Join(t.TempDir(), "list.txt")
	// do runs a row on a list, and returns what it wrote, without carriage returns at the end of lines.
	do := func(line, base, text string) (code int, wrote, errOut string) {
		t.Helper()
		put(t, list, text)
		out := filepath.Join(t.TempDir(), "out")
		args := strings.Fields(strings.NewReplacer("LIST", list, "BASE", base, "ADDR", addr).Replace(line))
		written := false
		for i, arg := range args {
			if from, ok := strings.CutSuffix(arg, "OUT"); ok {
				written, args[i] = true, out
				if from, ok = strings.CutSuffix(from, ":"); ok {
					data, err := os.ReadFile(from)
					if err != nil {
						t.Fatal(err)
					}
					put(t, out, string(data))
				}
			}
		}
		code, wrote, errOut = call(t, args...)
		switch {
		case args[0] == "load":
			return code, sent(), errOut
		case written:
			data, _ := os.ReadFile(out) // it is missing after an error
			return code, string(data), errOut
		}
		return code, strings.ReplaceAll(wrote, "\r\n", "\n"), errOut
	}
	base, rawBase := textBases(t, textBase), textBases(t, strings.ReplaceAll(textBase, "\n", "\r\n"), "--raw")
	read := map[string]bool{}
	for _, row := range textRows {
		read[strings.Fields(row.line)[0]] = true
		code, want, errOut := do(row.line, base, textList)
		if code != 0 {
			t.Errorf("%s: %d, %s", row.line, code, errOut)
		}
		for name, text := range map[string]string{
			"CR LF and no end": strings.TrimSuffix(windows, "\n"), "some CR LF": some, "a mark, in gzip": gzipped("\xef\xbb\xbf" + windows),
		} {
			if c, got, errOut := do(row.line, base, text); c != code || got != want {
				t.Errorf("%s of a list with %s: %d, %q, want %d, %q; %s", row.line, name, c, got, code, want, errOut)
			}
		}
		c, _, errOut := do(row.line, base, "\xff\xfe1\x00\t\x00a\x00\n\x00")
		if hint := "list.txt: it is text in UTF-16, which is not read here\nhint: convert it first: iconv -f UTF-16 -t UTF-8 "; c != 2 || !strings.Contains(errOut, hint) {
			t.Errorf("%s of UTF-16: %d, %s, want 2 and %q", row.line, c, errOut, hint)
		}
		raw := windows
		if strings.HasPrefix(row.line, "dedupe") {
			raw = some
		}
		if c, got, _ := do(row.line+" --raw", base, raw); c == code && got == want {
			t.Errorf("%s --raw of lines with CR LF does what it does without --raw", row.line)
		}
		if !row.asks {
			continue
		}
		// A filter of raw lines has those of a list with CR LF, and no others.
		if c, got, errOut := do(row.line, rawBase, windows); c != code || strings.ReplaceAll(got, rawBase, base) != want {
			t.Errorf("%s of a filter of raw lines: %d, %q, want %d, %q; %s", row.line, c, got, code, want, errOut)
		}
	}
	var all func(c *cobra.Command)
	all = func(c *cobra.Command) {
		if c.Flags().Lookup("raw") != nil && !read[c.Name()] {
			t.Errorf("%s reads lines, and is not in the table", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			all(sub)
		}
	}
	all(newRoot(io.Discard))
}
