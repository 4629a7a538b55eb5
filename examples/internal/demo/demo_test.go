package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// found is a run without figures of its own.
type found struct{ table Table }

func (f found) Table() Table { return f.table }

func TestExecute(t *testing.T) {
	run := func(_ context.Context, o Options) (found, error) {
		var f found
		if o.Addr == "down" {
			return f, errors.New("nobody there")
		}
		f.table.Text("options", fmt.Sprintf("%+v", o))
		return f, nil
	}
	for _, c := range []struct {
		args   string
		server bool
		code   int
		out    string // in the output or in what is printed about errors
	}{
		{"x", false, 0, "{Full:false Addr:}"},
		{"x -data full", false, 0, "{Full:true Addr:}"},
		{"x -data=sample -addr h:1", true, 0, "{Full:false Addr:h:1}"},
		{"x -addr h:1", false, 2, "not defined: -addr"},
		{"x -data some", false, 2, "want sample or full"},
		{"x more", false, 2, `unexpected argument "more"`},
		{"x -h", false, 0, "-data sample"},
		{"dir/x -addr down", true, 1, "x: nobody there\n"},
	} {
		var out, errs strings.Builder
		code := execute(run, c.server, strings.Fields(c.args), &out, &errs)
		if code != c.code || !strings.Contains(out.String()+errs.String(), c.out) {
			t.Errorf("%s: code %d, output %q, errors %q; want code %d and %q", c.args, code, out.String(), errs.String(), c.code, c.out)
		}
	}
}

func TestShare(t *testing.T) {
	var s Share
	if s.Rate() != 0 {
		t.Errorf("rate of nothing %g, want 0", s.Rate())
	}
	for i := range 2000 {
		s.Count(i%4 == 0)
	}
	if s.Rate() != 0.25 || s.String() != "500 of 2,000" {
		t.Errorf("%v, rate %g", s, s.Rate())
	}
}

func TestTable(t *testing.T) {
	var table Table
	table.Count("keys", 1234567)
	table.Percent("saved", 0.98765)
	table.Bytes("naïve", 5<<20)
	table.Number("bytes a key", 9.256, 2)
	table.Time("time", 123456*time.Nanosecond)
	want := strings.Join([]string{
		"| figure      | value     |",
		"|-------------|----------:|",
		"| keys        | 1,234,567 |",
		"| saved       |     98.8% |",
		"| naïve       |   5.0 MiB |",
		"| bytes a key |      9.26 |",
		"| time        |     123µs |",
		"",
	}, "\n")
	if got := table.String(); got != want {
		t.Errorf("table:\n%swant:\n%s", got, want)
	}

	t.Chdir(t.TempDir())
	var r recorder
	table.Documented(&r)
	if len(r) != 1 || !strings.Contains(r[0], "README.md") {
		t.Errorf("without a README: %q", r)
	}
	readme := "# X\n\n| figure | sample | full |\n|---|---|---|\n| keys | 1,234,567 | 9 |\n| saved | 98.8% | 1 |\n| naïve | 5.0 MiB | 2 |\n| bytes a key | 9.25 | 9.26 |\n"
	if err := os.WriteFile("README.md", []byte(readme), 0o666); err != nil {
		t.Fatal(err)
	}
	r = nil
	table.Documented(&r)
	if want := []string{"README.md has no row | bytes a key | 9.26 |"}; !slices.Equal(r, want) {
		t.Errorf("reported %q, want %q", r, want)
	}
}

// recorder keeps what a test would have reported.
type recorder []string

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(-100): "-100", Count(-1234567): "-1,234,567",
		Percent(0): "0.0%", Percent(1): "100.0%", Percent(0.5): "50.0%", Percent(0.0123): "1.23%", Percent(0.000012): "0.00120%", Percent(0.9991): "99.9%", Percent(0.99989): "99.99%", Percent(0.999999): "99.9999%",
		Bytes(1023): "1023 B", Bytes(1536): "1.5 KiB", Bytes(1 << 30): "1.0 GiB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for d, want := range map[time.Duration]string{999: "999ns", 1234567: "1.23ms", 12345 * time.Millisecond: "12.3s"} {
		if got := rounded(d).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What was fetched is kept beside go.mod and not fetched again; what failed leaves nothing.
func TestFetch(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) error { return os.WriteFile(name, []byte(text), 0o666) }
	if err := errors.Join(write(filepath.Join(root, "go.mod"), "module x\n"), os.MkdirAll(filepath.Join(root, "a", "b"), 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "a", "b"))
	broken := errors.New("no network")
	if _, err := fetch(t.Context(), "npm/words@1", "list.txt", func(dir string) error {
		return errors.Join(write(filepath.Join(dir, "half"), ""), broken)
	}); !errors.Is(err, broken) {
		t.Fatalf("error %v, want %v", err, broken)
	}
	calls := 0
	for range 2 {
		file, err := fetch(t.Context(), "npm/words@1", "list.txt", func(dir string) error {
			calls++
			return write(filepath.Join(dir, "list.txt"), "# words\r\n\none\ntwo")
		})
		if err != nil {
			t.Fatal(err)
		}
		if lines, err := Lines(file, "#", "!"); err != nil || !slices.Equal(lines, []string{"one", "two"}) {
			t.Errorf("lines %q, %v", lines, err)
		}
	}
	var values []int
	if err := write("list.json", "[1, 2]"); err != nil {
		t.Fatal(err)
	}
	if err := JSON("list.json", &values); err != nil || !slices.Equal(values, []int{1, 2}) {
		t.Errorf("values %d, %v", values, err)
	}
	if err := JSON("list.json", new(string)); err == nil || !strings.Contains(err.Error(), "list.json") {
		t.Errorf("error %v, want the name of the file", err)
	}
	all, err := filepath.Glob(filepath.Join(root, "corpora", "npm", "*"))
	hidden, _ := filepath.Glob(filepath.Join(root, "corpora", "npm", ".*"))
	if err != nil || calls != 1 || len(all) != 1 || len(hidden) != 0 {
		t.Errorf("%d calls left %q and %q, %v", calls, all, hidden, err)
	}
	if _, err := fetch(t.Context(), "npm/words@1", "other.txt", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that the package does not have: %v", err)
	}
	if err := command(t.Context(), root, "go", "no-such-command"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("error %v, want what the program has printed", err)
	}
}

func TestHeap(t *testing.T) {
	if n := Heap(func() any { return make([]byte, 10<<20) }); n < 9<<20 || n > 11<<20 {
		t.Errorf("%d bytes, want about 10 MiB", n)
	}
}
