package bloomery_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sources returns the files under dir whose names match one of the patterns,
// without testdata and what programs fetch or build.
func sources(t *testing.T, dir string, patterns ...string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != "." && (slices.Contains([]string{".git", "testdata", "corpora", "dist", "bin", "bloomery-data"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		for _, pattern := range patterns {
			if ok, _ := filepath.Match(pattern, name); ok {
				files = append(files, filepath.ToSlash(path))
				return nil
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no files match %q in %s", patterns, dir)
	}
	return files
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// prose returns the lines of a Markdown text that are not code.
func prose(text string) []string {
	var lines []string
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code {
			lines = append(lines, line)
		}
	}
	return lines
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	verbatim = regexp.MustCompile("`[^`]*`")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the names by which the headings of a Markdown text are linked
// to.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, line := range prose(text) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
		for i, unique := 0, name; ; i++ {
			if i > 0 {
				unique = fmt.Sprintf("%s-%d", name, i)
			}
			if !all[unique] {
				all[unique] = true
				break
			}
		}
	}
	return all
}

// TestLinks asks that every link of every document to a file of this repository,
// or to a heading of one, leads somewhere.
func TestLinks(t *testing.T) {
	links := 0
	for _, file := range sources(t, ".", "*.md") {
		text := readText(t, file)
		for _, line := range prose(text) {
			for _, m := range link.FindAllStringSubmatch(verbatim.ReplaceAllString(line, ""), -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, ":") {
					continue // another host
				}
				links++
				path := file
				if target != "" {
					path = filepath.Join(filepath.Dir(file), target)
				}
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s links to %s, which is not there", file, m[1])
					continue
				}
				if anchor != "" && !anchors(readText(t, path))[anchor] {
					t.Errorf("%s links to %s: there is no such heading", file, m[1])
				}
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links were found, want at least 100", links)
	}
}

// TestDocumentsAreListed asks that the index of docs names every document.
func TestDocumentsAreListed(t *testing.T) {
	index := readText(t, "docs/README.md")
	for _, file := range sources(t, "docs", "*.md") {
		name := strings.TrimPrefix(file, "docs/")
		if name != "README.md" && !strings.HasPrefix(name, "adr/") && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// references are documents in which one looks things up; nobody reads them from top to bottom.
var references = []string{"commands.md", "filter-commands.md", "configuration.md", "format.md", "cli.md", "http-api.md"}

// TestDocumentsAreShort holds the documents that people read, README among them, to a length that one finishes:
// evidence, references and decisions are not counted.
func TestDocumentsAreShort(t *testing.T) {
	const most, longest = 35_000, 3_500
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, file := range append(files, "README.md") {
		if slices.Contains(references, filepath.Base(file)) {
			continue
		}
		words := len(strings.Fields(readText(t, file)))
		if sum += words; words > longest {
			t.Errorf("%s has %d words, want at most %d", file, words, longest)
		}
	}
	if sum > most {
		t.Errorf("README and docs have %d words, want at most %d: shorten what you added, or what stands beside it", sum, most)
	}
}

// TestApplicationsAreListed asks that README.md leads to docs/applications.md and to some of what that
// lists, and docs/applications.md to every example that has a README; that each of those says how to
// run it, what a false positive costs, and which kind it uses; and that the program is short: about
// 200 lines without comments.
func TestApplicationsAreListed(t *testing.T) {
	if !strings.Contains(readText(t, "README.md"), "(docs/applications.md)") {
		t.Error("README.md has no link to docs/applications.md")
	}
	index := readText(t, "docs/applications.md")
	shown := regexp.MustCompile(`\]\(((?:examples/|contrib/pebble/)[^)#]*README\.md)\)`).FindAllStringSubmatch(readText(t, "README.md"), -1)
	if len(shown) < 5 {
		t.Errorf("README.md leads to %d applications", len(shown))
	}
	for _, link := range shown {
		if !strings.Contains(index, "(../"+link[1]+")") {
			t.Errorf("README.md leads to %s, which docs/applications.md does not list", link[1])
		}
	}
	check := func(readme, program, run string) {
		if !strings.Contains(index, "(../"+readme+")") {
			t.Errorf("docs/applications.md does not list %s", readme)
		}
		text := readText(t, readme)
		for _, want := range []string{run, "false positive costs here", "**Which kind"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", readme, want)
			}
		}
		const most = 215
		if lines := codeLines(t, program); lines > most {
			t.Errorf("%s has %d lines of code, want at most %d", program, lines, most)
		}
	}
	for _, file := range sources(t, "examples", "README.md") {
		dir := filepath.ToSlash(filepath.Dir(file))
		check(file, dir, "go run ./"+dir)
	}
	check("contrib/pebble/README.md", "contrib/pebble/sstable", "go run ./sstable")
}

// codeLines counts the lines of a program without tests, empty lines and comments of their own.
func codeLines(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, file := range sources(t, dir, "*.go") {
		for line := range strings.Lines(readText(t, file)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && !strings.HasSuffix(file, "_test.go") {
				n++
			}
		}
	}
	return n
}

// TestDecisionsAreNumbered asks that every decision has a number of its own, and that its head
// says the same. Numbers may be left out: decisions are written at the same time.
func TestDecisionsAreNumbered(t *testing.T) {
	last := 0
	for _, file := range sources(t, "docs/adr", "*.md") {
		var n int
		if _, err := fmt.Sscanf(file, "docs/adr/%04d-", &n); err != nil || n <= last {
			t.Fatalf("%s behind decision %d: %v", file, last, err)
		}
		if want := fmt.Sprintf("# %d. ", n); !strings.HasPrefix(readText(t, file), want) {
			t.Errorf("%s does not begin with %q", file, want)
		}
		last = n
	}
}

// TestReadmeFigures holds the table of speeds in README to docs/evidence/benchmarks.md.
func TestReadmeFigures(t *testing.T) {
	measured := map[string]string{} // by peer, keys and size
	var heads []string
	for line := range strings.Lines(readText(t, "docs/evidence/benchmarks.md")) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if cells[0] == "| what" {
			heads = cells
		}
		peer, ok := strings.CutPrefix(cells[0], "| batch lookups, k = 8, against ")
		if !ok { // a library that takes no hashes
			peer, ok = strings.CutPrefix(cells[0], "| 8-byte keys, batch, against bits-and-")
			peer = "bits-and-" + peer
		}
		if ok {
			for i := 2; i < len(cells); i++ {
				fastest, _, _ := strings.Cut(cells[i], "/")
				measured[peer+"/"+cells[1]+"/"+strings.TrimSuffix(heads[i], " |")] = fastest
			}
		}
	}
	_, rest, ok := strings.Cut(readText(t, "README.md"), "held by TestReadmeFigures -->\n")
	if !ok {
		t.Fatal("README has no table that is marked with this test")
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(table, "\n")
	sizes := strings.Split(strings.Trim(rows[0], "| "), " | ")
	for _, row := range rows[2:] {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		for i, cell := range cells[1:] {
			at := cells[0] + "/%s/" + sizes[i+1]
			want := measured[fmt.Sprintf(at, "hits")] + " / " + measured[fmt.Sprintf(at, "misses")]
			if cell != want {
				t.Errorf("README has %s for %s at %s, docs/evidence/benchmarks.md %s", cell, cells[0], sizes[i+1], want)
			}
		}
	}
	if len(rows) < 5 {
		t.Errorf("README has %d rows of speeds", len(rows)-2)
	}
}

// TestCodeOfDocs asks that the Go code of README and of some documents is that of
// programs, which are compiled and run.
func TestCodeOfDocs(t *testing.T) {
	for doc, program := range map[string]string{
		"README.md":       "examples/hello/main.go",
		"docs/library.md": "examples/tour/main.go",
		"docs/clients.md": "server/clienttest/page_test.go",
	} {
		code := readText(t, program)
		indented := strings.ReplaceAll(code, "\n\t", "\n")
		blocks := strings.Split(readText(t, doc), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s has no Go code", doc)
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			if !strings.Contains(indented, block) && !strings.Contains(code, block) {
				t.Errorf("%s has code that %s does not have:\n%s", doc, program, block)
			}
		}
	}
}

// TestErrorTexts asks that the errors of docs/faq.md are in the code, word for word.
func TestErrorTexts(t *testing.T) {
	var code strings.Builder
	for _, file := range sources(t, ".", "*.go") {
		if !strings.HasSuffix(file, "_test.go") {
			code.WriteString(readText(t, file))
		}
	}
	texts := 0
	for line := range strings.Lines(readText(t, "docs/faq.md")) {
		cell, _, _ := strings.Cut(line, " | ")
		if !strings.HasPrefix(cell, "| `") {
			continue
		}
		for _, quoted := range verbatim.FindAllString(cell, -1) {
			text := strings.TrimSpace(strings.TrimSuffix(strings.Trim(quoted, "`"), "…"))
			if texts++; !strings.Contains(code.String(), text) {
				t.Errorf("docs/faq.md has the error %q, which the code does not have", text)
			}
		}
	}
	if texts < 30 {
		t.Errorf("%d errors were found, want at least 30", texts)
	}
}
