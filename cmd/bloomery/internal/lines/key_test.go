package lines_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

func TestColumns(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"2", "2"}, {"3,1", "1,3"}, {"2-4,3-6", "2-6"}, {"1,2", "1-2"}, {"5-", "5-"}, {"7,5-", "5-"},
	} {
		if got, err := lines.ParseColumns(c.in); err != nil || got.String() != c.want {
			t.Errorf("ParseColumns(%q) = %v, %v, want %s", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "0", "3-2", "-", "1,,2", "-1-2", "-3", "2-0", "99999999999999999999"} {
		if got, err := lines.ParseColumns(bad); err == nil {
			t.Errorf("ParseColumns(%q) = %v, want an error", bad, got)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ columns, delimiter, line, want string }{
		{"1", ",", "a,b,c", "a"},
		{"2", ",", "a,b,c", "b"},
		{"3", ",", "a,b,c", "c"},
		{"4", ",", "a,b,c", ""},
		{"3", ",", ",,c", "c"},
		{"2-3", ",", "a,b,c,d", "b,c"},
		{"2-", ",", "a,b,c,d", "b,c,d"},
		{"1,3", ",", "a,b,c", "a,c,"},
		{"1,3", ",", "a", "a,,"},
		{"2", "::", "a::b:c::d", "b:c"},
		{"1", ",", "", ""},
		{"2-3", ",", "a,b", "b"},
		{"1-2,4", ",", "a,b,c,d", "a,b,d,"},
	} {
		columns, err := lines.ParseColumns(c.columns)
		if err != nil {
			t.Fatal(err)
		}
		k := lines.Key{Delimiter: c.delimiter, Columns: columns}
		if got := keyOf(k, c.line); got != c.want {
			t.Errorf("columns %s of %q = %q, want %q", c.columns, c.line, got, c.want)
		}
	}
}

// keyOf returns the key of a line.
func keyOf(k lines.Key, line string) string {
	key, _ := k.Of([]byte(line), nil)
	return string(key)
}

// TestQuotedKeys reads columns with quotes: what is compared is what they mean.
func TestQuotedKeys(t *testing.T) {
	for _, c := range []struct{ columns, line, want string }{
		{"1", `"a","b"`, "a"},
		{"2", `a,b`, "b"},
		{"2", `"a,b",c,d`, "c"},
		{"1", `"a,b",c,d`, "a,b"},
		{"1", `"say ""hi""",c`, `say "hi"`},
		{"1", `"",c`, ""},
		{"1", `5" disk,c`, `5" disk`},
		{"3", `a,b`, ""},
		{"2", "a,\"two\nlines\"", "two\nlines"},
		{"1", `"open`, `"open`},
		{"1,3", `"a",b,"c"`, "a,c,"},
		{"1-2", `"a,b",c`, `"a,b",c,`},
		{"1-2", `a,"b,c"`, `a,"b,c",`},
		{"2-", `a,b,"c"`, "b,c,"},
	} {
		columns, err := lines.ParseColumns(c.columns)
		if err != nil {
			t.Fatal(err)
		}
		k := lines.Key{Delimiter: ",", Columns: columns, Quoted: true}
		if got := keyOf(k, c.line); got != c.want {
			t.Errorf("columns %s of %q = %q, want %q", c.columns, c.line, got, c.want)
		}
	}
}

// TestFoldedKeys compares in lower case, and leaves the record as it is.
func TestFoldedKeys(t *testing.T) {
	second, err := lines.ParseColumns("2")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		k          lines.Key
		line, want string
	}{
		{lines.Key{Fold: true}, "Alice", "alice"},
		{lines.Key{Fold: true}, "alice", "alice"},
		{lines.Key{Fold: true}, "ÄÖÜ", "äöü"},
		{lines.Key{Fold: true}, "A\xff", "a\xff"},
		{lines.Key{Fold: true}, "A\xfe", "a\xfe"},
		{lines.Key{}, "a\r", "a"},
		{lines.Key{}, "a\r\r", "a\r"},
		{lines.Key{}, "a", "a"},
		{lines.Key{Raw: true}, "A\r", "A\r"},
		{lines.Key{Fold: true, Columns: second, Delimiter: ";"}, "A;B\r", "b"},
		{lines.Key{Fold: true, Quoted: true, Columns: second, Delimiter: ";"}, `A;"B;C"`, "b;c"},
	} {
		line := []byte(c.line)
		if got, _ := c.k.Of(line, nil); string(got) != c.want || string(line) != c.line {
			t.Errorf("%+v of %q = %q, want %q; the line is %q now", c.k, c.line, got, c.want, line)
		}
	}
}

// TestKeysOfABatch asks for all keys at once: what was returned for one stays
// when the next is read.
func TestKeysOfABatch(t *testing.T) {
	var records [][]byte
	var want []string
	for i := range 500 {
		records = append(records, fmt.Appendf(nil, "KEY-%d", i))
		want = append(want, fmt.Sprintf("key-%d", i))
	}
	b := &lines.Batch{Records: records}
	var s lines.Keys
	for range 2 {
		got := s.Of(&lines.Key{Fold: true}, b)
		for i := range want {
			if string(got[i]) != want[i] {
				t.Fatalf("key %d = %q, want %q", i, got[i], want[i])
			}
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { s.Of(&lines.Key{Fold: true}, b) }); allocs > 0 {
		t.Errorf("the keys of a batch make %v allocations, want none", allocs)
	}
}

// TestKeyTexts asks that keys that read lines differently have different texts:
// the state of a run holds one of them.
func TestKeyTexts(t *testing.T) {
	second, err := lines.ParseColumns("2")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range []lines.Key{
		{}, {Fold: true}, {Raw: true}, {Columns: second, Delimiter: ","}, {Columns: second, Delimiter: ";"},
		{Columns: second, Delimiter: ",", Quoted: true}, {Columns: second, Delimiter: ",", Fold: true},
	} {
		if seen[k.String()] {
			t.Errorf("%+v has the text of another key: %q", k, k.String())
		}
		seen[k.String()] = true
	}
	if k := (lines.Key{Columns: second, Delimiter: ","}); k.String() != "2 ," {
		t.Errorf("the text of column 2 is %q, want that of existing states", k.String())
	}
}

func TestSeparates(t *testing.T) {
	second, err := lines.ParseColumns("2")
	if err != nil {
		t.Fatal(err)
	}
	k := lines.Key{Columns: second, Delimiter: ","}
	records := [][]byte{[]byte("a"), []byte("b;c")}
	if k.Separates(records) {
		t.Error("no record has a comma")
	}
	if !k.Separates(append(records, []byte("d,e"))) || !(&lines.Key{}).Separates(records) {
		t.Error("a record with the delimiter is not found, or one is missed that is not asked for")
	}
}
