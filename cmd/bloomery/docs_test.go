// Tests that documents and help texts are true: examples run, flags and JSON fields
// are described.

package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the generated part of docs/cli.md")

// notRun are commands whose examples need more than a folder with files.
var notRun = map[string]string{
	"load":        "it needs a server: see load_test.go",
	"serve":       "it serves until it is stopped",
	"ping":        "it needs a server: see ping_test.go",
	"page":        "it serves until it is stopped",
	"page export": "it compiles: see page_test.go",
	"doctor":      "it needs the folder of a server: see folder_test.go",
	"backup":      "it needs the folder of a server: see folder_test.go",
	"top":         "it needs a server: see top_test.go",
	"follow":      "it needs a web server: see testdata/script/follow.txtar",

	"cluster":        "it needs a cluster: see cluster_test.go",
	"cluster status": "it needs a cluster: see cluster_test.go",

	"cluster join":         "it needs a cluster: see cluster_members_test.go",
	"cluster leave":        "it needs a cluster: see cluster_members_test.go",
	"cluster replace-log":  "it needs a cluster: see cluster_members_test.go",
	"cluster upgrade":      "it needs a cluster: see cluster_members_test.go",
	"cluster copies":       "it needs a cluster: see cluster_members_test.go",
	"cluster rebalance":    "it needs a cluster: see cluster_members_test.go",
	"cluster pause-moves":  "it needs a cluster: see cluster_members_test.go",
	"cluster resume-moves": "it needs a cluster: see cluster_members_test.go",

	"cluster backup":  "it needs a cluster: see cluster_backup_test.go",
	"cluster restore": "it needs a backup: see cluster_backup_test.go",
}

// eachCommand calls f for every command that users should know.
func eachCommand(f func(*cobra.Command)) {
	root := newRoot(nil)
	root.InitDefaultCompletionCmd()
	for _, c := range documented(root) {
		f(c)
	}
}

// TestExamples runs the examples of all help texts, as they stand there.
func TestExamples(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("examples are for a shell")
	}
	bin := programFolder(t)
	eachCommand(func(c *cobra.Command) {
		name := nameOf(c)
		if notRun[name] != "" || name == "completion" {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no examples", name)
		}
		dir := exampleFolder(t)
		if name == "build" { // its examples make the filters that others ask
			dir = exampleTexts(t)
		}
		for line := range strings.Lines(c.Example) {
			runExample(t, bin, dir, name, line)
		}
	})
}

// TestReadmeRuns runs the blocks of README and of documents on the command line as they
// stand there, in order, in a folder with the texts of the examples.
func TestReadmeRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the block is for a shell")
	}
	for _, name := range []string{"README.md", "docs/cli.md", "docs/formats.md"} {
		data, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(data), "<!-- this block is run by TestReadmeRuns -->\n```sh\n")
		block, _, closed := strings.Cut(rest, "```\n")
		if !ok || !closed {
			t.Fatalf("%s has no block that is marked with this test", name)
		}
		t.Setenv("TMPDIR", t.TempDir())
		runExample(t, programFolder(t), exampleTexts(t), name, block)
	}
}

// TestProductionRuns runs the commands of docs/production.md, one for each of ten questions, in
// order, at a server with a secret key.
func TestProductionRuns(t *testing.T) {
	client, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("there is no redis-cli")
	}
	page, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), programFolder(t)
	keys := filepath.Join(dir, "keys")
	write(t, keys, []byte("users ~users:* ~staff = 000102030405060708090a0b0c0d0e0f\n"))
	s := startChild(t, "--dir", filepath.Join(dir, "bloomery-data"), "--http", "", "--keys", keys)
	t.Cleanup(s.kill)
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	there := strings.NewReplacer("redis-cli ", client+" -e -p "+port+" ", "bloomery load ", "bloomery load --addr "+s.addr+" ")
	commands := regexp.MustCompile("(?m)^ +`(.+)`$").FindAllStringSubmatch(string(page), -1)
	for _, c := range commands {
		runExample(t, bin, dir, "docs/production.md", there.Replace(c[1]))
	}
	if len(commands) != 10 {
		t.Errorf("%d commands, want 10", len(commands))
	}
}

