// Tests of CSV and of compressed files.

package lines_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// TestQuotedRecords reads records of CSV, whose quotes may hold newlines, however
// they are cut into reads.
func TestQuotedRecords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"a,b\nc,d\n", []string{"a,b", "c,d"}},
		{"a,\"b\nc\",d\ne", []string{"a,\"b\nc\",d", "e"}},
		{"\"a\n\"\"\n\",b\n\"c\"\n", []string{"\"a\n\"\"\n\",b", `"c"`}},
		{"5\" disk,a\n7\" disk,b\n", []string{`5" disk,a`, `7" disk,b`}},
		{"\"\"\n\"\"\"\"\n", []string{`""`, `""""`}},
		{"\n\na\n", []string{"", "", "a"}},
		{"\"a\"\r\n\"b\"\r\n", []string{`"a"`, `"b"`}},
		{"a,\"b\r\n\"\r\n", []string{"a,\"b\r\n\""}},
	} {
		for _, block := range []int{1, 3, 0} {
			for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
				got, err := collect(t, &lines.Input{Stdin: r, Quoted: ",", Block: block}, 2)
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%q, blocks of %d: %q, %v, want %q", c.text, block, got, err, c.want)
				}
			}
		}
	}
	for _, text := range []string{"a,\"b\nc\n", "\"", "a\n\"b\"\"\n"} {
		if got, err := collect(t, &lines.Input{Stdin: strings.NewReader(text), Quoted: ","}, 2); err == nil || !strings.Contains(err.Error(), "within quotes") {
			t.Errorf("%q: %q, %v, want an error", text, got, err)
		}
	}
	if _, err := collect(t, &lines.Input{Stdin: strings.NewReader("a,\"" + strings.Repeat("b\n", 100_000)), Quoted: ",", MaxLine: 1000}, 2); !errors.Is(err, lines.ErrTooLong) {
		t.Errorf("quotes that do not end within the longest line: %v, want %v", err, lines.ErrTooLong)
	}
}

// TestQuotedAgrees writes random columns with encoding/csv, and reads the same
// ones back.
func TestQuotedAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	column := func() string {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteByte("ab,\"\n "[random.IntN(6)])
		}
		return b.String()
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	var want []string
	for range 2000 {
		record := []string{column(), column(), column()}
		want = append(want, record[1])
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	second, err := lines.ParseColumns("2")
	if err != nil {
		t.Fatal(err)
	}
	records, err := collect(t, &lines.Input{Stdin: strings.NewReader(text.String()), Quoted: ",", Block: 512}, 2)
	if err != nil || len(records) != len(want) {
		t.Fatalf("%d records, %v, want %d", len(records), err, len(want))
	}
	k := lines.Key{Columns: second, Delimiter: ",", Quoted: true}
	for i, r := range records {
		if got := keyOf(k, r); got != want[i] {
			t.Fatalf("column 2 of %q = %q, want %q", r, got, want[i])
		}
	}
}

// FuzzQuoted asks that records of any text are all of it, and that every column of
// a record can be read.
func FuzzQuoted(f *testing.F) {
	for _, text := range []string{"a,b\nc,d\n", "a,\"b\nc\",d\ne", "\"", "\"\"\"\"\n,\n", "5\" disk,a\n", "\"a\"b,c\r\n"} {
		f.Add(text, byte(3))
	}
	columns, err := lines.ParseColumns("1,3-")
	if err != nil {
		f.Fatal(err)
	}
	second, err := lines.ParseColumns("2")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, block byte) {
		if name, _ := lines.Compression([]byte(text)); name != "" {
			t.Skip("it is compressed")
		}
		records, err := collect(t, &lines.Input{Stdin: strings.NewReader(text), Raw: true, Quoted: ",", Block: int(block)}, 2)
		if err != nil {
			if !strings.Contains(err.Error(), "within quotes") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if got, want := strings.Join(records, "\n"), strings.TrimSuffix(text, "\n"); got != want {
			t.Fatalf("the records of %q are %q", text, got)
		}
		for _, r := range records {
			for _, c := range []lines.Columns{columns, second} {
				if k := (lines.Key{Columns: c, Delimiter: ",", Quoted: true, Fold: true}); len(keyOf(k, r)) > 4*len(r)+8 {
					t.Fatalf("columns %s of %q = %q", c, r, keyOf(k, r))
				}
			}
		}
	})
}

