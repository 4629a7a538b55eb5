package calc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// copied returns a snippet of an answer.
func copied(t *testing.T, query, id string) string {
	t.Helper()
	for _, s := range solve(t, query).Copy {
		if s.ID == id {
			if s.Text == "" && s.Note == "" {
				t.Errorf("%s: nothing to copy for %s, and no reason", query, id)
			}
			return s.Text
		}
	}
	t.Fatalf("%s: no snippet %s", query, id)
	return ""
}

// copyKinds are all kinds that have something to copy, and two with a given shape.
var copyKinds = []string{
	"bloom", "standard", "partitioned", "split", "scalable", "concurrent", "counting", "spectral", "stable", "cuckoo", "quotient", "growing",
	"window", "striped", "fuse", "ribbon", "bloom&m=20000", "standard&m=20000&k=5",
}

func queryOf(kind string) string {
	if strings.Contains(kind, "&") {
		return "n=1000&kind=" + kind
	}
	return "n=1000&p=0.001&kind=" + kind
}

// TestGoRuns builds and runs every program as it is copied, but that each is a package of one
// program: they are linked once.
func TestGoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program for each kind")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, overlay := t.TempDir(), map[string]string{}
	add := func(name, text string) {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, "examples", name, "main.go")] = file
	}
	var imports, cases strings.Builder
	for i, kind := range copyKinds {
		text := copied(t, queryOf(kind), "go")
		if pretty, err := format.Source([]byte(text)); err != nil || string(pretty) != text {
			t.Errorf("%s: gofmt changes the program: %v\n%s", kind, err, text)
		}
		if !strings.HasPrefix(text, "package main\n") || strings.Count(text, "\nfunc main() {\n") != 1 {
			t.Fatalf("%s: no program:\n%s", kind, text)
		}
		name := "copied" + string(rune('a'+i))
		add(name, strings.NewReplacer("package main\n", "package "+name+"\n", "\nfunc main() {\n", "\nfunc Main() {\n").Replace(text))
		fmt.Fprintf(&imports, "import %q\n", "github.com/bloomery/bloomery/examples/"+name)
		fmt.Fprintf(&cases, "case %q: %s.Main()\n", name, name)
	}
	add("copied", "package main\nimport \"os\"\n"+imports.String()+"func main() { switch os.Args[1] {\n"+cases.String()+"}}\n")
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	replaced := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replaced, data, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", replaced, "-o", bin, "./examples/copied")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for i, kind := range copyKinds {
		out, err := exec.CommandContext(t.Context(), bin, "copied"+string(rune('a'+i))).CombinedOutput()
		if err != nil || string(out) != "true\nfalse\n" {
			t.Errorf("%s: %v, %q, want true and false", kind, err, out)
		}
	}
}

// TestRedisRuns sends every command as it is copied to a server.
func TestRedisRuns(t *testing.T) {
	s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewReader(conn)
	for _, kind := range copyKinds {
		has := false
		for line := range strings.Lines("redis-cli FLUSHALL\n" + copied(t, queryOf(kind), "redis")) {
			command, ok := strings.CutPrefix(line, "redis-cli ")
			if !ok {
				t.Fatalf("%s: %q is not a command", kind, line)
			}
			if _, err := conn.Write([]byte(strings.TrimSuffix(command, "\n") + "\r\n")); err != nil {
				t.Fatal(err)
			}
			reply := readReply(t, replies)
			if strings.HasPrefix(reply[0], "-") {
				t.Errorf("%s: %s: %s", kind, command, reply[0])
			}
			if strings.HasPrefix(command, "FILTER.HAS") {
				has = true
				if strings.Join(reply, " ") != "*2 :1 :0" {
					t.Errorf("%s: %s: %v, want 1 and 0", kind, command, reply)
				}
			}
		}
		if !has && kind != "concurrent" && kind != "striped" {
			t.Errorf("%s: no FILTER.HAS to copy", kind)
		}
	}
}

