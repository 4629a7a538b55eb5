//go:build unix

// Tests that no command succeeds whose output was lost.

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/server"
)

// unprinted are commands that are not asked what they do without an output.
var unprinted = map[string]string{
	"noise":       "it prints with --json only, as add does",
	"fold":        "as noise",
	"grow":        "as noise",
	"create":      "as noise",
	"page export": "it compiles: see page_test.go",
	"remove":      "as noise", "correct": "as noise",
	"merge": "as noise",

	"intersect":      "as noise",
	"patch":          "as noise",
	"cluster status": "it needs a cluster",

	"cluster join":         "it needs a cluster",
	"cluster leave":        "it needs a cluster",
	"cluster replace-log":  "it needs a cluster",
	"cluster upgrade":      "it needs a cluster",
	"cluster copies":       "it needs a cluster",
	"cluster rebalance":    "it needs a cluster",
	"cluster pause-moves":  "it needs a cluster",
	"cluster resume-moves": "it needs a cluster",
	"cluster backup":       "it needs a cluster",
	"cluster restore":      "it prints nothing",
}

// printing returns a command line for every command that prints: in a folder of
// examples, for the address of a server and its data.
func printing(dir, addr, data string) map[string][]string {
	words := filepath.Join(dir, "words.bf")
	return map[string][]string{
		"":               {"--help"},
		"help":           {"help", "check"},
		"plan":           {"plan", "n=1e6", "p=1%"},
		"build":          {"build", "-n", "10", "-o", "-", filepath.Join(dir, "words.txt")},
		"check":          {"check", words, "alice"},
		"dedupe":         {"dedupe", filepath.Join(dir, "words.txt")},
		"serve":          {"serve", "--print-config"},
		"count":          {"count", filepath.Join(dir, "seen.cf"), "alice"},
		"get":            {"get", filepath.Join(dir, "blocks.bm"), "alice"},
		"which":          {"which", "-f", filepath.Join(dir, "words.txt"), words},
		"inspect":        {"inspect", words},
		"diff":           {"diff", words, filepath.Join(dir, "monday.bf")},
		"add":            {"add", "--json", words, filepath.Join(dir, "more.txt")},
		"convert":        {"convert", "-o", "-", words},
		"load":           {"load", "--json", "--addr", addr, "small", filepath.Join(dir, "words.txt")},
		"ping":           {"ping", "--timeout", "1m", "--addr", addr},
		"top":            {"top", "--once", "--addr", addr},
		"cluster":        {"cluster"},
		"cluster secret": {"cluster", "secret"},
		"config":         {"config"},
		"config check":   {"config", "check", "--json", filepath.Join(dir, "words.txt")},
		"config show":    {"config", "show"},
		"doctor":         {"doctor", data},
		"backup":         {"backup", "--json", "-o", filepath.Join(dir, "copy.tar"), data},
		"page":           {"page"},
		"publish":        {"publish", "--json", filepath.Join(dir, "site"), filepath.Join(dir, "words.bf")},
		"follow":         {"follow", "--once", "--json", "-o", filepath.Join(dir, "followed.bf"), filepath.Join(dir, "published")},
		"bench":          {"bench", "--help"},
		"man":            {"man"},
		"version":        {"version"},
		"completion":     {"completion"},

		"completion bash": {"completion", "bash"}, "completion zsh": {"completion", "zsh"},
		"completion fish": {"completion", "fish"}, "completion powershell": {"completion", "powershell"},
	}
}

// TestOutputLost runs every command that prints on a device that is full: none of
// them reports success, and all say why.
func TestOutputLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer func() { _ = full.Close() }()
	addr, _ := topServer(t, server.Config{})
	dir := exampleFolder(t)
	lines := printing(dir, addr, dataFolder(t))
	lost := func(of string, args ...string) {
		t.Helper()
		var errOut bytes.Buffer
		code := run(t.Context(), args, strings.NewReader("alice\n"), full, &errOut)
		if code != exitUsage || !strings.Contains(errOut.String(), "no space left on device") {
			t.Errorf("%s: %q on a full device = %d, %s", of, args, code, &errOut)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		name := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), "bloomery"))
		switch args := lines[name]; {
		case args != nil:
			lost(name, args...)
		case unprinted[name] == "":
			t.Errorf("%q has no command line that prints", name)
		}
		if name != "help" {
			lost(name, append(strings.Fields(name), "--help")...)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(nil))
	lost("--version", "--version")
	words := filepath.Join(dir, "words.bf")
	for _, args := range [][]string{
		{"check", "-c", words}, {"check", "--json", words}, {"check", "-v", "-c", words}, {"version", "--json"}, {"inspect", "--json", words},
	} {
		lost("more", args...)
	}
}

// TestOutputClosed starts commands whose standard output is closed, as a shell does
// with >&-, and those whose output nobody wants.
func TestOutputClosed(t *testing.T) {
	dir := exampleFolder(t)
	bin := programFolder(t)
	shell := func(line string) (code int, errOut string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		var text bytes.Buffer
		cmd.Stderr = &text
		return exitOf(t, cmd.Run()), text.String()
	}
	for _, line := range []string{"bloomery check words.bf alice", "bloomery version", "bloomery --help", "bloomery completion bash"} {
		if code, errOut := shell(line + " >&-"); code != exitUsage || !strings.Contains(errOut, "standard output is closed\nhint: ") {
			t.Errorf("%s >&- = %d, %s", line, code, errOut)
		}
		if code, errOut := shell(line + " > /dev/null"); code != 0 || errOut != "" {
			t.Errorf("%s > /dev/null = %d, %s", line, code, errOut)
		}
	}
	// What prints nothing needs no output.
	if code, errOut := shell("bloomery check -q words.bf alice >&- && bloomery build -q -n 10 -o new.bf words.txt >&-"); code != 0 || errOut != "" {
		t.Errorf("commands that print nothing, >&- = %d, %s", code, errOut)
	}
}

// TestTerminalBehindStdout asks that standard output is known as the file that it is.
func TestTerminalBehindStdout(t *testing.T) {
	if f, ok := fileOf(&stdout{w: os.Stderr}); !ok || f != os.Stderr {
		t.Error("the file behind standard output is not found")
	}
	if _, ok := fileOf(&stdout{w: new(bytes.Buffer)}); ok || slices.Contains([]bool{isTerminal(&stdout{w: new(bytes.Buffer)})}, true) {
		t.Error("a buffer is taken for a file")
	}
}