// programFolder returns a folder in which the test binary has the name of the
// command.
func programFolder(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "bloomery")); err != nil {
		t.Fatal(err)
	}
	return bin
}

// runExample runs lines of examples in a folder.
func runExample(t *testing.T, bin, dir, of, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "set -e\n"+strings.TrimSpace(line))
	cmd.Dir = dir
	// Scripts call the test binary by the name of the command.
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NO_COLOR=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("example of %s: %s\n%v\n%s", of, line, err, out)
	}
}

// exampleTexts has the texts that examples read.
func exampleTexts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"words.txt": "alice\nbob\neve\nalice\n", "words2.txt": "alice\nzoe\n", "more.txt": "dave\n",
		"revoked.txt": "mallory\n", "valid.txt": "alice\nbob\n", "blocks.tsv": "alice\t17\nbob\t203\n",
		"monday.txt": "alice\nbob\n", "tuesday.txt": "alice\neve\n",
		"sums.txt":      "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8\n7c4a8d09ca3762af61e59520943dc26494f8941b\n",
		"users.csv":     "name,mail\nAnn,ann@example.org\nAnna,ann@example.org\n",
		"bloomery.toml": "max-clients = 1000\n",
		"access.log":    "10.0.0.1 GET /\n10.0.0.2 GET /\n10.0.0.1 GET /\n",
	} {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	return dir
}

// exampleFolder has the texts, and filters of them.
func exampleFolder(t *testing.T) string {
	t.Helper()
	dir := exampleTexts(t)
	for name, words := range map[string]string{"words.bf": "words.txt", "monday.bf": "words.txt", "tuesday.bf": "words2.txt"} {
		if code, _, errOut := call(t, "build", "-n", "1000", "-o", filepath.Join(dir, name), filepath.Join(dir, words)); code != 0 {
			t.Fatal(errOut)
		}
	}
	if code, _, errOut := call(t, "build", "--kind", "map", "-o", filepath.Join(dir, "blocks.bm"), filepath.Join(dir, "blocks.tsv")); code != 0 {
		t.Fatal(errOut)
	}
	if code, _, errOut := call(t, "build", "--kind", "cuckoo", "-n", "1000", "-o", filepath.Join(dir, "seen.cf"), filepath.Join(dir, "words.txt")); code != 0 {
		t.Fatal(errOut)
	}
	if code, _, errOut := call(t, "publish", filepath.Join(dir, "published"), filepath.Join(dir, "words.bf")); code != 0 {
		t.Fatal(errOut)
	}
	return dir
}

// TestHelpFits keeps help texts within the width of a terminal.
func TestHelpFits(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		if c.Name() == "completion" {
			return
		}
		for line := range strings.Lines(kindless(c.Long) + "\n" + c.Example) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%s: a line of %d characters: %s", nameOf(c), n, line)
			}
		}
		if len(c.Short) > 66 || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: %q is no short text", nameOf(c), c.Short)
		}
	})
}

// TestDecisions asks that no two decisions have the same number, and that each has
// that of its file.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	seen := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		number := name[:4]
		if seen[number] != "" {
			t.Errorf("%s has the number of %s", name, seen[number])
		}
		seen[number] = name
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		if head := strings.TrimLeft(title, "# 0"); !strings.HasPrefix(head, strings.TrimLeft(number, "0")) {
			t.Errorf("%s has the title %q", name, title)
		}
	}
}

// TestManual holds the reference in docs/cli.md to the commands.
func TestManual(t *testing.T) {
	var b strings.Builder
	eachCommand(func(c *cobra.Command) {
		if c.Name() == "completion" {
			return
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n```\n%s\n```\n\n%s\n", nameOf(c), c.Short, c.UseLine(), markdown(kindless(c.Long)))
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "\nAliases: `%s`.\n", strings.Join(c.Aliases, "`, `"))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
		head := "\n| flag | meaning |\n|---|---|\n"
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && !common[f.Name] {
				fmt.Fprintf(&b, "%s| `%s` | %s |\n", head, flagText(f), strings.ReplaceAll(usageText(f)+defaultText(f), "|", "\\|"))
				head = ""
			}
		})
	})
	generated(t, "../../docs/cli.md", "commands", b.String())
}