// readReply returns the lines of a reply: one, or an array of them.
func readReply(t *testing.T, r *bufio.Reader) []string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{strings.TrimSpace(line)}
	if lines[0][0] != '*' {
		return lines
	}
	n := int(lines[0][1] - '0')
	for range n {
		lines = append(lines, readReply(t, r)...)
	}
	return lines
}

// TestShellIsExact holds the commands to the figures that were given.
func TestShellIsExact(t *testing.T) {
	for query, want := range map[string]string{
		"n=1e6&p=1%":                             "bloomery plan n=1000000 p=0.01\nbloomery build --kind bloom -p 0.01 -n 1000000 -o filter.bf keys.txt\nbloomery check filter.bf apple pear\n",
		"n=1e5&m=64KiB&kind=standard":            "bloomery plan n=100000 m=524288\nbloomery build --kind standard",
		"bits=10":                                "bloomery plan n=1000000 bits=10\n",
		"m=1000&bits=10":                         "bloomery plan n=100 bits=10\n",
		"n=1e6&p=1%&k=3&needs=adversary,growth":  "bloomery plan n=1000000 p=0.01 k=3 --needs growth,adversary\n",
		"n=1e6&p=1%&kind=window&needs=expiry":    "bloomery plan n=1000000 p=0.01 --needs expiry\n",
		"n=1e6&p=1%&kind=ribbon&needs=immutable": "bloomery plan n=1000000 p=0.01 --needs immutable\nbloomery build --kind ribbon -p 0.01 -o filter.bf keys.txt\n",
		"k=7":                                    "bloomery plan n=1000000 p=0.0078125 k=7\n",
	} {
		if got := copied(t, query, "shell"); !strings.HasPrefix(got, want) {
			t.Errorf("%s:\n%swant\n%s", query, got, want)
		}
	}
}

// TestCopyIsExact holds parts of what is copied to what was asked; TestGoRuns and
// TestRedisRuns run all of it.
func TestCopyIsExact(t *testing.T) {
	for _, c := range []struct{ query, id, want string }{
		{"n=12345678&p=1%&kind=bloom", "go", "bloom.New(12_345_678, 0.01)"},
		{"n=999&p=1%&kind=bloom", "go", "bloom.New(999, 0.01)"},
		{"n=1000&m=20000&k=5&kind=standard", "go", "{Capacity: 1_000, Bits: 20_000, Hashes: 5}.NewStandard()"},
		{"n=1000&m=20000&k=5&kind=bloom", "go", "{Capacity: 1_000, Bits: 19_968, Hashes: 5}.New()"},
		{"n=1000&p=1%&kind=bloom", "redis", "FILTER.CREATE filter bloom CAPACITY 1000 ERROR 0.01\n"},
		{"n=1099511627776&p=1%&kind=bloom", "redis", "CAPACITY 1099511627776 "}, // 2^40, the most
		{"n=1000&p=1%&kind=ribbon", "redis", "BEGIN ribbon CAPACITY 1000 ERROR 0.01\n"},
		{"n=1000&p=1%&kind=fuse", "redis", "BEGIN fuse8 CAPACITY 1000\n"},
		{"n=1e5&m=64KiB&kind=standard", "shell", "-p 0.0812 "},
		{"n=1e6&m=1", "shell", ""},
	} {
		if got := copied(t, c.query, c.id); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.query, c.want, got)
		}
	}
	for _, kind := range copyKinds {
		text := copied(t, queryOf(kind), "go")
		if strings.Contains(text, "log.") != strings.Contains(text, "\"log\"") {
			t.Errorf("%s: package log is imported and not used, or used and not imported:\n%s", kind, text)
		}
	}
	if got := copied(t, "n=1099511627777&p=1%&kind=bloom", "redis"); got != "" {
		t.Errorf("commands for more keys than the server takes: %s", got)
	}
	for _, s := range solve(t, "n=1000&p=1%&needs=expiry&kind=window").Copy {
		if s.ID == "shell" && s.Note == "" {
			t.Error("no word on why bloomery build makes no window")
		}
	}
}
