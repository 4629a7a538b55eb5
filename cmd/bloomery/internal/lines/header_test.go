// Tests of headers and of columns by their names.

package lines_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// headed reads files with headers, in batches as large as block, and returns the
// keys of their records and the headers.
func headed(t *testing.T, in *lines.Input, k lines.Key) (keys, headers []string, err error) {
	t.Helper()
	in.Header = true
	if k.Columns.Named() {
		in.Named = &k
	}
	type scratch struct {
		keys lines.Keys
		list []string
	}
	work := func(b *lines.Batch, s *scratch) error {
		s.list = s.list[:0]
		for _, key := range s.keys.Of(&k, b) {
			s.list = append(s.list, string(key))
		}
		return nil
	}
	err = lines.Process(t.Context(), in, 2, work, func(b *lines.Batch, s *scratch) error {
		if b.First {
			headers = append(headers, string(b.Header))
			if want := int64(len(b.Header)); b.Offset != want || b.Headers() != 1 {
				return fmt.Errorf("the batch behind the header begins at %d, want %d", b.Offset, want)
			}
		}
		if n := len(b.Records); len(b.Span(0, n)) != len(b.Data) {
			return errors.New("the records of a batch are not its data")
		}
		keys = append(keys, s.list...)
		return nil
	})
	return keys, headers, err
}

// columnsOf parses a list of columns.
func columnsOf(t *testing.T, list string) lines.Columns {
	t.Helper()
	c, err := lines.ParseColumns(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHeaders reads files whose first record is a header, in blocks of all sizes,
// by numbers and by names of columns.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		text, columns string
		quoted        bool
		want          []string
	}{
		{"id;email\n1;a\n2;b\n", "2", false, []string{"a", "b"}},
		{"id;email\n1;a\n2;b\n", "email", false, []string{"a", "b"}},
		{"id;email\r\n1;a\r\n2;b", "email", false, []string{"a", "b"}},
		{"id;email\n", "email", false, nil},
		{"id;email", "email", false, nil},
		{"", "email", false, nil},
		{"\"id\";\"the\n\"\"email\"\"\"\n1;a\n\"2\";\"b;c\"\n", "\"the\n\"\"email\"\"\"", true, []string{"a", "b;c"}},
		{"id;email;2024\n1;a;x\n2;\"b;c\";y\n3\n", "email,id", true, []string{"a;1;", `"b;c";2;`, ";3;"}},
		{"id;email;2024\n1;a;x\n3\n", "email,id,email", false, []string{"a;1;", ";3;"}},
		{"id;email;2024\n1;a;x\n", `"2024"`, false, []string{"x"}},
		{"id;last, first\n1;a\n", `"last, first"`, false, []string{"a"}},
	} {
		for block := 1; block <= len(c.text)+1; block++ {
			k := lines.Key{Delimiter: ";", Quoted: c.quoted, Columns: columnsOf(t, c.columns)}
			in := &lines.Input{Stdin: strings.NewReader(c.text), Plain: true, Block: block}
			if c.quoted {
				in.Quoted = ";"
			}
			keys, headers, err := headed(t, in, k)
			if err != nil || !slices.Equal(keys, c.want) || (len(headers) == 1) != (c.text != "") {
				t.Fatalf("%q by %s in blocks of %d: %q, headers %q, %v, want %q", c.text, c.columns, block, keys, headers, err, c.want)
			}
		}
	}
}

// TestNamesInOtherPlaces asks that files with the same columns in another order
// have the same keys.
func TestNamesInOtherPlaces(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, text := range []string{"id,email,x\n1,a,_\n", "email,x,id\na,_,1\n", "x,id,email\n_,1,a\n"} {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	for _, quoted := range []string{"", ","} {
		for list, want := range map[string]string{"id,email": "1,a,", "email,id": "a,1,", "id": "1"} {
			k := lines.Key{Delimiter: ",", Quoted: quoted != "", Columns: columnsOf(t, list)}
			keys, _, err := headed(t, &lines.Input{Files: files, Quoted: quoted}, k)
			if err != nil || !slices.Equal(keys, []string{want, want, want}) {
				t.Errorf("%s: %q, %v", list, keys, err)
			}
		}
	}
}

// TestHeadersThatFail asks for names that a header does not have, or has twice.
func TestHeadersThatFail(t *testing.T) {
	for _, c := range []struct{ text, columns, want string }{
		{"id,mail\n1,a\n", "email", `standard input: header: no column "email": it has "id", "mail"`},
		{"id;mail\n1;a\n", "id", `standard input: header: no column "id": it has one column, "id;mail"; is the separator another one than ","?`},
		{"id,id\n1,2\n", "id", `standard input: header: two columns have the name "id": give the number of one`},
		{"\x1b[m,b\n", "c", `standard input: header: no column "c": it has "\x1b[m", "b"`},
		{strings.Repeat("n,", 149) + "n\n", "c", " and 50 more"},
	} {
		k := lines.Key{Delimiter: ",", Columns: columnsOf(t, c.columns)}
		_, _, err := headed(t, &lines.Input{Stdin: strings.NewReader(c.text)}, k)
		if !errors.Is(err, lines.ErrHeader) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q by %s: %v, want %s", c.text, c.columns, err, c.want)
		}
	}
	if _, _, err := headed(t, &lines.Input{Stdin: strings.NewReader("too long\nb\n"), MaxLine: 5}, lines.Key{}); !errors.Is(err, lines.ErrTooLong) {
		t.Errorf("a header over MaxLine: %v", err)
	}
	for _, list := range []string{"a,", ",a", `"a`, `""`, `"1`, `a,,b`} {
		if c, err := lines.ParseColumns(list); err == nil {
			t.Errorf("columns %s = %s", list, c)
		}
	}
}

// TestColumnsReadBack asks that the text of columns is read as the same columns:
// names with quotes and commas, and names of digits.
func TestColumnsReadBack(t *testing.T) {
	for _, list := range []string{"1,3-", "email", "email,id", `"2024"`, `"a,b","c""d"`} {
		c := columnsOf(t, list)
		if again := columnsOf(t, c.String()); again.String() != c.String() || again.Named() != c.Named() {
			t.Errorf("%s is %s, then %s", list, c, again)
		}
	}
}
