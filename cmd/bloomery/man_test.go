package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages asks for a page for every command, with every flag, that does not
// depend on the machine.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if code, out, errOut := call(t, "man", "--dir", dir); code != 0 || out+errOut != "" {
		t.Fatalf("man --dir = %d, %s%s", code, out, errOut)
	}
	pages := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[e.Name()] = string(data)
	}
	check := func(c *cobra.Command) {
		page, ok := pages[manName(c)+".1"]
		if !ok {
			t.Errorf("there is no page of %s", c.CommandPath())
			return
		}
		delete(pages, manName(c)+".1")
		args := strings.Fields(c.CommandPath())[1:]
		if _, out, _ := call(t, append([]string{"man"}, args...)...); out != page {
			t.Errorf("man %q is not the page in the folder", args)
		}
		for _, section := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXIT STATUS"} {
			if !strings.Contains(page, section) {
				t.Errorf("the page of %s has no %s", c.CommandPath(), section)
			}
		}
	}
	check(newRoot(nil))
	eachCommand(check)
	for name := range pages {
		t.Errorf("%s is a page of no command", name)
	}
	for args, want := range map[string]string{"config chek": "did you mean check?", "check x": "unknown command", "--dir x check": "writes all pages"} {
		if code, _, errOut := call(t, append([]string{"man"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(errOut, want) {
			t.Errorf("man %s = %d, %s", args, code, errOut)
		}
	}
}

// TestCompletions asks what shells offer for values of flags.
func TestCompletions(t *testing.T) {
	for args, want := range map[string]string{
		"serve --fsync":      "always\neverysec\nno\n:4\n",
		"serve --log-format": "text\njson\n:4\n",
		"serve --config":     "toml\n:8\n",
		"serve --dir":        ":16\n",
		"top --sort":         "rate\nfill\nops\nbytes\nname\n:4\n",
		"check --color":      "auto\nalways\nnever\n:4\n",
		"config":             "check\tCheck a configuration file",
	} {
		code, out, _ := call(t, append(append([]string{"__complete"}, strings.Fields(args)...), "")...)
		if code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("completion of %s = %d, %q, want %q", args, code, out, want)
		}
	}
}
