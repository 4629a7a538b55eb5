package metrics

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLabel(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, c := range []struct {
		name string
		id   uint64
		want string
	}{
		{"", 1, ""},
		{"plain", 1, "plain"},
		{"Grüße\n\"x\"", 1, "Grüße\n\"x\""},
		{"_other", 1, `\_other`},
		{`\_other`, 1, `\\_other`},
		{"\xff", 1, `\xff`},
		{`\xff`, 1, `\\xff`},
		{"a\xc3", 1, `a\xc3`},
		{"\ufffd", 1, "\ufffd"},
		{"\x00", 1, "\x00"},
		{long, 7, long},
		{long + "y", 7, long + `\#7`},
		{long + "y", 42, long + `\#42`},
		{long[:126] + "\xff\xff\xff", 9, long[:126] + `\xff\#9`},
		{long[:127] + "ü and more", 8, long[:127] + `ü\#8`},
	} {
		if got := label(c.name, c.id); got != c.want {
			t.Errorf("label(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzLabel asks that labels are UTF-8, short, and different for different filters.
func FuzzLabel(f *testing.F) {
	f.Add("a", "b")
	f.Add("\xff", `\xff`)
	f.Add("_other", `\_other`)
	f.Add(strings.Repeat("\xff", 200), strings.Repeat("\xff", 128)+`\#1`)
	f.Add(strings.Repeat("x", 129), strings.Repeat("x", 128)+`\#1`)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := label(a, 1), label(b, 2)
		if !utf8.ValidString(x) || x == other || len(x) > longestLabel+8 {
			t.Errorf("label(%q) = %q", a, x)
		}
		if a != b && x == y {
			t.Errorf("%q and %q have the same label %q", a, b, x)
		}
	})
}
