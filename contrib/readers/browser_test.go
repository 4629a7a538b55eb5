package readers

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/contrib/readers/browser"
)

var inBrowser = flag.Bool("browser", false, "test in a browser, too, as make ui does")

// TestChromium asks the reader in a browser for all that it is asked for in Node.js, and uses the
// page of its README.
func TestChromium(t *testing.T) {
	if !*inBrowser {
		t.Skip("without -browser: make ui gives it")
	}
	program := browser.Find()
	if program == "" {
		t.Skipf("there is no browser (%s): make ui installs one", strings.Join(browser.Names, ", "))
	}
	dir := copied(t, "../js/bloomery.js", "testdata/check.js", "testdata/follow.js", "testdata/check.html")
	putFolders(t, dir)
	put(t, dir, "readme.html", example(t, "../js/README.md", "html"))
	putWords(t, dir)
	body, err := browser.Ask(t.Context(), program, dir, "check.html")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Cases int
		Wrong []string
		Shown []string // by the page of the README
		Steps int
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, text := range answer.Wrong[:min(20, len(answer.Wrong))] {
		t.Error(text)
	}
	if answer.Cases < 1000 || answer.Steps != len(followed) {
		t.Errorf("%d cases, %d steps", answer.Cases, answer.Steps)
	}
	if got := strings.Join(answer.Shown, ", "); got != "perhaps, certainly not" {
		t.Errorf("the page of the README shows %q for a word and for another", got)
	}
}

// example returns the code of a language in a README.
func example(t *testing.T, path, language string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no code in %s", path, language)
	}
	return code
}

// putWords writes the filter that the examples open.
func putWords(t *testing.T, dir string) {
	t.Helper()
	f := bloom.New(100, 1e-6)
	f.AddString("alice")
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "words.bf", string(data))
}

func put(t *testing.T, dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}