// common flags are described once.
var common = map[string]bool{
	"json": true, "summary": true, "quiet": true, "verbose": true, "no-progress": true, "color": true,
	"null": true, "max-line": true, "delimiter": true, "columns": true, "csv": true, "ignore-case": true, "raw": true,
}

// kindless takes the list of kinds out, which grows.
func kindless(text string) string {
	return strings.ReplaceAll(text, kindList()+"\n", "")
}

// markdown makes code of what is indented.
func markdown(text string) string {
	var parts []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if code, ok := strings.CutPrefix(p, "  "); ok {
			p = "```sh\n" + strings.ReplaceAll(code, "\n  ", "\n") + "\n```"
		}
		parts = append(parts, strings.ReplaceAll(p, "*", "\\*"))
	}
	return strings.Join(parts, "\n\n")
}

// generated asks for a text between two marks of a file, or writes it.
func generated(t *testing.T, file, name, want string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin := fmt.Sprintf("<!-- generated: %s; go test ./cmd/bloomery -update -->\n", name)
	end := fmt.Sprintf("<!-- end of %s -->\n", name)
	head, rest, ok1 := strings.Cut(string(data), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no marks %q and %q", file, begin, end)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the commands say: go test ./cmd/bloomery -run Manual -update", file)
	}
	if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil { //nolint:gosec // it is a document
		t.Fatal(err)
	}
}

// TestSchema asks that docs/cli.md has every field of every JSON object, and no other.
func TestSchema(t *testing.T) {
	data, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(string(data), "\n## JSON\n")
	schema, _, _ = strings.Cut(schema, "\n## ")
	for command, object := range jsonObjects {
		_, section, ok := strings.Cut(schema, "\n### "+command+"\n")
		if !ok {
			t.Errorf("docs/cli.md has no section on the JSON of %s", command)
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		fields := jsonFields(reflect.TypeOf(object))
		for row := range strings.Lines(section) {
			for _, name := range rowFields(row) {
				if !slices.Contains(fields, name) {
					t.Errorf("docs/cli.md has the field %s of %s, which there is not", name, command)
				}
			}
		}
		for _, field := range fields {
			if !strings.Contains(section, "`"+field+"`") {
				t.Errorf("docs/cli.md does not have the field %s of %s", field, command)
			}
		}
	}
}

// rowFields are the fields that a row of a table describes.
func rowFields(row string) []string {
	cells := strings.Split(row, "|")
	if len(cells) < 3 || !strings.Contains(cells[1], "`") {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(cells[1], ",") {
		names = append(names, strings.Trim(name, " `[]"))
	}
	return names
}

// jsonObjects are what commands print with --json.
var jsonObjects = map[string]any{
	"build, create and add":   summaryJSON{},
	"build --kind sliced":     slicedJSON{},
	"remove":                  removedJSON{},
	"cluster rebalance":       moveJSON{},
	"cluster status --why":    keyJSON{},
	"correct":                 correctedJSON{},
	"count":                   tallyJSON{},
	"which":                   placesJSON{},
	"patch and diff --patch":  patchedJSON{},
	"publish":                 publishedJSON{},
	"follow":                  followedJSON{},
	"check":                   answerJSON{},
	"check --count":           countedJSON{},
	"plan":                    planJSON{},
	"inspect":                 inspectJSON{},
	"inspect of another file": uninspectedJSON{},

	"inspect of another system's filter": foreignJSON{},

	"merge and intersect": mergedJSON{},
	"diff":                diffJSON{},
	"convert":             convertedJSON{},
	"doctor":              doctorLineJSON{},
	"backup":              backupJSON{},
	"ping":                pingJSON{},
	"config check":        problemJSON{},
	"top":                 topJSON{},
	"version":             build{},
	"stats":               statsJSON{},
}

// jsonFields are the names of all fields of an object; stats have a section of
// their own.
func jsonFields(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		all = append(all, name)
		if f.Type != reflect.TypeFor[statsJSON]() && f.Type != reflect.TypeFor[*statsJSON]() {
			all = append(all, jsonFields(f.Type)...)
		}
	}
	return all
}