// Two texts compressed by bzip2, which the standard library only reads: "a\nb\n",
// and nothing.
const (
	bzip2Text  = "BZh91AY&SY<\x85A\x12\x00\x00\x01A\x00\x00\x100\x00 \x000\xcc\x0cz\x82qw$S\x85\x09\x03\xc8T\x11 "
	bzip2Empty = "BZh9\x17rE8P\x90\x00\x00\x00\x00"
)

func TestBzip2(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{bzip2Text, []string{"a", "b"}},
		{bzip2Text + bzip2Text, []string{"a", "b", "a", "b"}},
		{bzip2Empty, nil},
		{"BZh9\nBZh1", []string{"BZh9", "BZh1"}},
		{"BZh", []string{"BZh"}},
		{"BZh91AY&S", []string{"BZh91AY&S"}},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			got, err := collect(t, &lines.Input{Stdin: r}, 1)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q: %q, %v, want %q", c.text, got, err, c.want)
			}
		}
	}
	if _, err := collect(t, &lines.Input{Stdin: strings.NewReader(bzip2Text[:20])}, 1); !errors.Is(err, lines.ErrCorrupt) || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("half of it: %v, want %v", err, lines.ErrCorrupt)
	}
	if _, err := collect(t, &lines.Input{Stdin: strings.NewReader(bzip2Text[:11] + "x" + bzip2Text[12:])}, 1); !errors.Is(err, lines.ErrCorrupt) {
		t.Errorf("another checksum: %v, want %v", err, lines.ErrCorrupt)
	}
}

// TestOtherCompression refuses what is compressed in another way, and names the
// command that reads it.
func TestOtherCompression(t *testing.T) {
	for text, want := range map[string]lines.FormatError{
		"\xfd7zXZ\x00\x00\x04":   {Format: "xz", Command: "xz -dc"},
		"\x04\x22\x4d\x18\x64@":  {Format: "lz4", Command: "lz4 -dc"},
		"PK\x03\x04\x14\x00\x08": {Format: "zip", Command: "unzip -p"},
		"\xff\xfea\x00":          {Format: "UTF-16", Command: "iconv -f UTF-16 -t UTF-8", Text: true},
		"\xfe\xff\x00a":          {Format: "UTF-16", Command: "iconv -f UTF-16 -t UTF-8", Text: true},
		"a\x00\n\x00":            {Format: "UTF-16LE", Command: "iconv -f UTF-16LE -t UTF-8", Text: true},
		"\x00\n\x00a\x00":        {Format: "UTF-16BE", Command: "iconv -f UTF-16BE -t UTF-8", Text: true},
	} {
		_, err := collect(t, &lines.Input{Stdin: strings.NewReader(text)}, 1)
		if got, ok := errors.AsType[*lines.FormatError](err); !ok || *got != want || !errors.Is(err, lines.ErrFormat) {
			t.Errorf("%q: %v, want %+v", text, err, want)
		}
		if name, command := lines.Compression([]byte(text)); !want.Text && (name != want.Format || command != want.Command) {
			t.Errorf("Compression(%q) = %s, %s", text, name, command)
		}
	}
	for _, text := range []string{"", "\xfd7zXZ", "PK\n", "alice\n"} {
		if name, command := lines.Compression([]byte(text)); name+command != "" {
			t.Errorf("Compression(%q) = %s, %s, want nothing", text, name, command)
		}
	}
	if name, _ := lines.Compression([]byte("\x1f\x8b\x08")); name != "gzip" {
		t.Error(fmt.Sprint("gzip is taken for ", name))
	}
}
