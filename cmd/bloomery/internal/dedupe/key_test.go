package dedupe_test

import (
	"testing"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
)

func TestColumns(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"2", "2"}, {"3,1", "1,3"}, {"2-4,3-6", "2-6"}, {"1,2", "1-2"}, {"5-", "5-"}, {"7,5-", "5-"},
	} {
		if got, err := dedupe.ParseColumns(c.in); err != nil || got.String() != c.want {
			t.Errorf("ParseColumns(%q) = %v, %v, want %s", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "0", "a", "3-2", "-", "1,,2", "-1-2", "-3", "99999999999999999999"} {
		if got, err := dedupe.ParseColumns(bad); err == nil {
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
		{"2-3", ",", "a,b,c,d", "b,c"},
		{"2-", ",", "a,b,c,d", "b,c,d"},
		{"1,3", ",", "a,b,c", "a,c,"},
		{"1,3", ",", "a", "a,,"},
		{"2", "::", "a::b:c::d", "b:c"},
		{"1", ",", "", ""},
		{"2-3", ",", "a,b", "b"},
		{"1-2,4", ",", "a,b,c,d", "a,b,d,"},
	} {
		columns, err := dedupe.ParseColumns(c.columns)
		if err != nil {
			t.Fatal(err)
		}
		k := dedupe.Key{Delimiter: c.delimiter, Columns: columns}
		if got := dedupe.KeyOf(k, c.line); got != c.want {
			t.Errorf("columns %s of %q = %q, want %q", c.columns, c.line, got, c.want)
		}
	}
}
